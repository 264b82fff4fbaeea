// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayHub
import RelayJSON
import RelayProtocol

@testable import RelayHTTP

/// The frames that clients receive.
extension Simulation {
  func take(_ json: [UInt8], for client: Client) throws {
    let fields = Fields(try parser.read(json).members)
    switch try fields.string("type", maxLength: 64) ?? "" {
    case "message": try receive(fields, client)
    case "member": try receiveMember(fields, client)
    case "bye": try part(fields, client)
    case "presence" where !fields.has("id"): try see(fields, client)
    case "edited", "deleted", "reactions", "pinned":
      if !isLate { try see(change: fields) }
      try receiveChange(fields, client)
    case "delivery": receiveDelivery(fields, client)
    case "receipt", "response": break
    case "call" where !fields.has("id"): try receiveCall(fields, client)
    case "room" where !fields.has("id"): try receiveRoom(fields, client)
    case "role" where !fields.has("id"): try receiveRole(fields, client)
    case let type where fields.has("id"): try take(reply: fields, type, json, client)
    default: throw Violation(.answered, "\(client.slot) receives \(String(decoding: json, as: UTF8.self))")
    }
  }

  /// Checks a change in an event, or in the `changes` of a reply.
  private func see(change fields: Fields) throws {
    let place = try place(fields)
    if try fields.string("type", maxLength: 64) == "deleted" {
      try model.log(of: place.room).seeDeleted(place)
    } else if let body = try body(of: fields) {
      try model.seeEdit(body, of: place)
    }
  }

  private func receive(_ fields: Fields, _ client: Client) throws {
    let claimed = try message(fields, in: fields.room)
    if !isLate { try model.see(claimed.message, at: claimed.place) }
    try pass(claimed.place, client)
  }

  /// Parses a message in an event or a reply.
  private func message(_ fields: Fields, in room: RoomID) throws -> (place: Place, message: RoomLog.Message) {
    let seq = try fields.required("seq", fields.integer("seq", 1...maxInteger))
    let time = try fields.required("time", fields.integer("time", 0...maxInteger))
    let from: UserID = try fields.required("from", fields.name("from"))
    let message = RoomLog.Message(from: from, time: Timestamp(rawValue: time), body: try body(of: fields) ?? 0)
    let place = Place(room: room, seq: seq)
    guard drafts[message.body]?.membership == Membership(room: room, user: from) else {
      throw Violation(.ordered, "\(place) is \(message), which no user sent")
    }
    try see(quoteIn: fields, answering: try fields.integer("replyTo", 1...maxInteger), in: room)
    return (place, message)
  }

  /// Checks the quote of a reply, which has the newest state of the answered message.
  /// - Parameter answered: The answered message. Is `nil` in the reply to a `send`.
  private func see(quoteIn fields: Fields, answering answered: Int64?, in room: RoomID) throws {
    guard !isLate, let quote = try fields.object("quote") else { return }
    let place = Place(room: room, seq: try quote.required("seq", quote.integer("seq", 1...maxInteger)))
    guard answered == nil || answered == place.seq else {
      throw Violation(.ordered, "an answer to \(answered ?? 0) quotes \(place)")
    }
    let from: UserID = try quote.required("from", quote.name("from"))
    let body = try quote.string("preview", maxLength: 20).flatMap { Int($0) }
    guard try quote.bool("deleted") == true ? body == nil : body != nil else {
      throw Violation(.ordered, "\(place) is quoted as \(quote.members)")
    }
    try model.log(of: room).seeQuote(of: place, from: from, body: body)
  }

  /// The body of a message. At the top level of a frame, the parser keeps it as raw bytes.
  func body(of fields: Fields) throws -> Int? {
    let text =
      try fields.raw("body").map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
      ?? fields.string("body", maxLength: 20)
    return text.flatMap { Int($0) }
  }

  func place(_ fields: Fields) throws -> Place {
    Place(room: try fields.room, seq: try fields.required("seq", fields.integer("seq", 1...maxInteger)))
  }

