// SPDX-License-Identifier: Apache-2.0

// Commands about messages of a room: read, send, edit, delete, Notify Anyway. `Messages` performs
// them.

import RelayFollowers
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Reads a page of the history of a room.
struct ReadHistory: Command {
  package static let operation = "listMessages"
  package static let declaration = Declaration(
    frame: "history", "GET", "/v1/rooms/{room}/messages", room: .joined(StoredText.history.rights, "stored messages"),
    fields: RoomHistory.Query.fields)

  private let request: Request
  private let query: RoomHistory.Query

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    query = try RoomHistory.Query(request.fields, max: request.limits.history)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      Reply(try await RoomHistory(access.room, in: relay.rooms).page(query, on: core)).sent(as: .history)
    }
  }
}

/// Sends a message over HTTP. A session sends the frame `send` instead, which the hub checks.
struct PostMessage: Command {
  package static let operation = "sendMessage"
  package static let declaration = Declaration(
    "POST", "/v1/rooms/{room}/messages", room: uses[0], also: Array(uses.dropFirst()), rate: .send,
    fields: [
      MessageDraft.bodyField, sender, MessageDraft.keyField, MessageDraft.mentionsField, MessageDraft.replyToField,
      push, MessageDraft.reportField,
    ], errors: [.restricted, .tooLarge, .unsupported])

  private static let sender = RequestField.actor(
    "from", "The sender. An API key needs it, unless `X-Stillwire-User` names the user. A token must not have it.")
  private static let push = FieldDeclaration(
    "push", PushRequest.optionsType,
    """
    The options of the pushes. false: the relay stores the message, and the message is neither pushed nor unread. In \
    rooms that store no messages: `unsupported`.
    """)

  /// The uses of a room by a message, also by that of a session.
  static let uses: [RoomUse] = [
    .joined(.send, "a new message"),
    .joined([.send, .push], "the texts, the sound and the badge of its pushes"),
    .joined([.send, .urgent], "a level above `active`, and a push of the kind `call`"),
    .joined([.send, .mentionAll], "a mention of all members"),
    .joined(StoredText.sentQuote.rights.union(.send), "the quote of the answered message", isRead: true),
  ]

  private let request: Request

  init(_ request: Request) throws(RequestError) {
    self.request = request
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkMaySend(access, request, on: core)
      let fields = request.fields
      let sender = try Self.sender.value(in: request)
      var draft = MessageDraft(
        room: access.room, from: User(id: sender), time: core.hub.now,
        body: try MessageDraft.bodyField.value(in: request), key: try MessageDraft.keyField.value(in: request))
      try draft.read(
        fields, rights: access.rights, newest: core.hub.position(of: access.handle)?.seq ?? 0,
        isStored: relay.memory.policy(of: access.room, on: core).isStored)
      try relay.messages.resolveMentions(of: &draft, in: access.handle, fields.pointer, on: core)
      if let push = draft.push { try relay.messages.check(push, from: sender, to: access.room, on: core) }
      try core.spend(sendTo: access.handle, by: request.caller, pushes: draft.traits.push.isAsked)
      try relay.messages.admit(&draft, in: access.handle, on: core)
      let sent = try await relay.messages.post(
        draft, in: access.handle, showsPresence: access.rights.contains(.presence), on: core)
      return Reply(status: sent.stored.isDuplicate ? 200 : 201, Replies.sent(sent, in: access.room))
    }
  }
}

/// Replaces the body of a message. Only its sender may do so.
struct EditMessage: Command {
  package static let declaration = Declaration(
    frame: "edit", "PUT", "/v1/rooms/{room}/messages/{seq}", room: .joined(.send, "a message of the own user"),
    rate: .send, fields: [MessageDraft.bodyField, sender], errors: [.restricted, .unsupported])

  private static let sender = RequestField.actor("from", "The user who edits, for API keys, like `from` of a message.")

  private let request: Request
  private let seq: Int64

  init(_ request: Request) throws(RequestError) {
    self.request = request
    seq = try request.seq
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      try relay.rooms.checkMaySend(access, request, on: core)
      let body = try MessageDraft.bodyField.value(in: request)
      let sender = try Self.sender.value(in: request)
      // If phones show the text, the edit causes pushes and costs as much as a message with pushes.
      let hasPreview = relay.memory.policy(of: access.room, on: core).hasPreview
      try core.spend(sendTo: access.handle, by: request.caller, pushes: hasPreview)
      let change = try await relay.messages.edit(
        seq, body: body, in: access.room, access.handle, by: sender, requester: request.caller.session, on: core)
      return Reply(Replies.changed(seq, in: access.room, change))
    }
  }
}

/// Deletes a message. A user deletes the own messages; a moderator and a backend delete any message.
struct DeleteMessage: Command {
  package static let declaration = Declaration(
    frame: "delete", "DELETE", "/v1/rooms/{room}/messages/{seq}", room: .joined(.join, "a message of the own user"),
    also: [.joined(.join, role: .moderator, "a message of another user")], rate: .send, errors: [.unsupported])

  private let request: Request
  private let seq: Int64

  init(_ request: Request) throws(RequestError) {
    self.request = request
    seq = try request.seq
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      try core.spend(sendTo: access.handle, by: request.caller, pushes: true)
      let sender = access.rights.contains(.moderate) ? nil : request.caller.owner
      var change: Int64?
      do {
        change = try await relay.messages.delete(
          seq, in: access.room, access.handle, by: sender, moderator: request.caller.by,
          requester: request.caller.session, on: core)
      } catch let error as RequestError where error.code == .notFound && request.caller.session == nil {
        // HTTP defines DELETE as idempotent.
      }
      guard request.caller.session != nil else { return .nothing }
      return Reply(Replies.changed(seq, in: access.room, change))
    }
  }
}

/// Notifies recipients who were silenced when the message was sent.
struct NotifyAnyway: Command {
  package static let declaration = Declaration(
    frame: "notify", "POST", "/v1/rooms/{room}/messages/{seq}/notify",
    room: .joined(.send, "pushes of a message of the own user"), fields: [recipients, author], body: .optional,
    errors: [.restricted])

  private static let recipients = Field<[UserID]?>.names(
    "users", max: 256,
    """
    Some of the users in `quiet`. Absent: all of them. The relay ignores names that were not in `quiet`, and users \
    whom an earlier request has notified.
    """)
  private static let author = RequestField.actor(
    "from", "The sender of the message, for API keys, like `from` of a message.")

  private let request: Request
  private let seq: Int64
  private let users: [UserID]?
  private let sender: UserID

  init(_ request: Request) throws(RequestError) {
    self.request = request
    seq = try request.seq
    users = try Self.recipients.value(in: request)
    sender = try Self.author.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkMaySend(access, request, on: core)
      let count = try await relay.deliveries.notifyAnyway(seq, in: access.room, by: sender, only: users, on: core)
      return Reply { $0.integer("push", count) }
    }
  }
}
