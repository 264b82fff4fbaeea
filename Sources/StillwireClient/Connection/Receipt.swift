// SPDX-License-Identifier: Apache-2.0

/// The `received` mark of one room. The client sends one mark for all messages of others within 250 ms.
struct Receipt: Equatable {
  private(set) var due: Duration?
  private var newest: Int64 = 0
  private var sent: Int64 = 0

  static let pause = Duration.milliseconds(250)

  /// Notes that a message of another user was shown.
  mutating func shown(_ seq: Int64, at now: Duration) {
    newest = max(newest, seq)
    arm(at: now)
  }

  /// Schedules a mark that could not be sent before the join.
  mutating func joined(at now: Duration) { arm(at: now) }

  /// Returns the mark to send. Returns `nil` if none is due.
  mutating func timePassed(at now: Duration, isJoined: Bool) -> Int64? {
    guard let due, due <= now else { return nil }
    self.due = nil
    guard isJoined, newest > sent else { return nil }
    sent = newest
    return newest
  }

  private mutating func arm(at now: Duration) {
    if due == nil, newest > sent { due = now + Self.pause }
  }
}
