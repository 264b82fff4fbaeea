// SPDX-License-Identifier: Apache-2.0

// Commands about calls: ring, answer, decline, hang up, read, list. `Calls` performs them.

import RelayFollowers
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Rings for all members of a room, or answers the call that rings there.
struct Ring: Command {
  package static let declaration = Declaration(
    frame: "ring", "POST", "/v1/rooms/{room}/calls", room: .member([.send, .urgent], "a new call"), rate: .send,
    fields: [
      medium, body, pushOptions, MessageDraft.keyField, MessageDraft.mentionsField, MessageDraft.replyToField,
      MessageDraft.reportField, from, ownDevice,
    ], body: .optional, errors: [.conflict, .restricted, .tooLarge, .unsupported])

  private static let medium = Field<Call.Media?>.choice(
    "media", schema: "schemas.json#/CallMedia",
    "The default is `audio`. With `video`, the payload has the custom key `video`: true.")
  private static let body = Field<[UInt8]?>.raw(
    "body", "The body of the call's message. Any JSON. The default is an object with the member `call`: the medium.")
  private static let pushOptions = FieldDeclaration(
    "push", .shared("PushRequest", .text),
    """
    The options of the push. Its kind is always `call`. `expires` is the time of the ringing: 1 to 600 s, the default \
    is 45.
    """)
  private static let from = RequestField.actor("from", "The caller, for API keys, like `from` of a message.")
  private static let ownDevice = Field<DeviceID?>.name(
    "device", "The device of the caller, if the request answers another call."
  ).onlyHTTP

  private let request: Request
  private let media: Call.Media
  private let caller: UserID
  private let device: DeviceID?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    media = try Self.medium.value(in: request) ?? .audio
    caller = try Self.from.value(in: request)
    device = try request.device(Self.ownDevice)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      guard relay.memory.policy(of: access.room, on: core).isStored else {
        throw RequestError(
          .unsupported, "a room that keeps nothing has no calls", at: request.fields.pointer(to: "room"), status: 422)
      }
      try relay.rooms.checkMaySend(access, request, on: core)
      try check(core.hub.memberCount(of: access.handle))
      var draft = MessageDraft(
        room: access.room, from: User(id: caller), time: core.hub.now,
        body: try Self.body.value(in: request) ?? Array(#"{"call":"\#(media.rawValue)"}"#.utf8),
        key: try MessageDraft.keyField.value(in: request))
      try draft.read(
        request.fields, rights: access.rights, newest: core.hub.position(of: access.handle)?.seq ?? 0, isStored: true)
      try relay.messages.resolveMentions(of: &draft, in: access.handle, request.fields.pointer, on: core)
      let push = try push(draft.push ?? PushRequest())
      try relay.messages.check(push, from: caller, to: access.room, on: core)
      draft.push = push
      draft.call = CallDraft(media: media, isExclusive: true)
      try core.spend(sendTo: access.handle, by: request.caller, pushes: true)
      try relay.messages.admit(&draft, in: access.handle, on: core)
      let sender = request.callSender(caller, on: device, on: core)
      let rung = try await relay.calls.ring(draft, in: access, by: sender, on: core)
      let isNew = rung.sent?.stored.isDuplicate == false
      return Reply(status: isNew ? 201 : 200) {
        Replies.call(rung.call)(&$0)
        if !isNew { $0.bool("duplicate", true) }
        if let delivery = rung.sent?.delivery { $0.object("delivery") { $0.members(of: delivery) } }
      }
    }
  }

  private func check(_ members: Int) throws(RequestError) {
    let room = request.fields.pointer(to: "room")
    guard members <= Call.maxMembers else {
      throw RequestError(.tooLarge, "a call needs a room with at most \(Call.maxMembers) members", at: room)
    }
    guard members > 1 else { throw RequestError(.conflict, "the room has no other member", at: room) }
  }

  /// The push of the call, from the field `push`.
  private func push(_ requested: PushRequest) throws(RequestError) -> PushRequest {
    let fields = request.fields
    if case .bool? = fields.members["push"] { throw fields.wrong("push", "must be an object: a call always rings") }
    guard !requested.isSilent, requested.style.isCommunication != false else {
      throw fields.wrong("push", "must not be silent or without communication: a call rings")
    }
    let seconds = Double((requested.lifetime ?? .seconds(1)) / .seconds(1))
    guard Call.ringing.contains(seconds) else {
      throw fields.wrong("push", "must expire after at most \(Int(Call.ringing.upperBound)) seconds")
    }
    var push = requested
    push.kind = .call
    if media == .video { push.style.data = requested.style.dataWithVideo }
    return push
  }
}

/// Answers a call. Its ringing ends on the other devices of the user.
struct AnswerCall: CallAction {
  package static let declaration = Declaration.callAction("answer", reportKey: .join)
  static let action = Call.Action.answer
  let change: CallRequest
}

/// Declines a call. Its ringing ends on all devices of the user.
struct DeclineCall: CallAction {
  package static let declaration = Declaration.callAction("decline")
  static let action = Call.Action.decline
  let change: CallRequest
}

/// Leaves a call, or cancels the user's own call before anybody answers.
struct HangUpCall: CallAction {
  package static let declaration = Declaration.callAction("hangup")
  static let action = Call.Action.hangUp
  let change: CallRequest
}

/// Reads a call. A phone that the call has woken reads with its report key whether the call still rings.
struct GetCall: Command {
  package static let declaration = Declaration(
    frame: "call", "GET", "/v1/rooms/{room}/calls/{seq}", by: .reporters, room: .member(.history, "a call"),
    errors: [.notFound])

  private let request: Request
  private let message: MessageReference

