// SPDX-License-Identifier: Apache-2.0
// The rooms of `ClientMachine`: joins, messages, people and marks. `RoomTrack` has the state of each room.
import RelayJSON
import RelayProtocol

extension ClientMachine {
  /// Joins a room, and joins it again after each reconnect until the app leaves it. Finishes the ticket after the first
  /// successful join, or when a join fails permanently.
  package mutating func joinRequested(_ room: RoomID, history: Int, _ ticket: Ticket) {
    defer { use(room) }
    if let track = tracks[room] {
      guard !track.hasJoined else { return finish(ticket, .success(.object([:]))) }
    } else {
      begin(RoomTrack(room: room, history: history))
      join([room])
    }
    joiners[ticket] = room
  }

  /// Maximum number of joins without a reply. On a slow line, the replies to more of them would delay all rooms.
  private static let maxJoins = 4

  mutating func finishJoiners(_ result: Result<JSON, StillwireError>, where isOver: (RoomID) -> Bool) {
    let tickets = joiners.filter { isOver($0.value) }.map(\.key).sorted()
    for ticket in tickets {
      joiners[ticket] = nil
      finish(ticket, result)
    }
  }

  /// Leaves a room. The end of the membership requires a connection: without one the room stays joined, because a
  /// request is not queued.
  /// - Parameter stays: True if the user remains a member. This requires no connection.
  package mutating func leaveRequested(_ room: RoomID, stays: Bool, _ ticket: Ticket) {
    guard isOpen else {
      if stays { forget(room) }
      return finish(ticket, stays ? .success(.object([:])) : .failure(.closed))
    }
    forget(room)
    var members: [String: JSON] = ["room": .string(room.rawValue)]
    if stays { members["stay"] = .bool(true) }
    requested("leave", members, ticket)
  }

  package mutating func markRead(_ room: RoomID, _ seq: Int64) {
    use(room)
    let isNew = change(room) { $0.markRead(seq) } ?? false
    if isNew, tracks[room]?.phase == .joined { mark("read", room, seq) }
  }

  /// Sets the priority of a room, for the order of the joins.
  package mutating func prioritize(_ room: RoomID, _ priority: Int) {
    priorities[room] = priority == 0 ? nil : priority
  }

  /// Notes that the app uses a room.
  mutating func use(_ room: RoomID) {
    uses += 1
    change(room) { [uses] in $0.lastUse = uses }
  }

  /// Joins rooms, as soon as few joins have no reply.
  mutating func join(_ rooms: [RoomID]) {
    guard isOpen else { return }
    for room in rooms { change(room) { $0.phase = .queued } }
    joinNext()
  }

  /// Sends the next joins: first those of the rooms with the highest priority, and among them of the one used last.
  mutating func joinNext() {
    func rank(_ track: RoomTrack) -> (Int, Int) { (priorities[track.room] ?? 0, track.lastUse) }
    while isOpen, requests.joins < Self.maxJoins,
      let next = tracks.values.filter({ $0.phase == .queued }).max(by: { rank($0) < rank($1) })
    {
      sendJoin(next)
    }
  }

  private mutating func sendJoin(_ track: RoomTrack) {
    let room = track.room
    change(room) { [now] in $0.joinSent(at: now) }
    var members: [String: JSON] = ["room": .string(room.rawValue)]
    if let after = track.position {
      members["after"] = ["epoch": .string(after.epoch), "seq": .number(String(after.seq))]
    }
    if track.position != nil, let change = track.changes.newest { members["afterChange"] = .number(String(change)) }
    if track.history > 0 { members["history"] = .number(String(track.history)) }
    members["maxBytes"] = .number(String(pageSize.bytes))
    write("join", members, id: requests.begin(.join(room), at: now))
  }

  mutating func joinAnswered(_ room: RoomID, _ result: Result<JSON, StillwireError>) {
    joined(room, result)
    joinNext()
  }

  private mutating func joined(_ room: RoomID, _ result: Result<JSON, StillwireError>) {
    switch result {
    case .success(let reply) where reply["more"]?.flag == true:
      let time = tracks[room]?.joinTime(at: now) ?? .zero
      guard let events = change(room, { [user] in $0.partAnswered(reply, me: user) }) ?? nil else {
        return joined(room, .failure(.noPosition))
      }
      pageSize.took(time)
      take(events)
      join([room])
    case .success(let reply):
      guard let joined = change(room, { [user] in $0.joinAnswered(reply, me: user) }) ?? nil else {
        return joined(room, .failure(.noPosition))
      }
      take(joined.events)
      change(room) { [now] in $0.receipt.joined(at: now) }
      if let read = joined.read { mark("read", room, read) }
      finishJoiners(.success(reply)) { $0 == room }
      send(room)
    case .failure(let error) where error.isTemporary:
      let random = settings.random()
      change(room) { [now] in
        $0.phase = .retrying(at: now + $0.backoff.failed(random: random, retryAfter: error.retryAfter ?? .zero))
      }
    case .failure(let error):
      finishJoiners(.failure(error)) { $0 == room }
      left(room, code: error.code.name)
    }
  }

  mutating func pageArrived(_ event: Frame) {
    guard let room = event.room else { return }
    take(change(room) { [user] in $0.pageArrived(event.members, me: user) ?? [] } ?? [])
  }

  /// Emits the events of a join, and marks their messages as received.
  private mutating func take(_ events: [Event]) {
    for event in events { emit(event) }
    shown(events.compactMap { if case .message(let message) = $0 { message } else { nil } })
  }

  mutating func messageArrived(_ event: Frame) {
    guard let room = event.room, tracks[room] != nil, let message = Message(event.members, in: room) else { return }
    show(message, isSending: isSending(in: room))
  }

