// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol

@testable import RelayHTTP
@testable import RelayState

/// The rooms on disk: their members, roles, bans and calls.
extension Simulation {
  /// The relay ends calls some milliseconds late if several end at almost the same time.
  private static let delay = Duration.milliseconds(20)
  /// The relay deletes calls that were over long ago.
  private static let retention = Duration.seconds(28 * 24 * 3600)

  /// Checks that the events of the step explain the rooms on disk.
  func lookAtRooms(_ found: Disk.Rooms) throws {
    for room in World.rooms {
      let known = model.rooms[room] ?? RoomModel()
      let events = roomEvents.removeValue(forKey: room) ?? []
      var present = found.rooms[room] ?? RoomModel()
      for (seq, call) in present.calls {
        guard let due = call.due, due + Self.delay <= clock.now else { continue }
        throw Violation(.called, "the call \(room)/\(seq) is \(call.state) at \(clock.now), after its end at \(due)")
      }
      // The earlier calls that are over were not read again.
      present.calls = known.calls.filter(\.value.state.isOver).merging(present.calls) { $1 }
      present.hasMessages = model.log(of: room).newest > 0
      try compare(present, in: room, with: model.members(of: room))
      model.rooms[room] = present
      guard !present.isGoverned(like: known, at: clock.now) || present.calls != known.calls || !events.isEmpty else {
        continue
      }
      let perhaps: [RoomEvent] = known.isDue(at: clock.now) ? [.expire(at: clock.now)] : []
      try explain(present, in: room, after: known, events, perhaps, at: clock.now)
    }
    let ends = model.rooms.values.flatMap { $0.calls.values.map(\.ended) }
    let kept = ends.count { $0.map { clock.now < $0 + Self.retention } ?? true }
    guard (kept...ends.count).contains(found.callCount) else {
      throw Violation(.called, "\(found.callCount) calls are stored, not \(kept)")
    }
    model.forgiveCalls()
    try lookAtShownCalls()
    try lookAtShownRoles()
  }

  /// Checks the rooms on disk after a start, and continues with them.
  func adoptRooms(_ found: Disk.Rooms, _ unanswered: [Unanswered], end: Timestamp) throws {
    for room in World.rooms {
      var known = model.rooms[room] ?? RoomModel()
      var present = found.rooms[room] ?? RoomModel()
      present.hasMessages = model.log(of: room).newest > 0
      known.calls = known.calls.filter { seq, call in
        present.calls[seq] != nil || call.ended.map { clock.now < $0 + Self.retention } ?? true
      }
      var events = roomEvents.removeValue(forKey: room) ?? []
      for other in unanswered {
        // A message without a reply is stored or not.
        guard case .send(room, _, let options) = other.sentRequest.request, options.isCall,
          let (seq, message) = model.log(of: room).message(with: other.sentRequest.body)
        else { continue }
        events.append(.begin(seq: seq, CallModel(of: message, options)))
      }
      let isDue = known.isDue(at: clock.now) || events.contains { if case .begin = $0 { true } else { false } }
      let perhaps =
        unanswered.compactMap { roomEvent(of: $0.sentRequest, by: $0.user, in: room, .unknown) }
        + (isDue ? [.expire(at: end), .expire(at: clock.now)] : [])
      try compare(present, in: room, with: model.members(of: room))
      try explain(present, in: room, after: known, events, perhaps, at: end)
      model.rooms[room] = present
    }
    model.forgiveCalls()
  }

  private func compare(_ present: RoomModel, in room: RoomID, with members: Set<UserID>) throws {
    guard Set(present.members.keys) == members else {
      throw Violation(.kept, "\(room) has the members \(present.members.keys), not \(members)")
    }
    guard !present.isOwned || members.isEmpty || present.members.values.contains(where: { $0.role == .owner }) else {
      throw Violation(.governed, "\(room) has no owner")
    }
  }

  private func explain(
    _ present: RoomModel, in room: RoomID, after known: RoomModel, _ events: [RoomEvent], _ perhaps: [RoomEvent],
    at now: Timestamp
  ) throws {
    let outcomes = known.outcomes(of: events, perhaps: perhaps, at: now)
    let governed = outcomes.filter { $0.isGoverned(like: present, at: clock.now) }
    let what = "\(room) is \(present) after \(known), \(events), and perhaps \(perhaps), not \(outcomes)"
    guard !governed.isEmpty else { throw Violation(.governed, what) }
    guard governed.contains(where: { $0.calls == present.calls }) else { throw Violation(.called, what) }
    for (seq, call) in present.calls where call.state != known.calls[seq]?.state { audit.tally.count(call.state) }
  }

  // MARK: Requests

  /// Records an event of the present step.
  func note(_ event: RoomEvent, in room: RoomID) { roomEvents[room, default: []].append(event) }

  /// Records a reply, as far as it says something about the members or the calls of a room.
  func noteReply(_ fields: Fields, _ code: String?, to sentRequest: SentRequest, of client: Client) throws {
    guard let room = sentRequest.request.room else { return }
    var reply = code.map(RoomReply.refused) ?? .done
    if case .call = sentRequest.request, code == nil {
      reply = try call(in: fields, Place(room: room, seq: sentRequest.seq))
    }
    // A refused deletion changes nothing. A repeated join changes nothing, either.
    if case .delete = sentRequest.request, code != nil { return }
    if case .join = sentRequest.request, code == nil, model.isMember(client.slot.user, of: room) {
      return
    }
    if let event = roomEvent(of: sentRequest, by: client.slot.user, in: room, reply) {
      note(event, in: room)
    }
  }

