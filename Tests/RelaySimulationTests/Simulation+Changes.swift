// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

/// The changes of messages: their numbers, their events, and their recovery.
extension Simulation {
  /// The changes of a room before the present step, and after each of the requests of the step.
  private func states(of room: RoomID) -> [ChangeModel] { changeStates[room] ?? [model.changes[room] ?? ChangeModel()] }

  /// Checks that one order of the requests of the step gives all replies.
  func lookAtChanges() throws {
    changeStates = [:]
    for (room, events) in changeEvents {
      let known = model.changes[room] ?? ChangeModel()
      guard let states = known.orders(of: events).first else {
        throw Violation(.changed, "\(room) has \(known), and no order of \(events) gives the replies")
      }
      changeStates[room] = states
      model.changes[room] = states.last
    }
    changeEvents = [:]
  }

  /// Checks the changes on disk after a start, and continues with them.
  func adoptChanges(_ found: [RoomID: ChangeModel], _ unanswered: [Unanswered]) throws {
    for room in World.rooms {
      let (known, present) = (model.changes[room] ?? ChangeModel(), found[room] ?? ChangeModel())
      let events = changeEvents[room] ?? []
      let perhaps = unanswered.compactMap { changeEvent(of: $0.sentRequest, by: $0.user, in: room, .unknown) }
      guard known.orders(of: events, perhaps: perhaps).contains(where: { $0.last == present }) else {
        throw Violation(.changed, "\(room) has \(present) after \(known), \(events), and perhaps \(perhaps)")
      }
      guard shownChanges[room] ?? 0 <= present.newest else {
        throw Violation(.changed, "\(room) has \(present), but \(shownChanges[room] ?? 0) was shown")
      }
      model.changes[room] = present
    }
    changeEvents = [:]
    changeStates = [:]
  }

  /// Checks that each client in a room has all changes.
  func lookAtShownChanges() throws {
    for slot in World.slots {
      guard let client = clients[slot], !client.isEnding, !client.isSlow else { continue }
      for (room, count) in client.changes where count.newest != model.changes[room]?.newest ?? 0 {
        throw Violation(
          .changed, "\(slot) has the changes of \(room) up to \(count), not \(model.changes[room]?.newest ?? 0)")
      }
    }
  }

  // MARK: Requests

  /// Records a reply, as far as it says something about the changes of a room.
  func noteChange(_ fields: Fields, _ code: String?, by sentRequest: SentRequest, of client: Client) throws {
    guard let room = sentRequest.request.room, sentRequest.request.changesMessage else { return }
    let number = code == nil ? try fields.integer("change", 1...maxInteger) : nil
    let reply = try code.map(ChangeReply.refused) ?? .done(change: number, value(in: fields, of: sentRequest.request))
    guard let event = changeEvent(of: sentRequest, by: client.slot.user, in: room, reply) else { return }
    changeEvents[room, default: []].append(event)
    if let number { try take(number, of: room, client) }
  }

  /// The new state in a reply. Is `nil` in the reply to an edit or a deletion.
  private func value(in fields: Fields, of request: ClientRequest) throws -> ChangeModel.Value? {
    switch request {
    case .react, .unreact: .reactions(try ChangeModel.groups(fields.members["reactions"]))
    case .pin: .pinned(try fields.required("pinned", fields.bool("pinned")))
    default: nil
    }
  }

  private func changeEvent(
    of sentRequest: SentRequest, by user: UserID, in room: RoomID, _ reply: ChangeReply
  ) -> ChangeEvent? {
    let place = Place(room: room, seq: sentRequest.seq)
    guard sentRequest.request.room == room, let message = model.message(at: place) else { return nil }
    let isOwn = message.from == user
    let request: ChangeEvent.Request
    var rights: Set = [true]
    switch sentRequest.request {
    case .edit:
      request = .edit(body: sentRequest.body)
      rights = [isOwn]
    case .delete:
      request = .delete(by: isOwn ? nil : user)
      rights = mayDelete(place, user)
    case .react(_, _, let key): request = .react(ChangeModel.Reaction(key: World.reactions[key], user: user))
    case .unreact(_, _, let key): request = .unreact(ChangeModel.Reaction(key: World.reactions[key], user: user))
    case .pin(_, _, let isPinned):
      request = .pin(isPinned)
      rights = moderates(room, user)
    default: return nil
    }
    return ChangeEvent(
      seq: sentRequest.seq, request: request, rights: rights, time: sentRequest.now, reply: reply)
  }

  // MARK: Events