  func isSending(in room: RoomID) -> Bool { outbox.lanes[room]?.isSent ?? false }

  mutating func show(_ message: Message, isSending: Bool) {
    let arrival = change(message.room) { [user] in $0.arrived(message, me: user, isSending: isSending) }
    take(arrival, message.room)
  }

  /// Shows held messages after the reply to a send, which may have been the missing message.
  mutating func release(_ room: RoomID) {
    let isSending = isSending(in: room)
    let arrival = change(room) { [user] in $0.released(me: user, isSending: isSending) }
    take(arrival, room)
  }

  private mutating func take(_ arrival: RoomTrack.Arrival?, _ room: RoomID) {
    guard let arrival else { return }
    for message in arrival.shown { emit(.message(message)) }
    shown(arrival.shown)
    guard arrival.needsJoin else { return }
    // The result must not depend on the order of two replies: the client sends a pending message again after the join.
    requests.forgetSends(room)
    outbox.withLane(room) { $0.lost() }
    join([room])
  }

  private mutating func shown(_ messages: [Message]) {
    guard let last = messages.last(where: { !$0.isOwn }) else { return }
    change(last.room) { [now] in $0.receipt.shown(last.seq, at: now) }
  }

  mutating func changeArrived(_ event: Frame) {
    guard let room = event.room, let seq = event.seq, let track = tracks[room] else { return }
    if track.hasSeen(seq) {
      if change(room, { $0.changeArrived(event) }) == true { emit(.frame(event)) }
    } else if track.phase == .joined, track.holds(seq) {
      // A new join returns the message in its changed state.
      take(RoomTrack.Arrival(needsJoin: true), room)
    }
  }

  /// Stores a change of a message that this client has requested. The relay sends no event about it to this session.
  /// - Parameter event: The edit or the deletion. Is `nil` for other changes.
  mutating func changeAnswered(_ reply: JSON, _ event: Frame?) {
    guard let room: RoomID = reply.name("room"), let number = reply["change"]?.integer else { return }
    guard change(room, { $0.changeAnswered(number, event) }) == true else { return }
    // A new join returns the held messages in their newest state.
    take(RoomTrack.Arrival(needsJoin: true), room)
  }

  mutating func peopleChanged(_ event: Frame) {
    guard let change = People.Change(event) else { return }
    if case .changed = change {
      emit(.frame(event))
      for room in order { changePeople(room, change) }
      return
    }
    guard let room = event.room, tracks[room] != nil else { return }
    emit(.frame(event))
    if case .left = change, event.user == user { return removed(from: room) }
    changePeople(room, change)
    if event.type == "member" { requestPeople(room) }
  }

  /// Requests the people of a room. The relay sends `member` events only for rooms that are not large, so a room
  /// without a list has become small again.
  private mutating func requestPeople(_ room: RoomID) {
    guard let track = tracks[room], track.phase == .joined, !track.people.isListed, !requests.has(.people(room)) else {
      return
    }
    let id = requests.begin(.people(room), at: now)
    write("presence", ["room": .string(room.rawValue)], id: id)
  }

  mutating func peopleAnswered(_ room: RoomID, _ result: Result<JSON, StillwireError>) {
    guard case .success(let reply) = result, let list = reply["presence"]?.items, let known = tracks[room]?.people
    else {
      return
    }
    let entries = list.compactMap(Presence.init)
    changePeople(
      room,
      .shown(entries: entries, memberCount: known.memberCount, onlineCount: entries.count { $0.isOnline }))
  }

  private mutating func changePeople(_ room: RoomID, _ change: People.Change) {
    let people = self.change(room) { $0.phase == .joined ? $0.peopleChanged(change) : nil }
    if let people = people ?? nil { emit(.peopleChanged(room, people)) }
  }

  mutating func removed(from room: RoomID) {
    if tracks[room] != nil { left(room, code: "removed") }
  }

  private mutating func left(_ room: RoomID, code: String) {
    forget(room)
    emit(.left(room, code: code))
  }

  private mutating func forget(_ room: RoomID) {
    end(room)
    requests.forget(room)
    finishJoiners(.failure(.closed)) { $0 == room }
    for ticket in outbox.emptied(room) { finish(ticket, .failure(.closed)) }
    joinNext()
  }

  private mutating func mark(_ kind: String, _ room: RoomID, _ seq: Int64) {
    write(kind, ["room": .string(room.rawValue), "seq": .number(String(seq))])
  }

  mutating func roomsTimePassed() {
    for room in order {
      if case .retrying(let at) = tracks[room]?.phase, at <= now { join([room]) }
      let received = change(room) { [now] in $0.receipt.timePassed(at: now, isJoined: $0.phase == .joined) }
      if let received = received ?? nil { mark("received", room, received) }
      send(room)
    }
  }
}

extension RoomTrack {
  var nextDue: Duration? {
    if case .retrying(let at) = phase { min(at, receipt.due ?? at) } else { receipt.due }
  }
}

/// The size of the messages in a reply to a join, which the client requests.
struct PageSize: Equatable {
  /// The maximum, in bytes. It begins small, because on a slow line a large reply would delay all rooms.
  private(set) var bytes = 16_384
  static let maxBytes = 262_144
  /// After a page that took less, the next one is twice as large.
  static let quick = Duration.seconds(1)

  /// Notes the time that a reply with the maximum of messages took.
  mutating func took(_ time: Duration) {
    bytes = time < Self.quick ? min(bytes * 2, Self.maxBytes) : max(bytes / 2, PageSize().bytes)
  }
}

extension StillwireError {
  fileprivate static let noPosition = StillwireError(.malformed, "the reply to join has no position")
}
