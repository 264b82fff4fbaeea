// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The pending requests of one client.
///
/// A request times out when the connection was silent for a time. On a slow line the reply may still be on its way, so
/// a late reply counts.
struct Requests: Equatable {
  enum Purpose: Equatable {
    /// A request of the app. `change` is the edit or the deletion that it makes, as the event that other sessions get.
    case app(Ticket, change: Frame? = nil)
    case join(RoomID)
    /// A join of a room that the app has left since. Nothing but its end matters: the relay still sends the messages.
    case abandonedJoin
    /// `key` is the key of the message.
    case send(RoomID, key: String)
    case focus
    /// The people of a room that is no longer large.
    case people(RoomID)
    /// `watch` for users whom the app watches, after a reconnect.
    case watch
    /// `refresh` with a newer token.
    case renewal

    /// A second join would transfer the messages again, so a join has no timeout.
    fileprivate var hasTimeout: Bool { !isJoin }

    fileprivate var isJoin: Bool {
      switch self {
      case .join, .abandonedJoin: true
      case .app, .send, .focus, .people, .watch, .renewal: false
      }
    }

    /// True if the client repeats the request after a timeout.
    var isRepeated: Bool {
      switch self {
      case .send, .focus, .watch, .renewal: true
      case .app, .join, .abandonedJoin, .people: false
      }
    }
  }

  struct Pending: Equatable {
    var id: Int64
    var purpose: Purpose
    /// The time of the request.
    var began: Duration
    /// The size of the frame in bytes, if it may be large.
    var size = 0
    /// True after the timeout.
    var isLate = false
  }

  /// Maximum number of pending requests, and of late ones. The relay processes at most 64 of a session at once.
  static let capacity = 1_000

  /// The requests, oldest first.
  private var all: [Pending] = []
  private let timeout: Duration
  /// The time of the newest bytes from the relay.
  private var heard = Duration.zero
  private var lastID: Int64 = 0

  init(timeout: Duration) { self.timeout = timeout }

  /// The requests that have not timed out.
  var pending: [Pending] { all.filter { !$0.isLate } }

  /// The number of joins without a reply.
  var joins: Int { all.count { $0.purpose.isJoin } }

  /// Adds a request. Returns its id, which is unique for this client.
  mutating func begin(_ purpose: Purpose, at now: Duration) -> Int64 {
    lastID += 1
    all.append(Pending(id: lastID, purpose: purpose, began: now))
    return lastID
  }

  /// Notes the size of a request, which may be large.
  mutating func sized(_ id: Int64, _ size: Int) {
    if let index = all.lastIndex(where: { $0.id == id }) { all[index].size = size }
  }

  /// The requests that wait for a reply and have not timed out. Is `nil` if there are none.
  var waiting: Silence.Waiting? {
    guard let oldest = all.first(where: { !$0.isLate }) else { return nil }
    return Silence.Waiting(since: oldest.began, size: all.reduce(0) { $0 + ($1.isLate ? 0 : $1.size) })
  }

  /// Notes that bytes of the relay have arrived.
  mutating func received(at now: Duration) { heard = now }

  /// Removes the request that a reply names. Returns `nil` if no such request waits for a reply.
  mutating func answered(_ id: Int64) -> Pending? {
    guard let index = all.firstIndex(where: { $0.id == id }) else { return nil }
    return all.remove(at: index)
  }

  /// Returns true if this client assigned the id.
  func wasMade(_ id: Int64) -> Bool { id > 0 && id <= lastID }

  /// Returns the requests that time out now. They may still get a late reply.
  mutating func expired(at now: Duration) -> [Purpose] {
    guard let due = nextDue, due <= now else { return [] }
    var over: [Purpose] = []
    for index in all.indices where isOver(all[index], at: now) {
      all[index].isLate = true
      over.append(all[index].purpose)
    }
    let late = all.filter(\.isLate)
    let forgotten = Set(late.dropLast(Self.capacity).map(\.id))
    all.removeAll { forgotten.contains($0.id) }
    return over
  }

  private func isOver(_ request: Pending, at now: Duration) -> Bool {
    !request.isLate && request.purpose.hasTimeout && due(request) <= now
  }

  private func due(_ request: Pending) -> Duration { max(request.began, heard) + timeout }

  /// Ends all requests. Returns those that have not timed out.
  mutating func ended() -> [Purpose] {
    defer { all = [] }
    return pending.map(\.purpose)
  }

  mutating func forget(_ purpose: Purpose) { all.removeAll { $0.purpose == purpose } }

  func has(_ purpose: Purpose) -> Bool { all.contains { !$0.isLate && $0.purpose == purpose } }

  mutating func forget(_ ticket: Ticket) {
    all.removeAll { if case .app(ticket, _) = $0.purpose { true } else { false } }
  }

  /// Forgets the sends of a room.
  mutating func forgetSends(_ room: RoomID) {
    all.removeAll { if case .send(room, _) = $0.purpose { true } else { false } }
  }

  /// Forgets the requests of a room that the app has left. Its join counts until its reply.
  mutating func forget(_ room: RoomID) {
    for index in all.indices where all[index].purpose == .join(room) { all[index].purpose = .abandonedJoin }
    forget(.people(room))
    forgetSends(room)
  }

  /// The time of the next timeout. The requests are in the order of their times, so the oldest one is the first.
  var nextDue: Duration? { all.first { !$0.isLate && $0.purpose.hasTimeout }.map(due) }
}
