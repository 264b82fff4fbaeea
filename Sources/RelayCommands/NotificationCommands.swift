// SPDX-License-Identifier: Apache-2.0

// Commands about notifications: responses to them, pushes without a message, explanations of decisions, and the
// categories.

import RelayDelivery
import RelayFollowers
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Reports the action that a user took on a notification. The relay may post its text as a message of the user.
struct Respond: Command {
  package static let declaration = Declaration(
    frame: "respond", "POST", "/v1/notifications/{id}/responses", by: .reporters, room: use, also: [postingUse],
    fields: [responder, push] + ResponseRequest.fields, errors: [.notJoined, .notFound, .conflict, .restricted])

  /// A frame has its own `id`, and names the notification in `notification`.
  private static let push = Field<String?>.text("id", maxLength: nil).required().onlyHTTP
  private static let responder = RequestField.actor(
    "user",
    """
    The user whose notification it is. An API key needs it, unless `X-Stillwire-User` names the user. A token must not \
    have it.
    """)

  /// The room of the notification, if it has one. A phone has the notification, and may be offline or without a valid
  /// token when the user responds. Its report key therefore needs no right for a response that posts nothing.
  private static let use = RoomUse.found(.join, reportKey: [], "the response to a notification")
  private static let postingUse = RoomUse.found([.join, .send], "a new message: the text of the response")

  private let request: Request
  private let user: UserID
  private let response: ResponseRequest

  init(_ request: Request) throws(RequestError) {
    self.request = request
    let push = request.caller.session == nil ? try Self.push.value(in: request) : nil
    var response = try ResponseRequest(request.fields, notification: push)
    response.key = try ResponseRequest.keyField.value(in: request)
    self.response = response
    user = try Self.responder.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    // Read before the first `await`: a session that ends during the request loses its permissions.
    let permissions = request.caller.session.map { relay.access.permissions(of: $0, on: core) }
    return try await relay.people.withUser(user, on: core) { handle in
      if case .reporter(let reporter) = request.caller {
        try await relay.access.check(response.notification, isPushedTo: reporter, on: core)
      }
      let responded = try await respond(handle, permissions, relay, on: core)
      if responded.needsSending { relay.responses.send(responded.response, on: core) }
      guard request.caller.session == nil else { return .nothing }
      return Reply(status: responded.isDuplicate ? 200 : 201) {
        let response = responded.response
        $0["notification"] = response.notification
        response.message.write(to: &$0)
        $0["action"] = response.action.rawValue
        $0.integer("time", responded.time.rawValue)
        $0.integer("posted", response.posted)
        if responded.isDuplicate { $0.bool("duplicate", true) }
      }
    }
  }

  /// The JSON pointer of the notification in the request.
  private var pointer: String { request.caller.session == nil ? "/path/id" : "/notification" }

  /// Stores the response, and posts its text if the action requires it.
  ///
  /// Throws `not_found` if the user has no such notification, `not_joined` if the user has left its room, and
  /// `conflict` if the user has given a different response.
  private func respond(
    _ user: UserHandle, _ permissions: Permissions?, _ relay: Relay, on core: isolated Core
  ) async throws -> Responded {
    let id = response.notification
    let name = self.user
    guard let found = try await core.store.read({ try $0.responses.notification(id, of: name) }) else {
      throw RequestError(.notFound, "there is no such notification, or it is no longer kept", at: pointer)
    }
    try relay.backends.check(found.message.room, by: request.caller, at: pointer)
    guard found.isMember else { throw notMember }
    let category = found.category.flatMap { relay.responses.categories.registry[$0] }
    let posts = try response.posts(by: category)
    let room = found.message.room
    let rights =
      if let permissions {
        relay.access.rights(permissions, in: room, on: core)
      } else {
        relay.access.rights(of: request.caller, in: room, on: core)
      }
    if !room.isNotifications {
      let use = posts ? Self.postingUse : Self.use
      try use.check(rights, of: request.caller, in: room, at: pointer)
    }
    let draft = ResponseDraft(
      notification: id, user: name, action: response.action, text: response.text, key: response.key)
    guard posts else { return try await core.store.write { try $0.responses.respond(draft) } }
    guard !room.isNotifications else {
      throw RequestError(.badRequest, "this action posts its text, and the notification has no room", at: "/action")
    }
    return try await post(draft, of: user, with: rights, answering: found.message, relay, on: core)
  }

