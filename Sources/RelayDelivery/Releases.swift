// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The users with pushes whose hold is over and that still wait for the recipient.
///
/// All waits of a user have one maximum, which counts from the first released push. An entry ends with the last of
/// these waits, even if nothing decides the pushes again, for example because the user has read the messages meanwhile.
public struct Releases: Sendable {
  private struct Wait {
    let since: Timestamp
    /// The latest end of the waits, at which the pushes are decided again.
    let end: Timestamp
  }

  private var waits: [UserID: Wait] = [:]

  public init() {}

  /// The earliest time at which ``forget(by:except:)`` may forget a user.
  public var nextEnd: Timestamp? { waits.values.lazy.map(\.end).min() }

  /// Returns the time at which the user's first push was released that still waits; `now` if there is none.
  public func begin(of user: UserID, now: Timestamp) -> Timestamp { min(waits[user]?.since ?? now, now) }

  /// - Parameter end: The latest end of the user's waits. Is `nil` when no released push of the user waits any more.
  public mutating func set(_ user: UserID, since: Timestamp, until end: Timestamp?) {
    waits[user] = end.map { Wait(since: since, end: $0) }
  }

  /// Forgets users whose waits are over.
  /// - Parameter due: The users whose pushes are due and are decided now.
  public mutating func forget(by now: Timestamp, except due: Set<UserID>) {
    waits = waits.filter { $0.value.end > now || due.contains($0.key) }
  }

  /// Keeps the length of the waits when the wall clock is set.
  public mutating func move(by step: Duration) {
    waits = waits.mapValues { Wait(since: $0.since + step, end: $0.end + step) }
  }
}