  /// Checks that a connection receives the next message of a room, including the client's own.
  private func pass(_ place: Place, _ client: Client) throws {
    guard let received = client.received[place.room] else {
      throw Violation(.ordered, "\(client.slot) receives \(place) without a join")
    }
    guard place.seq == received + 1 else {
      throw Violation(.ordered, "\(client.slot) receives \(place) after \(received)")
    }
    move(client, to: place)
  }

  private func move(_ client: Client, to place: Place) {
    client.received[place.room] = place.seq
    positions[client.slot, default: [:]][place.room] = Position(
      epoch: model.log(of: place.room).epoch ?? "", seq: place.seq)
  }

  private func receiveMember(_ fields: Fields, _ client: Client) throws {
    // The user's own event: another connection of the user has left the room for all connections, or a moderator has
    // removed the user.
    guard try ["left", "removed"].contains(fields.string("event", maxLength: 16)),
      try fields.name("user") == client.slot.user
    else {
      return
    }
    client.received[try fields.room] = nil
    client.changes[try fields.room] = nil
  }

  private func part(_ fields: Fields, _ client: Client) throws {
    let code = try fields.integer("code", 0...65_535) ?? 0
    guard code == 4000 || code == 4004 && (client.isFrozen || client.isSlow) else {
      throw Violation(.answered, "\(client.slot) gets a bye with \(code)")
    }
    if code == 4004 { audit.tally.count(.closedGhost) }
    model.attendance.close(client.slot, isClean: false, now: clock.now)
    client.isEnding = true
  }

  // MARK: Replies

  private func take(reply fields: Fields, _ type: String, _ json: [UInt8], _ client: Client) throws {
    let id = Int(try fields.required("id", fields.integer("id", 0...maxInteger)))
    guard let pending = client.pendingRequests.removeValue(forKey: id) else {
      throw Violation(.answered, "\(client.slot) has a second reply to \(id)")
    }
    let code = type == "error" ? try fields.string("code", maxLength: 100) : nil
    switch pending {
    case .hello(let acks, let activity) where code == nil:
      model.attendance.open(client.slot, acks: acks, activity: activity)
    case .request(let sentRequest) where code == "superseded" && client.isJoining(sentRequest.request.room):
      audit.tally.count(.superseded)
    case .request(let sentRequest):
      let expected = refusal(of: sentRequest, client.slot.user)
      guard expected.contains(code) else {
        throw Violation(.answered, "\(client.slot) gets \(code ?? "ok") for \(sentRequest.request), not \(expected)")
      }
      try noteReply(fields, code, to: sentRequest, of: client)
      try noteChange(fields, code, by: sentRequest, of: client)
      if let code { audit.tally.count(refused: code) } else { try take(fields, to: sentRequest, json, client) }
    default: throw Violation(.answered, "\(client.slot) gets an error for \(pending): \(code ?? "")")
    }
  }

