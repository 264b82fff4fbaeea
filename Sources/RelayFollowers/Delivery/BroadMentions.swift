// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore

/// The last message of each room that mentions all members, or all who are online: a room accepts at most one a minute.
///
/// The state belongs to one run of the relay. A retry with the same key is the same message.
struct BroadMentions {
  static let pause = Duration.seconds(60)
  /// The number of rooms above which the entries whose pause is over are removed.
  private static let minKept = 1_024

  private struct Entry {
    let time: ContinuousClock.Instant
    let sender: UserID
    let key: String?
  }

  private var last: [RoomID: Entry] = [:]
  private var maxKept = Self.minKept

  init() {}

  var count: Int { last.count }

  /// The time until the room accepts a message with a broad mention. Is `nil` if the room accepts this one.
  func delay(of draft: MessageDraft, at now: ContinuousClock.Instant) -> Duration? {
    guard let known = recent(in: draft.room, at: now) else { return nil }
    let isRetry = draft.key != nil && known.key == draft.key && known.sender == draft.from.id
    return isRetry ? nil : Self.pause - (now - known.time)
  }

  /// Counts a message that the room accepts. A retry does not count again.
  mutating func count(_ draft: MessageDraft, at now: ContinuousClock.Instant) {
    guard recent(in: draft.room, at: now) == nil else { return }
    if last.count >= maxKept {
      last = last.filter { now - $0.value.time < Self.pause }
      maxKept = max(Self.minKept, 2 * last.count)
    }
    last[draft.room] = Entry(time: now, sender: draft.from.id, key: draft.key)
  }

  private func recent(in room: RoomID, at now: ContinuousClock.Instant) -> Entry? {
    last[room].flatMap { now - $0.time < Self.pause ? $0 : nil }
  }
}
