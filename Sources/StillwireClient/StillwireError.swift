// SPDX-License-Identifier: Apache-2.0
import RelayJSON
public import RelayProtocol

/// Why something that the app asked for did not happen.
public struct StillwireError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Safe as a label of a metric: it holds nothing of a person's.
  public enum Code: Hashable, Sendable {
    /// The relay refused.
    case refused(ErrorCode)
    /// There is no connection, or it was lost before the reply, and then nobody knows whether the request took effect.
    case closed
    /// No reply in time; nobody knows whether the request took effect.
    case timeout
    /// As many messages wait to be sent, or requests to be answered, as may.
    case outboxFull
    /// The relay may have forgotten the key of a send that it was told long ago: again could be twice.
    case uncertain
    /// A newer report of the Focus took the place of this one.
    case replaced
    /// The relay's words are none of the protocol.
    case malformed
    /// There was no answer over HTTP.
    case unreachable

    public var name: String {
      switch self {
      case .refused(let code): code.rawValue
      case .closed: "closed"
      case .timeout: "timeout"
      case .outboxFull: "full"
      case .uncertain: "uncertain"
      case .replaced: "replaced"
      case .malformed: "malformed"
      case .unreachable: "unreachable"
      }
    }
  }

  public var code: Code
  /// One sentence for a developer.
  public var message: String
  /// Whether the same may succeed later.
  public var isTemporary: Bool
  /// After how long to try again.
  public var retryAfter: Duration?

  public init(_ code: Code, _ message: String, isTemporary: Bool = false, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.isTemporary = isTemporary
    self.retryAfter = retryAfter
  }

  /// One that the client finds by itself, before the relay is asked.
  init(_ code: ErrorCode, _ message: String) { self.init(.refused(code), message, isTemporary: code.isTemporary) }

  /// An `error` frame or a problem document; a code that is newer than this client is `internal`.
  init(_ error: JSON) {
    let code = error["code"]?.text.flatMap(ErrorCode.init(rawValue:)) ?? .internal
    self.init(
      .refused(code), error["message"]?.text ?? error["detail"]?.text ?? code.rawValue,
      isTemporary: error["temporary"]?.flag ?? code.isTemporary, retryAfter: error.duration("retryAfter"))
  }

  public var description: String { "\(code.name): \(message)" }

  static let closed = StillwireError(.closed, "not connected", isTemporary: true)
  static let timeout = StillwireError(.timeout, "no reply in time", isTemporary: true)
  static let outboxFull = StillwireError(.outboxFull, "too much waits already", isTemporary: true)
  static let uncertain = StillwireError(.uncertain, "it may have been sent, and was not sent again")
  static let replaced = StillwireError(.replaced, "a newer report took its place")
}
