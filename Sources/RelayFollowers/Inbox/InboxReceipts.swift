// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The newest messages that one session has got in `inbox` events, and the pings that confirm their arrival.
///
/// A room that is forgotten counts as not received, so that the relay pushes.
struct InboxReceipts: Equatable, Sendable {
  /// The maximum number of rooms. Beyond it, the rooms of the oldest events are forgotten.
  static let maxRooms = 64

  private struct Entry: Equatable, Sendable {
    let room: RoomID
    let seq: Int64
    /// The ping that was sent after the event.
    let ping: Int64
  }

  private var entries: [Entry] = []
  private var confirmed: Int64 = 0

  init() {}

  mutating func add(_ sent: [(RoomID, Int64)], confirmedBy ping: Int64) {
    for (room, seq) in sent {
      // An event that has arrived stays known until the arrival of its successor.
      entries.removeAll { $0.room == room && $0.ping > confirmed }
      entries.append(Entry(room: room, seq: seq, ping: ping))
    }
    entries.removeFirst(max(0, entries.count - Self.maxRooms))
  }

  mutating func confirm(upTo ping: Int64) { confirmed = max(confirmed, ping) }

  /// The newest message of the room that has arrived. Is 0 if there is none.
  func received(_ room: RoomID) -> Int64 {
    entries.lazy.filter { $0.room == room && $0.ping <= confirmed }.map(\.seq).max() ?? 0
  }
}
