// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// The messages of a room.
extension Relay {
  static let messageRoutes = [
    Route(
      "/v1/rooms/{room}/messages",
      .called("GET") { relay, call in try await relay.messages(call) },
      .called("POST", by: .anyone(.send)) { relay, call in try await relay.post(call) })
  ]

  /// The room for whoever may ask: with a token, a member with these rights.
  func withRoom<Answer>(_ call: HTTPCall, needs rights: Rights, _ work: (RoomID, RoomHandle) async throws -> Answer)
    async throws -> Answer
  {
    let room = try call.room
    pin(room)
    defer { unpin(room) }
    let handle: RoomHandle?
    if case .user(let user) = call.caller {
      handle = try await self.room(room, for: user.id)
      guard let handle, let member = hub.user(user.id), hub.isMember(member, of: handle) else {
        throw RequestError(.notJoined, "you are no member of the room", at: "/path/room")
      }
    } else {
      handle = try await policy(of: room).isStored ? load(room) : hub.room(room)
    }
    guard let handle else { throw StoreError.noRoom(room) }
    try check(rights, of: self.rights(of: call.caller, in: room), in: room, at: "/path/room")
    return try await work(room, handle)
  }

  private func messages(_ call: HTTPCall) async throws -> HTTPResponse {
    let arguments = try call.request.arguments(numbers: ["before", "after", "limit"])
    let query = try HistoryQuery(arguments, most: limits.history)
    return try await withRoom(call, needs: .history) { room, _ in
      .json(200, JSONWriter.object(try await historyMembers(room, query)))
    }
  }

  private func post(_ call: HTTPCall) async throws -> HTTPResponse {
    try await withRoom(call, needs: .send) { room, handle in
      let fields = try parser.parse(call.request.body)
      let posted = try PostedMessage(call, fields)
      let isStored = policy(of: room).isStored
      let rights = rights(of: call.caller, in: room)
      var draft = MessageDraft(
        room: room, from: User(id: posted.sender), time: hub.now, body: posted.body, key: posted.key)
      try draft.read(fields, rights: rights, newest: hub.position(of: handle)?.seq ?? 0, isStored: isStored)
      if let push = draft.push { try check(push, from: posted.sender, to: room) }
      if case .user(let user) = call.caller, let user = hub.user(user.id) {
        try spend(sendTo: handle, by: user, pushes: draft.traits.push.isAsked)
      }
      let sent =
        if isStored {
          try await withCheckedContinuation { continuation in
            append(draft, in: handle, showsPresence: rights.contains(.presence)) { continuation.resume(returning: $1) }
          }.get()
        } else {
          SentMessage(stored: try publish(draft, in: handle))
        }
      return .json(sent.stored.isDuplicate ? 200 : 201, Replies.sent(sent, in: room))
    }
  }
}

/// A message that is sent with one request.
private struct PostedMessage {
  let sender: UserID
  let body: [UInt8]
  let key: String?

  init(_ call: HTTPCall, _ fields: Fields) throws(RequestError) {
    body = try fields.required("body", fields.raw("body"))
    key = try call.key(fields)
    sender = try call.actor("from", fields)
  }
}
