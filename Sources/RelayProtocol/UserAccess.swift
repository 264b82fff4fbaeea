// SPDX-License-Identifier: Apache-2.0

/// The restrictions that a backend sets for a user: a suspension, and the revocation of older tokens.
public struct UserAccess: Equatable, Sendable {
  /// Is `nil` if the user is not suspended.
  public var suspension: Suspension?
  /// The relay rejects tokens that were issued before this time. Is `nil` if it accepts all.
  public var notBefore: Timestamp?

  public init(suspension: Suspension? = nil, notBefore: Timestamp? = nil) {
    self.suspension = suspension
    self.notBefore = notBefore
  }

  /// A suspension: the user has no sessions, sends no requests and gets no pushes.
  public struct Suspension: Equatable, Sendable {
    /// The end. Is `nil` if the suspension has none.
    public var until: Timestamp?
    /// A text for the user, at most ``maxReasonLength`` bytes.
    public var reason: String?

    public init(until: Timestamp? = nil, reason: String? = nil) {
      self.until = until
      self.reason = reason
    }

    public func isOn(at now: Timestamp) -> Bool { until.map { now < $0 } ?? true }

    /// The text of the close frame and of the error, at most 123 bytes long.
    public var text: String { reason.map { "suspended: \($0)" } ?? "suspended" }

    /// A close frame has 125 bytes: two for the code, and the rest for ``text``.
    public static let maxReasonLength = 112
  }

  /// True if the user has no restriction.
  public var isEmpty: Bool { self == UserAccess() }

  /// True if a token is revoked.
  ///
  /// Tokens contain whole seconds, so a token of the same second as ``notBefore`` is accepted.
  /// - Parameter issued: The time at which the token was issued. A token without this time counts as an old one.
  public func revokes(tokenIssued issued: Timestamp?) -> Bool {
    guard let notBefore else { return false }
    return issued.map { $0.rawValue / 1000 < notBefore.rawValue / 1000 } ?? true
  }
}
