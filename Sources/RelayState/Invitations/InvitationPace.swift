// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

/// The pace of the pushes of invitations since the start of the relay. Pure.
package struct InvitationPace: Sendable {
  /// The maximum number of these pushes to a user within a day.
  package static let maxOfUser = 10
  /// The same for one inviter.
  static let maxOfPair = 1

  package struct Pair: Hashable {
    package let inviter, user: UserID
  }

  private var pairs = DailyCounts<Pair>()
  private var users = DailyCounts<UserID>()

  package init() {}

  /// True if no further push of an invitation may reach the user now.
  func isExceeded(by inviter: UserID, to user: UserID, at now: ContinuousClock.Instant) -> Bool {
    users.count(of: user, at: now) >= Self.maxOfUser
      || pairs.count(of: Pair(inviter: inviter, user: user), at: now) >= Self.maxOfPair
  }

  /// Counts a push.
  package mutating func pushed(by inviter: UserID, to user: UserID, at now: ContinuousClock.Instant) {
    _ = users.take(1, of: user, limit: .max, at: now)
    _ = pairs.take(1, of: Pair(inviter: inviter, user: user), limit: .max, at: now)
  }

  /// Takes back the newest push, because it was not stored.
  package mutating func failed(by inviter: UserID, to user: UserID) {
    users.giveBack(1, of: user)
    pairs.giveBack(1, of: Pair(inviter: inviter, user: user))
  }
}