  init(_ request: Request) throws(RequestError) {
    self.request = request
    message = MessageReference(room: try request.room, seq: try request.seq)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { _ in
      Reply(Replies.call(try await relay.calls.call(message, on: core)))
    }
  }
}

/// Lists the calls of a room, newest first.
struct ListCalls: Command {
  private static let before = Field<Int64?>.seq("before", "Only calls before this seq.")
  // A call has up to `Call.maxMembers` users.
  private static let limit = Field<Int>.whole("limit", 1...20, default: 20, "Maximum number of calls.")

  package static let declaration = Declaration(
    frame: "calls", "GET", "/v1/rooms/{room}/calls", room: .member(.history, "calls"),
    fields: [Self.before, Self.limit])

  private let request: Request
  private let before: Int64
  private let limit: Int

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    before = try Self.before.value(in: request) ?? maxInteger
    limit = try Self.limit.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      // The reader's thread writes the text.
      let page = try await core.store.read { [before, limit] reader in
        let page = try reader.calls.page(of: access.room, before: before, limit: limit)
        return (JSONWriter.array(page.calls.map { JSONWriter.object(Replies.call($0)) }), page.more)
      }
      return Reply {
        $0["room"] = access.room.rawValue
        $0.raw("calls", page.0)
        $0.bool("more", page.1)
      }
    }
  }
}

/// A command that changes a call for a member of its room.
protocol CallAction: Command {
  static var action: Call.Action { get }
  var change: CallRequest { get }
  init(change: CallRequest)
}

extension CallAction {
  package init(_ request: Request) throws(RequestError) { self.init(change: try CallRequest(request, Self.action)) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: change.request, relay, on: core) { try await change.perform($0, relay, on: core) }
  }
}

extension Declaration {
  /// - Parameter reportKey: The rights that a report key needs. It stays valid when the user's token has expired or
  ///   gives fewer rights: the newest token decides about an answer, and the ringing of a phone can always end.
  fileprivate static func callAction(_ name: String, reportKey: Rights = []) -> Declaration {
    Declaration(
      frame: name, "POST", "/v1/rooms/{room}/calls/{seq}/\(name)", by: .reporters,
      room: .member(.join, reportKey: reportKey, "a call"), rate: .send,
      fields: [CallRequest.user, name == "hangup" ? CallRequest.device : CallRequest.device.onlyHTTP], body: .optional,
      errors: [.conflict, .notFound, .restricted, .tooLarge])
  }
}

/// A request to change a call.
struct CallRequest: Sendable {
  fileprivate static let user = RequestField.actor("user", "The user, for API keys.")
  fileprivate static let device = Field<DeviceID?>.name(
    "device",
    """
    The device that the request acts for. Its push is not replaced, and after its answer it hangs up for the user. A \
    `hangup` may name another device of the user, which has answered. With a report key it is the device of the key.
    """
  ).inFrames(
    "The device of the user that has answered, if the session hangs up for it. Has no effect before an answer.")

  let request: Request
  private let action: Call.Action
  private let message: MessageReference
  private let user: UserID
  private let device: DeviceID?
  /// The device for which a session hangs up, instead of its own.
  private let named: DeviceID?

  init(_ request: Request, _ action: Call.Action) throws(RequestError) {
    self.request = request
    self.action = action
    message = MessageReference(room: try request.room, seq: try request.seq)
    user = try Self.user.value(in: request)
    device = try request.device(Self.device)
    named = try action == .hangUp ? request.named(Self.device) : nil
  }

  func perform(_ access: RoomAccess, _ relay: Relay, on core: isolated Core) async throws -> Reply {
    guard let handle = core.hub.user(user), core.hub.isMember(handle, of: access.handle) else {
      throw RequestError(
        .notJoined, "the user is not a member of the room", at: request.fields.pointer(to: "user"))
    }
    if action == .answer { try relay.rooms.checkIsNotRestricted(access, request, on: core) }
    // The event reaches as many sessions as a message.
    try core.spend(sendTo: access.handle, by: request.caller, pushes: false)
    let sender = request.callSender(user, on: device, named: named, on: core)
    return Reply(Replies.call(try await relay.calls.perform(action, message, by: sender, on: core)))
  }
}

extension Request {
  /// The device of the caller: that of the session or of the report key, or the one in the field.
  fileprivate func device(_ field: Field<DeviceID?>) throws(RequestError) -> DeviceID? {
    guard caller.session == nil, let named = try named(field) else { return caller.device }
    return named
  }

  /// The device in the field. Throws `forbidden` if a report key names another device than its own.
  fileprivate func named(_ field: Field<DeviceID?>) throws(RequestError) -> DeviceID? {
    guard let named = try field.value(in: self) else { return nil }
    try caller.check(named)
    return named
  }

  /// The sender of the request, which acts for a user on a device.
  /// - Parameter named: The device of the user for which a session hangs up.
  fileprivate func callSender(
    _ user: UserID, on device: DeviceID?, named: DeviceID? = nil, on core: isolated Core
  ) -> Calls.Sender {
    let kind: Call.Sender
    switch caller {
    case .session(let session):
      let open = Set(core.hub.sessions(of: session.user).map(core.hub.device(of:)))
      kind = .session(open: open, named: named)
    case .backend: kind = device == nil ? .backend : .request
    case .user, .reporter: kind = .request
    }
    return Calls.Sender(user: user, device: device, kind: kind)
  }
}

extension PushStyle {
  /// The custom keys, with `video`: true unless the sender sets it. Apps show such a call as a video call.
  fileprivate var dataWithVideo: [UInt8] {
    guard case .object(var members)? = JSON(reading: data.isEmpty ? Array("{}".utf8) : data) else { return data }
    if members["video"] == nil { members["video"] = .bool(true) }
    return JSONWriter.object { $0.members(members) }
  }
}
