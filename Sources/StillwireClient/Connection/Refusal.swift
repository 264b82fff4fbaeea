// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The reason why the client does not reconnect by itself. The app must correct the cause, and call
/// ``Stillwire/connect()``.
public struct Refusal: Equatable, Sendable, CustomStringConvertible {
  /// The close code, 4500 to 4999, or the code of a `bye` with `reconnect: false`.
  public var code: UInt16
  /// A description by the relay, for a developer. Has at most 123 characters, and is never empty.
  public var reason: String

  public init(code: UInt16, reason: String = "") {
    self.code = code
    self.reason = reason.isEmpty ? "closed with \(code)" : String(reason.prefix(Self.maxReason))
  }

  /// The code as a value of the protocol. Is `nil` if the protocol does not define it.
  public var closeCode: CloseCode? { CloseCode(rawValue: code) }
  public var description: String { "\(reason) (\(code))" }

  /// The maximum length of a reason in a close frame (RFC 6455, section 5.5).
  private static let maxReason = 123

  /// Returns true if another node may accept a client whose attempt ended with this close code: the connection was
  /// lost, or the relay shuts down. After the other codes of the relay, each node would refuse the client.
  static func mayTryNext(_ code: UInt16) -> Bool { code <= CloseCode.shutdown.rawValue }

  /// Returns true for 4500 to 4999, after which the client does not reconnect. It reconnects after all other codes.
  static func isFinal(_ code: UInt16) -> Bool { (4500...4999).contains(code) }
}
