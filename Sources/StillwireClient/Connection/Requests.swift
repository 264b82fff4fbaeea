// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The pending requests of one client.
struct Requests: Equatable {
  enum Purpose: Equatable {
    /// A request of the app. `change` is the edit or the deletion that it makes, as the event that other sessions get.
    case app(Ticket, change: Frame? = nil)
    case join(RoomID)
    case send(RoomID)
    case focus
    /// The people of a room that is no longer large.
    case people(RoomID)
    /// `watch` for users whom the app watches, after a reconnect.
    case watch
    /// `refresh` with a newer token.
    case renewal
  }

  struct Pending: Equatable {
    var id: Int64
    var purpose: Purpose
    var due: Duration
  }

  /// Maximum number of pending requests. The relay processes at most 64 of a session at once.
  static let capacity = 1_000

  /// The requests, oldest first.
  private(set) var pending: [Pending] = []
  private var lastID: Int64 = 0

  /// Adds a request. Returns its id, which is unique for this client.
  mutating func begin(_ purpose: Purpose, due: Duration) -> Int64 {
    lastID += 1
    pending.append(Pending(id: lastID, purpose: purpose, due: due))
    return lastID
  }

  /// Removes the request that a reply names. Returns `nil` if no such request is pending.
  mutating func answered(_ id: Int64) -> Purpose? {
    guard let index = pending.firstIndex(where: { $0.id == id }) else { return nil }
    return pending.remove(at: index).purpose
  }

  /// Returns true if this client assigned the id. A late reply with such an id is ignored.
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

  mutating func forget(_ ticket: Ticket) {
    pending.removeAll { if case .app(ticket, _) = $0.purpose { true } else { false } }
  }

  mutating func forget(_ room: RoomID) {
    for purpose in [Purpose.join(room), .send(room), .people(room)] { forget(purpose) }
  }

  var nextDue: Duration? { pending.map(\.due).min() }
}
