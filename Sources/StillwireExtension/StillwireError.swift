// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
public import RelayProtocol

/// An error of a request, a send or a report.
public struct StillwireError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The cause of the error. Its name contains no personal data, so that a metric may use it as a label.
  public enum Code: Hashable, Sendable {
    /// The relay refused the request with this code.
    case refused(ErrorCode)
    /// The client has no connection, or lost it before the reply. In the second case the request may have taken effect.
    case closed
    /// The reply did not arrive before the timeout. The request may have taken effect.
    case timeout
    /// The maximum number of waiting messages or pending requests is reached.
    case outboxFull
    /// The relay may have stored the message, and may have forgotten its key. To send it again could store it twice.
    case uncertain
    /// A newer report of this device replaced this one.
    case replaced
    /// The relay has not applied a report, although it is the newest one.
    case notApplied
    /// The app's identity is not a token.
    case badToken
    /// The reply of the relay does not match the protocol.
    case malformed
    /// No relay answered over HTTP.
    case unreachable

    public var name: String {
      switch self {
      case .refused(let code): code.rawValue
      case .closed: "closed"
      case .timeout: "timeout"
      case .outboxFull: "full"
      case .uncertain: "uncertain"
      case .replaced: "replaced"
      case .notApplied: "not_applied"
      case .badToken: "bad_token"
      case .malformed: "malformed"
      case .unreachable: "unreachable"
      }
    }
  }

  public var code: Code
  /// One sentence for a developer.
  public var message: String
  /// True if the same request may succeed later.
  public var isTemporary: Bool
  /// The delay after which to retry.
  public var retryAfter: Duration?
  /// The end of a restriction, of an error with the code `restricted`. Is `nil` for a room that is read-only.
  public var until: Timestamp?

  public init(
    _ code: Code, _ message: String, isTemporary: Bool = false, retryAfter: Duration? = nil, until: Timestamp? = nil
  ) {
    self.code = code
    self.message = message
    self.isTemporary = isTemporary
    self.retryAfter = retryAfter
    self.until = until
  }

  /// An error that the client finds before it sends the request.
  package init(_ code: ErrorCode, _ message: String) {
    self.init(.refused(code), message, isTemporary: code.isTemporary)
  }

  /// Parses an `error` frame or a problem document (RFC 9457). A code that this client does not know becomes
  /// `internal`.
  package init(_ error: JSON) {
    let code = error["code"]?.text.flatMap(ErrorCode.init(rawValue:)) ?? .internal
    self.init(
      .refused(code), error["message"]?.text ?? error["detail"]?.text ?? code.rawValue,
      isTemporary: error["temporary"]?.flag ?? code.isTemporary, retryAfter: error.duration("retryAfter"),
      until: error.time("until"))
  }

  public var description: String { "\(code.name): \(message)" }

  package static let closed = StillwireError(.closed, "not connected", isTemporary: true)
  package static let timeout = StillwireError(.timeout, "no reply in time", isTemporary: true)
  package static let outboxFull = StillwireError(
    .outboxFull, "too many messages or requests are waiting", isTemporary: true)
  package static let uncertain = StillwireError(.uncertain, "the message may be stored, and was not sent again")
  package static let replaced = StillwireError(.replaced, "a newer report replaced this one")
  package static let notApplied = StillwireError(.notApplied, "the relay has not applied the report")
}
