// SPDX-License-Identifier: Apache-2.0

// Commands about the reactions to a message. `Messages+Annotations.swift` performs them.

import RelayFollowers
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Adds a reaction of a user to a message.
struct React: Command {
  package static let declaration = Declaration(
    frame: "react", "PUT", "/v1/rooms/{room}/messages/{seq}/reactions/{key}", room: ReactionChange.change,
    also: [ReactionChange.result], rate: .send, fields: [user], body: .optional,
    errors: [.restricted, .tooLarge, .notFound, .unsupported])

  private static let user = RequestField.actor("from", "The user. Only for API keys.")

  private let change: ReactionChange

  init(_ request: Request) throws(RequestError) { change = try ReactionChange(request, by: Self.user) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: change.request, relay, on: core) { access in
      try relay.rooms.checkMaySend(access, change.request, on: core)
      return try await change.perform(in: access, adds: true, relay, on: core)
    }
  }
}

/// Removes a reaction of a user.
struct Unreact: Command {
  package static let declaration = Declaration(
    frame: "unreact", "DELETE", "/v1/rooms/{room}/messages/{seq}/reactions/{key}", room: ReactionChange.change,
    also: [ReactionChange.result], rate: .send, fields: [user], errors: [.notFound, .unsupported])

  private static let user = RequestField.actor(
    "from", "The user. Only for API keys, which can also send the header `X-Stillwire-User`.")

  private let change: ReactionChange

  init(_ request: Request) throws(RequestError) { change = try ReactionChange(request, by: Self.user) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: change.request, relay, on: core) { access in
      try await change.perform(in: access, adds: false, relay, on: core)
    }
  }
}

/// A reaction to add or to remove.
private struct ReactionChange {
  static let change = RoomUse.joined(.send, "a reaction of the own user")
  static let result = RoomUse.joined(
    StoredText.reactions.rights.union(.send), "all reactions to the message", isRead: true)

  let request: Request
  let seq: Int64
  let key: String
  let user: UserID

  init(_ request: Request, by user: RequestField<UserID>) throws(RequestError) {
    self.request = request
    let fields = request.fields
    _ = try request.room
    seq = try request.seq
    key = try fields.required("key", fields.line("key", maxLength: Reactions.maxKeyLength))
    guard !key.isEmpty else { throw fields.wrong("key", "must not be empty") }
    self.user = try user.value(in: request)
  }

  func perform(in access: RoomAccess, adds: Bool, _ relay: Relay, on core: isolated Core) async throws -> Reply {
    try relay.rooms.checkKeeps(access, request, on: core)
    try core.spend(sendTo: access.handle, by: request.caller, pushes: false)
    let (seq, key, user, room) = (seq, key, user, access.room)
    let requester = request.caller.session
    let reactions = try await relay.messages.annotate(.reactions, of: seq, in: access, requester: requester, on: core) {
      transaction, kept, time in
      let messages = transaction.messages
      return adds
        ? try messages.react(room, seq, key, by: user, at: time, kept: kept)
        : try messages.unreact(room, seq, key, by: user, at: time, kept: kept)
    }
    // The others have reacted earlier.
    let isReadable = relay.access.mayRead(.reactions, of: seq, request.caller, access, on: core)
    return Reply {
      Replies.changed(seq, in: room, reactions.change)(&$0)
      if isReadable { $0.raw("reactions", reactions.value ?? Replies.emptyList) }
    }
  }
}