  private func take(_ fields: Fields, to sentRequest: SentRequest, _ json: [UInt8], _ client: Client) throws {
    let (slot, user, now) = (client.slot, client.slot.user, clock.now)
    switch sentRequest.request {
    case .join(let room, _, let history):
      try joined(room, fields, sentRequest, history: history, client)
    case .leave(let room, let stays):
      client.received[room] = nil
      client.changes[room] = nil
      let leaving = stays ? [slot] : World.slots.filter { $0.user == user }
      for slot in leaving { model.attendance.leave(slot, room, isClean: true, now: now) }
      if !stays { model.leave(Membership(room: room, user: user)) }
    case .create(let room):
      let membership = Membership(room: room, user: user)
      model.members[membership] = Model.Member(read: 0, now: now)
      model.attendance.create(membership)
    case .govern(let room, let request): try governed(room, request, by: client.slot.user, fields)
    case .send(let room, let key, _): try sent(room, key, fields, body: sentRequest.body, client)
    case .received(let room, _): model.received(slot, room, upTo: sentRequest.seq, now: now)
    case .read(let room, _): model.read(Membership(room: room, user: user), upTo: sentRequest.seq, now: now)
    case .activity(let activity): model.setActivity(activity, of: slot, now: now)
    case .history(let room, _, let limit): try paged(room, fields, upTo: sentRequest.seq, limit: limit, client)
    case .edit(let room, _): model.logs[room]?.edit(sentRequest.seq, sentRequest.body)
    case .delete(let room, _): model.logs[room]?.delete(sentRequest.seq)
    case .call: break  // the events of the step explain the calls
    case .react, .unreact, .pin: break  // the order of the requests of the step explains the changes
    case .notify(let room, _, let users):
      try notified(fields, Place(room: room, seq: sentRequest.seq), users, by: user)
    case .register(let device, let registration):
      model.register(Target(user: user, device: device), registration, now: clock.now)
      audit.refused.remove(World.tokens[registration.token])
    case .forget(let device): model.forget(Target(user: user, device: device))
    case .focus(let device, let isFocused, let authorization, let stamp):
      try reported(
        fields, device, authorization == .authorized ? isFocused : nil, sentRequest.time(of: stamp),
        sentRequest.number(of: stamp), user)
      client.shown.updateValue(try fields.bool("isFocused"), forKey: user)
    case .filter(let device, let allow, let stamp):
      try filtered(fields, device, allow, sentRequest.time(of: stamp), sentRequest.number(of: stamp), user)
    case .prefer(let preference):
      model.people[user, default: PersonModel()].prefer(preference, now: now)
      let claimed = try JSONDecoder().decode(Preferences.self, from: Data(json))
      guard claimed == model.people[user]?.preferences else {
        throw Violation(.kept, "\(user) gets \(claimed) after \(preference)")
      }
    case .block(let other): model.people[user, default: PersonModel()].blocked.insert(other)
    case .unblock(let other): model.people[user, default: PersonModel()].blocked.remove(other)
    case .respond(let device, _, _):
      if let notification = sentRequest.notification {
        audit.phones.finish(notification, of: Target(user: user, device: device))
      }
    case .watch:
      for entry in try entries(fields, "presence") { try see(entry, client) }
    }
  }

  private func joined(
    _ room: RoomID, _ fields: Fields, _ sentRequest: SentRequest, history: Int, _ client: Client
  ) throws {
    let after = sentRequest.after
    let epoch = try fields.string("epoch", maxLength: Position.maxEpochLength) ?? ""
    let seq = try fields.required("seq", fields.integer("seq", 0...maxInteger))
    let read = try fields.required("read", fields.integer("read", 0...maxInteger))
    try model.see(epoch: epoch, of: room)
    let membership = Membership(room: room, user: client.slot.user)
    let log = model.log(of: room)
    guard seq >= before.log(of: room).newest else {
      throw Violation(.ordered, "\(client.slot) joins \(room) at \(seq), but \(log.newest) was shown")
    }
    if let member = model.members[membership] {
      guard read == member.read.latest else {
        throw Violation(.kept, "\(membership) has read \(read), not \(member.read.latest)")
      }
    } else {
      guard read >= before.log(of: room).newest, read <= seq else {
        throw Violation(.kept, "\(membership) is new, but has read \(read) of \(seq)")
      }
      model.members[membership] = Model.Member(read: read, now: clock.now)
      model.attendance.begin(membership, now: clock.now)
      audit.tally.count(.newMember)
    }
    let messages = try messages(fields, in: room, of: client)
    let isChangeKnown = try sentRequest.afterChange ?? 0 <= fields.integer("change", 0...maxInteger) ?? 0
    let isKnown = after.map { $0.epoch == epoch && $0.seq <= seq && seq - $0.seq <= 300 && isChangeKnown } ?? false
    guard try fields.bool("recovered") == after.map({ _ in isKnown }) else {
      throw Violation(
        .ordered, "\(client.slot) recovers \(room) from \(String(describing: after)) to \(seq): \(!isKnown)")
    }
    if after != nil { audit.tally.count(isKnown ? .recovery : .noRecovery) }
    let count = isKnown ? seq - (after?.seq ?? 0) : try newest(history, of: seq, messages.count)
    try expect(messages, from: seq - count + 1, to: seq, in: room, of: client)
    for change in try entries(fields, "changes") { try see(change: change) }
    try recover(fields, sentRequest, in: room, isRecovered: isKnown, client)
    for entry in try entries(fields, "members") {
      try see(entry, client)
      try seeRole(entry, in: room, client)
    }
    let mark = model.members[Membership(room: room, user: client.slot.user)]?.mark.latest ?? 0
    model.attendance.join(client.slot, room, givenFrom: seq - count + 1, mark: mark, now: clock.now)
    move(client, to: Place(room: room, seq: seq))
  }