  private var notMember: RequestError {
    RequestError(.notJoined, "you are no longer a member of the notification's room", at: pointer)
  }

  /// Sends the text as a message of the user. One transaction stores the message and the response.
  private func post(
    _ draft: ResponseDraft, of user: UserHandle, with rights: Rights, answering message: MessageReference,
    _ relay: Relay, on core: isolated Core
  ) async throws -> Responded {
    let room = message.room
    relay.memory.retain(room)
    defer { relay.memory.release(room, on: core) }
    guard relay.memory.policy(of: room, on: core).isStored, let handle = try await relay.rooms.load(room, on: core),
      core.hub.isMember(user, of: handle)
    else { throw notMember }
    let role = core.hub.role(of: user, in: handle)
    let access = RoomAccess(
      room: room, handle: handle, rights: role > .member ? rights.union(.moderate) : rights)
    try relay.rooms.checkMaySend(access, request, on: core)
    if request.caller.owner != nil { try core.spend(.send, of: user) }
    try core.spend(sendTo: handle, by: request.caller, pushes: true)
    var reply = MessageDraft(
      room: room, from: User(id: draft.user), time: core.hub.now, body: JSONWriter.object { $0["text"] = draft.text },
      replyTo: message.seq, response: draft)
    reply.quoting = QuotedParts(rights)
    let sent = try await relay.messages.post(reply, in: handle, on: core)
    guard let responded = sent.stored.response else { preconditionFailure("the store returned no response") }
    return responded
  }
}

/// Sends a push that belongs to no message of a room.
struct NotifyUser: Command {
  package static let declaration = Declaration(
    "POST", "/v1/users/{user}/notifications", by: .backend, fields: [from, options, idempotencyKey],
    errors: [.tooLarge])

  private static let from = RequestField.actor(
    "from", "The sender. In open mode the default is the user that `X-Stillwire-User` names.")
  private static let options = FieldDeclaration(
    "push", .value(["anyOf": [["const": .scalar(.bool(true))], ["$ref": "schemas.json#/PushRequest"]]]),
    isRequired: true, "true is the same as an empty object.")
  private static let idempotencyKey = RequestField<String?>.key(
    "Makes a repeated request harmless, for 5 minutes, for each `from` and user.")

  private let user: UserID
  private let sender: UserID
  private let key: String?
  private let push: PushRequest

  init(_ request: Request) throws(RequestError) {
    let fields = request.fields
    user = try request.user
    sender = try Self.from.value(in: request)
    key = try Self.idempotencyKey.value(in: request)
    guard var push = try PushRequest(fields, rights: .standard), push.isAsked else {
      throw fields.wrong("push", "must be an object: a notification needs a push")
    }
    // Such an app sets the badge itself. The number of unread messages would overwrite it.
    if try fields.object("push")?.has("badge") != true { push.style.badge = .unchanged }
    self.push = push
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    var push = push
    if push.style.isCommunication == nil, push.style.title != nil, !push.isSilent, push.kind == .message {
      push.style.isCommunication = try await isPerson(sender, on: core) ? nil : false
    }
    let room = RoomID.notifications(of: user)
    try relay.messages.check(push, from: sender, to: room, on: core)
    return try await relay.people.withUser(user, on: core) { handle in
      let now = core.hub.now
      let decisions = relay.deliveries.decisions(
        about: MessageTraits(from: sender, push: push), in: room, for: user, handle, as: .absent, now: now, on: core)
      for decision in decisions { core.diagnostics.tally.count(decision.outcome) }
      let pushes = decisions.compactMap(\.push)
      let draft = MessageDraft(
        room: room, from: User(id: sender), time: now, body: Array("null".utf8), push: push,
        isCounted: false, key: key, jobs: pushes, cursorFollows: true, retention: RoomPolicy.notifications.history)
      let epoch = RoomMemory.newEpoch()
      let posted = try await core.store.write { try $0.messages.post(draft, epoch: epoch) }
      guard !posted.stored.isDuplicate else {
        // The decisions are in the explanations of the first notification's pushes.
        let devices = posted.pushes.keys.sorted().map { (device: DeviceID?.some($0), decision: Decision?.none) }
        return Self.reply(200, to: user, posted, devices)
      }
      core.publish(.pushed(heldUntil: decisions.compactMap(\.explanation.decision.holdEnd).min()))
      return Self.reply(201, to: user, posted, decisions.map { ($0.device?.id, $0.explanation.decision) })
    }
  }

