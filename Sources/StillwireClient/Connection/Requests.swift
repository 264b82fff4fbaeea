// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The requests of one client that have no reply yet.
struct Requests: Equatable {
  enum Purpose: Equatable {
    /// The app's own.
    case app(Ticket)
    case join(RoomID)
    case send(RoomID)
    case focus
    /// Who is in a room that is large no longer.
    case people(RoomID)
    /// A newer token.
    case renewal
  }

  struct Pending: Equatable {
    var id: Int64
    var purpose: Purpose
    var due: Duration
  }

  /// How many may be unanswered; the relay itself reads no more than 64 at once.
  static let most = 1_000

  /// In the order in which they were made.
  private(set) var pending: [Pending] = []
  private var lastID: Int64 = 0

  /// The id of one more, which no other request of this client ever has.
  mutating func begin(_ purpose: Purpose, due: Duration) -> Int64 {
    lastID += 1
    pending.append(Pending(id: lastID, purpose: purpose, due: due))
    return lastID
  }

  /// nil: nobody waits for it, or not any more.
  mutating func answered(_ id: Int64) -> Purpose? {
    guard let index = pending.firstIndex(where: { $0.id == id }) else { return nil }
    return pending.remove(at: index).purpose
  }

  /// Whether a late answer may come to it, for which nobody waits.
  func wasMade(_ id: Int64) -> Bool { id > 0 && id <= lastID }

  mutating func expired(at now: Duration) -> [Purpose] {
    let over = pending.filter { $0.due <= now }
    pending.removeAll { $0.due <= now }
    return over.map(\.purpose)
  }

  mutating func ended() -> [Purpose] {
    defer { pending = [] }
    return pending.map(\.purpose)
  }

  mutating func forget(_ purpose: Purpose) { pending.removeAll { $0.purpose == purpose } }

  func has(_ purpose: Purpose) -> Bool { pending.contains { $0.purpose == purpose } }

  mutating func forget(_ ticket: Ticket) { forget(.app(ticket)) }

  mutating func forget(_ room: RoomID) {
    for purpose in [Purpose.join(room), .send(room), .people(room)] { forget(purpose) }
  }

  var nextDue: Duration? { pending.map(\.due).min() }
}