  /// The number of messages in a reply without recovery. It may vary by the messages that are sent in the same step.
  private func newest(_ history: Int, of seq: Int64, _ count: Int) throws -> Int64 {
    let requested = Int(min(Int64(history), seq))
    guard history > 0 ? abs(count - requested) <= sends : count == 0 else {
      throw Violation(.ordered, "the reply has \(count) messages, not \(requested)")
    }
    return Int64(count)
  }

  private func messages(_ fields: Fields, in room: RoomID, of client: Client) throws -> [Int64] {
    guard case .array(let items) = fields.members["messages"] else {
      throw Violation(.ordered, "a reply without messages")
    }
    return try items.map { item in
      let fields = try Fields(item)
      if try fields.bool("deleted") == true {
        let seq = try fields.required("seq", fields.integer("seq", 1...maxInteger))
        try model.log(of: room).seeDeleted(Place(room: room, seq: seq))
        return seq
      }
      let claimed = try message(fields, in: room)
      try model.see(claimed.message, at: claimed.place)
      try see(marks: fields, of: claimed.place, client)
      return claimed.place.seq
    }
  }

  private func expect(_ seqs: [Int64], from first: Int64, to last: Int64, in room: RoomID, of client: Client) throws {
    guard seqs == (first <= last ? Array(first...last) : []) else {
      throw Violation(.ordered, "\(client.slot) gets \(seqs) of \(room), not \(first) to \(last)")
    }
  }

  private func sent(
    _ room: RoomID, _ key: Int?, _ fields: Fields, body: Int, _ client: Client
  ) throws {
    let options = drafts[body]?.options ?? PushOptions()
    let seq = try fields.required("seq", fields.integer("seq", 1...maxInteger))
    let time = Timestamp(rawValue: try fields.required("time", fields.integer("time", 0...maxInteger)))
    let place = Place(room: room, seq: seq)
    try see(quoteIn: fields, answering: nil, in: room)
    let key = key.map { Model.Key(room: room, user: client.slot.user, key: $0) }
    let first = key.flatMap { model.keys[$0] }.flatMap { clock.now < $0.time + Model.keyLifetime ? $0 : nil }
    guard try fields.bool("duplicate") ?? false == (first != nil) else {
      throw Violation(
        .kept, "\(client.slot) sends \(place) with \(String(describing: key)), known as \(String(describing: first))")
    }
    if let first {
      guard seq == first.seq, time == first.time else {
        throw Violation(.kept, "\(client.slot) gets \(place) at \(time), not \(first)")
      }
      audit.tally.count(.duplicate)
      return
    }
    guard time == clock.now else { throw Violation(.ordered, "\(place) has the time \(time), not \(clock.now)") }
    audit.tally.count(.message)
    if let key { model.keys[key] = Model.First(seq: seq, time: time) }
    let silenced = try delivered(fields, place, options, to: client.slot.user)
    let message = RoomLog.Message(from: client.slot.user, time: time, body: body)
    try model.acknowledge(message, options, silenced: silenced, at: place, before: before, now: clock.now)
    if options.isCall { note(.begin(seq: seq, CallModel(of: message, options)), in: room) }
    try pass(place, client)
  }

  private func paged(_ room: RoomID, _ fields: Fields, upTo seq: Int64, limit: Int, _ client: Client) throws {
    let seqs = try messages(fields, in: room, of: client)
    try expect(seqs, from: max(1, seq - Int64(limit) + 1), to: seq, in: room, of: client)
  }
}

extension Fields {
  fileprivate var room: RoomID { get throws(RequestError) { try required("room", name("room")) } }
}
