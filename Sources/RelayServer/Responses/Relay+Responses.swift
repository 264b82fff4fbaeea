// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// What people do with notifications, on whichever of their devices, and however late.
extension Relay {
  func respond(_ request: HubRequest, _ user: UserHandle) async throws {
    let response = try ResponseRequest(request.fields)
    // As they are now: a session that ends meanwhile has none to ask.
    let permissions = permissions(of: request.session)
    _ = try await respond(response, by: user, at: "/notification", isBounded: true) { rights(permissions, in: $0) }
    finish(request)
  }

  /// Stores a response and tells the message's sender. Throws `not_found` where the user has no such notification,
  /// `not_joined` where they have left its room, and `conflict` where they have responded otherwise.
  /// - Parameters:
  ///   - place: Where the request names the notification.
  ///   - isBounded: What it posts counts against the rates of messages.
  ///   - rights: What the user may do in a room.
  func respond(
    _ request: ResponseRequest, by user: UserHandle, at place: String, isBounded: Bool, rights: (RoomID) -> Rights
  ) async throws -> Responded {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let id = request.notification
    guard let found = try await store.read({ try $0.responses.notification(id, of: name) }) else {
      throw RequestError(.notFound, "there is no such notification, or not any more", at: place)
    }
    guard found.isMember else {
      throw RequestError(.notJoined, "you are no longer a member of the notification's room", at: place)
    }
    let category = found.category.flatMap { categories.registry[$0] }
    let posts = try request.posts(by: category)
    let draft = ResponseDraft(
      notification: id, user: name, action: request.action, text: request.text, key: request.key)
    let responded: Responded
    if posts {
      guard !found.message.room.isNotifications else {
        throw RequestError(.badRequest, "this action posts its text, and the notification has no room", at: "/action")
      }
      try check(.send, of: rights(found.message.room), in: found.message.room, at: place)
      responded = try await post(draft, of: user, answering: found.message, at: place, isBounded: isBounded)
    } else {
      responded = try await store.write { try $0.responses.respond(draft) }
    }
    if responded.isToTell { tell(responded.response) }
    return responded
  }

  /// The text becomes a message of the user's, in the transaction of the response.
  private func post(
    _ draft: ResponseDraft, of user: UserHandle, answering message: MessageReference, at place: String, isBounded: Bool
  ) async throws -> Responded {
    let room = message.room
    pin(room)
    defer { unpin(room) }
    guard policy(of: room).isStored, let handle = try await load(room), hub.isMember(user, of: handle) else {
      throw RequestError(.notJoined, "you are no longer a member of the notification's room", at: place)
    }
    if isBounded {
      try spend(.send, of: user)
      try spend(sendTo: handle, by: user, pushes: true)
    }
    let reply = MessageDraft(
      room: room, from: User(id: draft.user), time: hub.now, body: JSONWriter.object { $0["text"] = draft.text },
      replyTo: message.seq, response: draft)
    let sent = try await withCheckedContinuation { continuation in
      append(reply, in: handle) { continuation.resume(returning: $1) }
    }.get()
    guard let responded = sent.stored.response else { preconditionFailure("a response was stored without a trace") }
    return responded
  }
}