  /// True if the name belongs to a person with an app: the user is or was connected, has a device, or is a member of a
  /// room.
  private func isPerson(_ user: UserID, on core: isolated Core) async throws -> Bool {
    if let handle = core.hub.user(user), !core.hub.sessions(of: handle).isEmpty { return true }
    return try await core.store.read { try $0.people.isPerson(user) }
  }

  private static func reply(
    _ status: Int, to user: UserID, _ posted: (stored: Appended, pushes: [DeviceID: String]),
    _ devices: [(device: DeviceID?, decision: Decision?)]
  ) -> Reply {
    Reply(status: status) {
      $0["user"] = user.rawValue
      $0.integer("time", posted.stored.time.rawValue)
      if posted.stored.isDuplicate { $0.bool("duplicate", true) }
      $0.array("devices") { list in
        for (device, decision) in devices {
          list.object {
            $0["device"] = device?.rawValue
            $0["push"] = device.flatMap { posted.pushes[$0] }
            $0.raw("decision", decision.map { StoredJSON.text(of: $0).utf8 })
          }
        }
      }
    }
  }
}

/// Explains the decision about a message that is not sent. Sends and stores nothing.
struct ExplainDecision: Command {
  package static let operation = "decide"
  package static let declaration = Declaration(
    "POST", "/v1/decisions", by: .backend, fields: Self.fields, isRead: true, errors: [.notFound, .unsupported])

  private static let from = Field<UserID?>.name("from", "The sender.").required()
  private static let recipient = Field<UserID?>.name("user", "The recipient.").required()
  private static let fields: [any DeclaredField] = [
    SharedFields.room, Self.from, Self.recipient,
    FieldDeclaration(
      "mentions", MessageDraft.mentionsField.type,
      "The mentioned users, `*` for all members, or `*online` for the members who are online."),
    MessageDraft.replyToField,
    FieldDeclaration(
      "push", PushRequest.optionsType,
      "The options of the pushes. false: no pushes. In rooms that store no messages: 422 `unsupported`."),
    Field<Bool?>.flag("report", "Has no effect here."),
    FieldDeclaration(
      "rights", .value(["type": "array", "items": ["enum": .array(Rights.named.map { .string($0.name) })]]),
      isNullable: false,
      """
      The sender's rights in the room, as a token would give them. The default is the first of these: the rights of \
      the sender's sessions, those of the room's pattern (`can`), all rights but `moderate` and `mentionAll`, and with \
      tokens also without `urgent`.
      """),
  ]