  private func call(in fields: Fields, _ expected: Place) throws -> RoomReply {
    let place = try place(fields)
    guard place == expected else {
      throw Violation(.called, "a reply has the call \(place), not \(expected)")
    }
    let parts = try entries(fields, "users").map { entry in
      (
        try entry.required("user", entry.name("user", UserID.self)),
        try entry.required("state", entry.choice("state", Call.Party.State.self))
      )
    }
    return .call(
      try fields.required("state", fields.choice("state", Call.State.self)),
      Dictionary(uniqueKeysWithValues: parts))
  }

  /// The event of a request in a room, except of a new message.
  private func roomEvent(
    of sentRequest: SentRequest, by user: UserID, in room: RoomID, _ reply: RoomReply
  ) -> RoomEvent? {
    switch sentRequest.request {
    case .create(room): .create(by: user, reply)
    case .join(room, _, _): .join(user, reply)
    case .leave(room, false): .leave(user)
    case .govern(room, let request):
      // The other user makes no requests in the same step, so the blocks do not change.
      .govern(
        request, by: user, isBlocked: model.people[request.user]?.blocked.contains(user) ?? false,
        reply)
    case .call(room, let action, _): .call(action, seq: sentRequest.seq, by: user, reply)
    case .delete(room, _): .delete(seq: sentRequest.seq, by: user)
    default: nil
    }
  }

  /// Applies a change of the membership of another user.
  func governed(_ room: RoomID, _ request: Governance, by user: UserID, _ fields: Fields) throws {
    let membership = Membership(room: room, user: request.user)
    switch request {
    case .add:
      guard model.members[membership] == nil else { return }
      let isInvited = try fields.bool("invited") ?? false
      guard isInvited == (model.people[request.user]?.blocked.contains(user) ?? false) else {
        throw Violation(.discreet, "the reply to an add of \(membership) by \(user) has invited: \(isInvited)")
      }
      guard !isInvited else { return }
      let read = try fields.required("read", fields.integer("read", 0...maxInteger))
      guard read >= before.log(of: room).newest, read <= model.log(of: room).newest + Int64(sends)
      else {
        throw Violation(
          .kept, "\(membership) is new, but has read \(read) of \(model.log(of: room).newest)")
      }
      model.members[membership] = Model.Member(read: read, now: clock.now)
      model.attendance.begin(membership, now: clock.now)
      audit.tally.count(.added)
    case .remove, .ban:
      guard model.members[membership] != nil else { return }
      for slot in World.slots where slot.user == request.user {
        model.attendance.leave(slot, room, isClean: true, now: clock.now)
      }
      model.leave(membership)
      audit.tally.count(.removed)
    case .role: break  // the events of the step explain the roles
    }
  }

  // MARK: Events

  /// Takes the event `room`: others have changed a membership of the user.
  func receiveRoom(_ fields: Fields, _ client: Client) throws {
    let room: RoomID = try fields.required("room", fields.name("room"))
    let event = try fields.string("event", maxLength: 16) ?? ""
    let membership = Membership(room: room, user: client.slot.user)
    claims.append { [unowned self] in
      let (was, isNow) = (before.members[membership] != nil, model.members[membership] != nil)
      guard event == "added" && !was && isNow || event == "removed" && was && !isNow else {
        throw Violation(
          .governed,
          "\(client.slot) gets the event \(event) of \(room): member \(was), then \(isNow)")
      }
    }
  }

  func receiveRole(_ fields: Fields, _ client: Client) throws {
    let room: RoomID = try fields.required("room", fields.name("room"))
    let user: UserID = try fields.required("user", fields.name("user"))
    let role = try fields.required("role", fields.choice("role", RoomRole.Name.self)).role
    client.roles[Membership(room: room, user: user)] = role
  }

  /// Checks the newest role of each member that a client was shown in the present step.
  private func lookAtShownRoles() throws {
    for (slot, client) in clients where !client.roles.isEmpty {
      for (membership, role) in client.roles {
        let known = model.rooms[membership.room]?.members[membership.user]?.role
        guard known == nil || known == role else {
          throw Violation(
            .governed, "\(slot) is shown \(membership) as \(role.name), not \(known as Any)")
        }
      }
      client.roles = [:]
    }
  }

  /// Checks the role in an entry of a list of members.
  func seeRole(_ entry: Fields, in room: RoomID, _ client: Client) throws {
    let user: UserID = try entry.required("user", entry.name("user"))
    let role = try entry.choice("role", RoomRole.Name.self)?.role ?? .member
    claims.append { [unowned self] in
      let roles = [before, model].compactMap { $0.rooms[room]?.members[user]?.role }
      guard roles.isEmpty || roles.contains(role) else {
        throw Violation(
          .governed, "\(client.slot) is shown \(user) in \(room) as \(role.name), not \(roles)")
      }
    }
  }
}
