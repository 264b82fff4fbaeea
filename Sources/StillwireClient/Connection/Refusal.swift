// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Why the client does not come back by itself: something must change first.
public struct Refusal: Equatable, Sendable, CustomStringConvertible {
  /// The close code, 4500 to 4999, or that of a `bye` that says not to come back.
  public var code: UInt16
  /// The relay's words, for a developer; at most 123 characters, never empty.
  public var reason: String

  public init(code: UInt16, reason: String = "") {
    self.code = code
    self.reason = reason.isEmpty ? "closed with \(code)" : String(reason.prefix(Self.longestReason))
  }

  /// nil: a code of somebody else's.
  public var closeCode: CloseCode? { CloseCode(rawValue: code) }
  public var description: String { "\(reason) (\(code))" }

  /// RFC 6455, section 5.5: what fits into a close frame.
  private static let longestReason = 123

  /// 4000 to 4499, 1006 and every code not listed: come back. 4500 to 4999: do not.
  static func isFinal(_ code: UInt16) -> Bool { (4500...4999).contains(code) }
}