  private let fields: Fields
  private let room: RoomID
  private let sender: UserID
  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    fields = request.fields
    room = try request.room
    sender = try Self.from.value(in: request)
    user = try Self.recipient.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    relay.memory.retain(room)
    defer { relay.memory.release(room, on: core) }
    let roomHandle = try await relay.rooms.existing(room, on: core)
    var draft = MessageDraft(room: room, from: User(id: sender), time: core.hub.now, body: [])
    try draft.read(
      fields, rights: try fields.has("rights") ? fields.rights("rights") : rights(relay, on: core),
      newest: core.hub.position(of: roomHandle)?.seq ?? 0, isStored: relay.memory.policy(of: room, on: core).isStored)
    try draft.push?.check(in: relay.responses.categories.registry)
    if draft.mentions.online, core.hub.user(user).map({ !core.hub.sessions(of: $0).isEmpty }) == true {
      draft.mentions.present = [user]
    }
    if let answered = draft.replyTo {
      let author = try await core.store.read { [room] in try $0.messages.sender(of: answered, in: room) }
      if author != sender { draft.mentions.answered = author }
    }
    return try await relay.people.withUser(user, on: core) { [draft] handle in
      var traits = draft.traits
      let now = core.hub.now
      let presence = core.hub.member(handle, of: roomHandle)?.presence
      var membership = Membership(forNextMessage: presence, now: now)
      membership.isRoomTooLarge = core.hub.isCrowded(roomHandle)
      if !core.hub.pushes(roomHandle), !membership.isRoomTooLarge { traits.push.isAsked = false }
      membership.sessions += relay.inbox.sessions(of: handle, in: room, at: .max, shown: now, on: core)
      let decisions = relay.deliveries.decisions(
        about: traits, in: room, for: user, handle, as: membership, now: now, on: core)
      return Reply {
        $0["room"] = room.rawValue
        $0["from"] = sender.rawValue
        $0["user"] = user.rawValue
        $0.array("devices") { list in
          for decision in decisions {
            list.object {
              $0["device"] = decision.device?.id.rawValue
              $0.raw("decision", StoredJSON.text(of: decision.explanation.decision).utf8)
              $0.raw("facts", StoredJSON.text(of: decision.explanation.facts).utf8)
            }
          }
        }
      }
    }
  }

  /// The rights of the sender's sessions in the room, together. Without a session, those of a member whose token does
  /// not list rights.
  private func rights(_ relay: Relay, on core: isolated Core) -> Rights {
    let sessions = core.hub.user(sender).map { core.hub.sessions(of: $0) } ?? []
    guard !sessions.isEmpty else {
      return relay.access.rights(.standard, in: room, isMember: true, on: core)
    }
    return sessions.reduce(into: Rights()) { $0.formUnion(relay.access.rights(of: $1, in: room, on: core)) }
  }
}

// MARK: Categories

/// Reads the registry of categories. Apps read it at launch.
struct GetCategories: Command {
  package static let declaration = Declaration("GET", "/v1/categories", room: .noRoom)

  private let knownTags: EntityTags?

  init(_ request: Request) throws(RequestError) {
    knownTags = request.ifNoneMatch.map(EntityTags.init)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let categories = relay.responses.categories
    let isKnown = knownTags?.matchWeakly(categories.tag) ?? false
    return .document(categories.document, tag: categories.tag, isKnown: isKnown)
  }
}

/// Replaces the registry of categories.
struct SetCategories: Command {
  package static let declaration = Declaration(
    "PUT", "/v1/categories", by: .backend, fields: [replaced, CategoryRegistry.field], reach: .everything,
    errors: [.conflict, .preconditionFailed, .tooLarge])

  private static let replaced = Field<Int64?>.whole(
    "version", "The version that the request replaces. If the version of the relay differs: 409.")

  private let registry: CategoryRegistry
  private let version: Int64?
  private let tags: EntityTags?

  init(_ request: Request) throws(RequestError) {
    version = try Self.replaced.value(in: request)
    registry = try CategoryRegistry(version: 0, request.fields)
    tags = request.ifMatch.map(EntityTags.init)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let responses = relay.responses
    let known = responses.categories
    var replaced = version
    // The registry always exists, even if it is empty, so that `*` matches it.
    if let tags, !tags.isAny {
      guard tags.match(known.tag) else { throw mismatch }
      guard version ?? known.registry.version == known.registry.version else { throw outdated(known) }
      replaced = known.registry.version
    }
    guard try await responses.replaceCategories(with: registry, version: replaced, on: core) else {
      throw tags.map { !$0.isAny } == true ? mismatch : outdated(responses.categories)
    }
    let categories = responses.categories
    return .document(categories.document, tag: categories.tag, isKnown: false)
  }

  private var mismatch: RequestError {
    RequestError(.conflict, "the categories have changed", at: "/headers/if-match", status: 412)
  }

  private func outdated(_ known: Categories) -> RequestError {
    RequestError(.conflict, "the categories are now at version \(known.registry.version)", at: "/version")
  }
}
