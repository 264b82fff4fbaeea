// SPDX-License-Identifier: Apache-2.0
import NIOCore
import RelayProtocol
import StillwireExtension

/// Distributes events to the readers of a client's sequences. Only the reader retains its mailbox, so a reader that
/// stops is removed automatically.
final class Listeners: Sendable {
  private struct Weak<Element: Sendable> {
    weak var mailbox: Mailbox<Element>?
  }

  private struct State {
    var connection = ConnectionState.closed
    var people: [RoomID: People] = [:]
    var events: [Weak<Event>] = []
    var messages: [RoomID: [Weak<Message>]] = [:]
    var crowds: [RoomID: [Weak<People>]] = [:]
  }

  private let state = Locked(State())

  deinit {
    // The client was released, so no further events follow.
    state.withLock { state in
      state.events.forEach { $0.mailbox?.end() }
      state.messages.values.joined().forEach { $0.mailbox?.end() }
      state.crowds.values.joined().forEach { $0.mailbox?.end() }
    }
  }

  var connection: ConnectionState { state.withLock(\.connection) }

  func people(in room: RoomID) -> People? { state.withLock { $0.people[room] } }

  func events(limit: Int) -> Subscription<Event> {
    let mailbox = Mailbox<Event>(limit: Swift.max(limit, 2)) { $0[$0.startIndex] = .missed }
    state.withLock { $0.events.append(Weak(mailbox: mailbox)) }
    return Subscription(mailbox: mailbox)
  }

  func messages(in room: RoomID, limit: Int) -> Subscription<Message> {
    let mailbox = Mailbox<Message>(limit: limit) { $0[$0.startIndex].isAfterGap = true }
    state.withLock { $0.messages[room, default: []].append(Weak(mailbox: mailbox)) }
    return Subscription(mailbox: mailbox)
  }

  func crowd(in room: RoomID) -> Subscription<People> {
    let mailbox = Mailbox<People>(limit: 1) { _ in }
    state.withLock {
      if let people = $0.people[room] { mailbox.put(people) }
      $0.crowds[room, default: []].append(Weak(mailbox: mailbox))
    }
    return Subscription(mailbox: mailbox)
  }

  /// Delivers an event to all readers. Callers must not run concurrently, so that each mailbox keeps the order.
  func emit(_ event: Event) {
    // `put` resumes a reader, so it must not be called with the lock held.
    let events = state.withLock { state in
      if case .stateChanged(let connection) = event { state.connection = connection }
      return readers(&state.events)
    }
    events.forEach { $0.put(event) }
    switch event {
    case .message(let message):
      state.withLock { readers(&$0.messages, message.room) }.forEach { $0.put(message) }
    case .peopleChanged(let room, let people):
      state.withLock {
        $0.people[room] = people
        return readers(&$0.crowds, room)
      }.forEach { $0.put(people) }
    case .left(let room, _): forget(room)
    default: break
    }
  }

  func forget(_ room: RoomID) { state.withLock { $0.people[room] = nil } }

  private func readers<Element>(_ all: inout [RoomID: [Weak<Element>]], _ room: RoomID) -> [Mailbox<Element>] {
    guard var some = all[room] else { return [] }
    let readers = readers(&some)
    all[room] = some.isEmpty ? nil : some
    return readers
  }

  private func readers<Element>(_ all: inout [Weak<Element>]) -> [Mailbox<Element>] {
    all.removeAll { $0.mailbox?.isOver ?? true }
    return all.compactMap(\.mailbox)
  }
}