  /// Takes the event of a change. The session that has requested the change gets only the reply.
  func receiveChange(_ fields: Fields, _ client: Client) throws {
    let (room, change) = try change(in: fields)
    try take(change.number, of: room, client)
    claims.append { [unowned self] in
      guard states(of: room).dropFirst().contains(where: { $0.has(change) }) else {
        throw Violation(.changed, "\(client.slot) is shown \(change) of \(room), not one of \(states(of: room))")
      }
    }
  }

  private func take(_ number: Int64, of room: RoomID, _ client: Client) throws {
    shownChanges[room] = max(number, shownChanges[room] ?? 0)
    guard client.changes[room]?.add(number) == true else {
      throw Violation(
        .changed, "\(client.slot) gets the change \(number) of \(room) after \(client.changes[room] as Any)")
    }
    changePositions[client.slot, default: [:]][room] = client.changes[room]?.newest
  }

  /// Parses an event, or an entry of the `changes` in the reply to a `join`.
  private func change(in fields: Fields) throws -> (room: RoomID, change: ChangeModel.Change) {
    let place = try place(fields)
    let value: ChangeModel.Value =
      switch try fields.string("type", maxLength: 64) ?? "" {
      case "edited": .edited(body: try body(of: fields) ?? -1)
      case "deleted": .deleted(by: try fields.name("by"))
      case "reactions": .reactions(try ChangeModel.groups(fields.members["reactions"]))
      case "pinned": .pinned(try fields.required("pinned", fields.bool("pinned")))
      case let type: throw Violation(.changed, "a change of \(place) has the type \(type)")
      }
    let number = try fields.required("change", fields.integer("change", 1...maxInteger))
    let time = Timestamp(rawValue: try fields.required("time", fields.integer("time", 0...maxInteger)))
    return (place.room, ChangeModel.Change(number: number, seq: place.seq, time: time, value: value))
  }

  // MARK: Recovery

  /// Checks the changes in the reply to a `join`.
  /// - Parameter isRecovered: True if the reply has all that the client missed.
  func recover(
    _ fields: Fields, _ sentRequest: SentRequest, in room: RoomID, isRecovered: Bool, _ client: Client
  ) throws {
    let number = try fields.required("change", fields.integer("change", 0...maxInteger))
    let changes = try entries(fields, "changes").map { try change(in: $0).change }
    // The reply to the first of two joins may have moved the position.
    let position = sentRequest.afterChange ?? changePositions[client.slot]?[room]
    let isDoubtful = unansweredRooms[client.slot] == room
    if isDoubtful { unansweredRooms[client.slot] = nil }
    let (after, named) = (sentRequest.after, sentRequest.afterChange)
    claims.append { [unowned self] in
      let states = states(of: room)
      guard let first = states.firstIndex(where: { $0.newest == number }) else {
        throw Violation(.changed, "\(client.slot) joins \(room) at the change \(number), not one of \(states)")
      }
      // The history may be one request newer than the room.
      let isRight = states[first...].contains { state in
        guard changes.allSatisfy(state.has) else { return false }
        guard isRecovered, let after, let position else { return changes.isEmpty }
        let missed = state.missed(after: position, upTo: after.seq)
        return named == nil ? isDoubtful || Set(missed).isSubset(of: changes) : missed == changes
      }
      guard isRight else {
        throw Violation(
          .changed,
          "\(client.slot) joins \(room) from \(after as Any) and \(position as Any) to \(number), and gets "
            + "\(changes), not the rest of \(states)")
      }
      if isRecovered, named != nil, !changes.isEmpty { audit.tally.count(.changesRecovered) }
    }
    client.changes[room] = ChangeCount(newest: number)
    changePositions[client.slot, default: [:]][room] = number
  }

  /// Checks the members that a message in a reply has after changes.
  func see(marks fields: Fields, of place: Place, _ client: Client) throws {
    let edited = try fields.integer("editedAt", 0...maxInteger).map(Timestamp.init(rawValue:))
    let pinned = try fields.integer("pinnedAt", 0...maxInteger).map(Timestamp.init(rawValue:))
    let groups = fields.has("reactions") ? try ChangeModel.groups(fields.members["reactions"]) : []
    let shown = ChangeModel.Marks(edited: edited, reactions: groups, pinned: pinned)
    guard model.changes[place.room]?.marks(of: place.seq) ?? ChangeModel.Marks() != shown else { return }
    claims.append { [unowned self] in
      let expected = states(of: place.room).map { $0.marks(of: place.seq) }
      guard expected.contains(shown) else {
        throw Violation(.changed, "\(client.slot) is shown \(place) with \(shown), not one of \(expected)")
      }
    }
  }
}
