// SPDX-License-Identifier: Apache-2.0

// Commands about rooms and their members: join, leave, list, add, remove, and the read mark. `Rooms` performs the
// changes.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Joins a room with a session. The user becomes a member.
struct JoinRoom: Command {
  package static let declaration = Declaration(
    frame: "join", room: .any(.join, "the own membership, and the events of the room"),
    also: [
      .any([.join, .create], "a room that does not exist"),
      .any(StoredText.join.rights, "stored messages, and their changes", isRead: true),
      .any([.join, .presence], "the members, their read marks and the number that is online", isRead: true),
    ],
    fields: [SharedFields.room, Position.field, lastChange, newest, pageSize],
    // The membership may end while the relay reads the history.
    errors: [.notJoined, .tooLarge])

  private static let lastChange = Field<Int64?>.whole(
    "afterChange",
    """
    The newest change that this client has: the highest number up to which it has all changes, 0 before the first one. \
    Only with `after`.
    """)
  /// The limit `history` is the upper bound.
  private static let newest = FieldDeclaration(
    "history", .whole(0...Int64(Limits().history), default: nil),
    """
    The number of newest messages in the reply, without `after` or if the relay cannot send all missed messages. At \
    most `limits.history`.
    """)
  private static let pageSize = Field<Int64?>.whole(
    "maxBytes", in: HistoryPage.requestable,
    """
    The client takes the messages in pages, see `more` of the reply: the maximum size of the messages before its next \
    request, in bytes. No effect without `id`.
    """)

  private let session: SessionCaller
  private let room: RoomID
  private let history: RoomHistory.JoinQuery
  private let expectsReply: Bool

  /// The maximum number of members of a room whose marks are in the reply.
  static let maxMarks = 1_000

  init(_ request: Request) throws(RequestError) {
    session = request.session
    room = try request.room
    let fields = request.fields
    let change = try Self.lastChange.value(in: request)
    let since = try fields.position.map { RoomHistory.Since(after: $0, change: change) }
    guard change == nil || since != nil else { throw fields.wrong("afterChange", "needs after") }
    expectsReply = request.expectsReply
    let maxBytes = try Self.pageSize.value(in: request)
    history = RoomHistory.JoinQuery(
      since: since, newest: Int(try fields.integer("history", 0...Int64(request.limits.history)) ?? 0),
      maxBytes: expectsReply ? maxBytes.map(Int.init) : nil)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let (user, session) = (session.user, session.session)
    relay.memory.retain(room)
    defer { relay.memory.release(room, on: core) }
    let permissions = relay.access.permissions(of: session, on: core)
    let requested = try await relay.rooms.rights(permissions, of: user, joining: room, on: core)
    try requested.check(Self.declaration.rights, in: room, at: "/room")
    try core.hub.checkMayJoin(session, core.hub.room(room))
    let newcomer = Rooms.Newcomer(user: user, session: session, rights: requested, pointer: "/room", isBounded: true)
    let handle = try await relay.rooms.add(newcomer, to: room, on: core).room
    let read =
      StoredText.join.isReadable(with: requested)
      ? try await RoomHistory(room, in: relay.rooms).replay(handle, history, on: core) : .nothing
    // The configuration may have been reloaded during the read.
    let rights = relay.access.rights(of: session, in: room, on: core)
    try rights.check(Self.declaration.rights, in: room, at: "/room")
    let replay = StoredText.join.isReadable(with: rights) ? read : .nothing
    guard let position = core.hub.position(of: handle) else { throw HubRefusal.gone }
    let parts = replay.pages.dropLast().map { page in
      JSONWriter.object {
        $0["type"] = "page"
        write(page, of: replay, position.epoch, to: &$0)
      }
    }
    let facts = core.hub.facts(of: handle, for: user)
    let change = relay.rooms.changes(of: handle).change
    let changes = replay.changes.isEmpty ? nil : replay.changes.map { Replies.change($0, in: room) }
    if replay.more, let last = replay.pages.last {
      // The session joins the room with the last page, so that no events of the room come before it.
      return Reply {
        write(last, of: replay, position.epoch, to: &$0)
        $0.bool("more", true)
        $0.integer("read", facts.read)
        $0.integer("change", change)
        $0.integer("memberCount", facts.memberCount)
        if let changes { $0.raw("changes", JSONWriter.array(changes)) }
      }.sent(as: .join(handle, parts: parts))
    }
    try core.hub.join(
      session, handle, rights: RoomRights(rights), givenFrom: position.seq - Int64(replay.count) + 1)
    core.diagnostics.tally.count(
      history.since == nil ? .notAsked : replay.isComplete ? .recovered : .notRecovered)
    let restriction = core.hub.restriction(of: user, in: handle)
    let isReadOnly = core.hub.isReadOnly(handle)
    let seesPresence = rights.contains(.presence)
    let members =
      expectsReply && !facts.isLarge && seesPresence ? relay.rooms.entries(of: handle, seenBy: user, on: core) : nil
    let marks =
      expectsReply && seesPresence ? core.hub.receipts(of: handle, seenBy: user, limit: Self.maxMarks) : nil
    return Reply {
      let last = HistoryPage(text: replay.pages.last?.text ?? .none, newest: position.seq)
      write(last, of: replay, position.epoch, to: &$0)
      $0.integer("read", facts.read)
      $0.integer("change", change)
      if isReadOnly { $0.bool("readOnly", true) }
      $0.integer("restrictedUntil", restriction?.rawValue)
      $0.raw("members", members)
      $0.raw("marks", marks)
      $0.integer("memberCount", facts.memberCount)
      if seesPresence { $0.integer("onlineCount", facts.onlineCount) }
      // After the reply, the client continues from the new position. It would not ask again for a change that was sent
      // as an event and lost.
      if let changes { $0.raw("changes", JSONWriter.array(changes)) }
    }.sent(as: .join(handle, parts: parts))
  }

  /// Writes what a client needs of each page.
  private func write(
    _ page: HistoryPage, of replay: RoomHistory.Replay, _ epoch: String, to object: inout JSONWriter.Object
  ) {
    object["room"] = room.rawValue
    object["epoch"] = epoch
    object.integer("seq", page.newest)
    if history.since != nil { object.bool("recovered", replay.isComplete) }
    object.raw("messages", page.text.array)
  }
}

/// Ends the membership of the session's user. With `stay`, only the session leaves the room.
struct LeaveRoom: Command {
  private static let stay = Field<Bool>.flag(
    "stay", "true: the user stays a member, and only this session no longer receives the events of the room.")

  package static let declaration = Declaration(
    frame: "leave", room: .member([], "the own membership, or the session"),
    fields: [SharedFields.room, Self.stay])

  private let request: Request
  private let stays: Bool

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    stays = try Self.stay.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let session = request.session
    return try await inRoom(of: request, relay, on: core) { access in
      if stays {
        try core.hub.leave(session.session, access.handle)
      } else {
        try core.spend(.membership, of: access.handle)
        try await relay.rooms.remove(session.user, from: access.room, access.handle, on: core)
      }
      return Reply { $0["room"] = access.room.rawValue }
    }
  }
}

/// Reads a page of the members of a room.
struct ListMembers: Command {
  private static let after = Field<UserID?>.name(
    "after", "Only members whose names come after this name, which is the last of the page before.")
  private static let limit = Field<Int>.whole("limit", 1...100, default: 100, "Maximum number of members.")

  package static let declaration = Declaration(
    "GET", "/v1/rooms/{room}/members", room: .joined(.presence, "the members, and their presence"),
    fields: [Self.after, Self.limit])

  private let request: Request
  private let limit: Int
  private let after: UserID?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    limit = try Self.limit.value(in: request)
    after = try Self.after.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      let viewer = try request.caller.viewer(core.hub)
      let page = relay.rooms.page(of: access.handle, seenBy: viewer, after: after, limit: limit, on: core)
      let facts = core.hub.facts(of: access.handle, for: viewer)
      return Reply {
        $0.raw("members", page.entries)
        $0.bool("more", page.hasMore)
        // A backend sees who is a member of a direct room.
        $0.integer("memberCount", viewer == nil ? core.hub.memberCount(of: access.handle) : facts.memberCount)
        $0.integer("onlineCount", facts.onlineCount)
      }
    }
  }
}

/// Makes a user a member of a room, without a session that joins. Moderators add other users, or invite them.
struct AddMember: Command {
  package static let declaration = Declaration(
    frame: "add", "PUT", "/v1/rooms/{room}/members/{user}", room: .any(.join, "the own membership"),
    also: [
      .any([.join, .create], "a room that does not exist"),
      .member(.join, role: .moderator, "the membership of another user"),
    ], fields: [SharedFields.user], body: .ignored,
    errors: [.notJoined, .notFound, .tooLarge, .unsupported])

  private let request: Request
  private let room: RoomID
  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    self.request = request
    room = try request.room
    user = try request.target
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    relay.memory.retain(room)
    defer { relay.memory.release(room, on: core) }
    let caller = request.caller
    return try await relay.people.withUser(user, on: core) { handle in
      let pointer = request.fields.pointer(to: "room")
      let rights: Rights
      var actor: RoomActor?
      var inviter: UserID?
      if let owner = caller.owner, owner != user {
        let access = try await relay.rooms.moderated(room, request, on: core)
        rights = access.rights
        actor = relay.access.actor(of: caller, in: access.room, on: core)
        inviter = owner
      } else if let permissions = relay.access.permissions(of: caller, on: core) {
        rights = try await relay.rooms.rights(permissions, of: handle, joining: room, on: core)
      } else {
        rights = relay.access.rights(of: caller, in: room, on: core)
        actor = .backend
      }
      try rights.check(Self.declaration.rights, in: room, at: pointer)
      let isOther = actor != nil && caller.by != user
      let added = try await relay.invitations.inviting(
        [user], to: room, by: inviter, on: core, count: \Rooms.Added.invitationCount
      ) { invited in
        let newcomer = Rooms.Newcomer(
          user: handle, rights: rights, pointer: pointer, isBounded: caller.owner != nil,
          cause: isOther ? .added(by: caller.by) : .joined, actor: actor, isInvited: invited.contains(user))
        return try await relay.rooms.add(newcomer, to: room, on: core)
      }
      guard !added.isInvited else {
        return Reply(status: added.isNew ? 201 : 200) {
          $0["room"] = room.rawValue
          $0["user"] = user.rawValue
          $0.bool("invited", true)
        }
      }
      if isOther, added.isNew { await notify(handle, of: added.room, relay, on: core) }
      return try relay.rooms.membership(of: handle, user, in: room, added, on: core)
    }
  }

  private func notify(_ added: UserHandle, of handle: RoomHandle, _ relay: Relay, on core: isolated Core) async {
    guard !core.hub.sessions(of: added).isEmpty else { return }
    var details: RoomDetails?
    do { details = try await core.store.read { [room] in try $0.rooms.details(of: room) } } catch {
      core.logFailure(of: error)  // the user is a member all the same
    }
    // Another request may have removed the user during the read, and notified the user of it.
    guard core.hub.isMember(added, of: handle) else { return }
    relay.rooms.notify(added, "added", room, details ?? RoomDetails(), by: request.caller.by, on: core)
  }
}

/// Ends a membership, without a session that leaves. Moderators remove and ban other users. Moderators and the inviter
/// end an invitation.
struct RemoveMember: Command {
  private static let bans = Field<Bool>.flag("ban", "true: the user cannot join again.")
  private static let until = Field<Timestamp?>.time(
    "until", "The end of the ban in milliseconds since 1970. Needs `ban`. Default: no end.")

  package static let declaration = Declaration(
    frame: "remove", "DELETE", "/v1/rooms/{room}/members/{user}", room: .member([], "the own membership"),
    also: [.member([], role: .moderator, "the membership of another user")],
    fields: [SharedFields.user, Self.bans, Self.until], errors: [.tooLarge, .unsupported])

  private let request: Request
  private let room: RoomID
  private let user: UserID
  private let ban: RoomBan?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    let fields = request.fields
    room = try request.room
    user = try request.target
    let until = try Self.until.value(in: request)
    let bans = try Self.bans.value(in: request)
    guard bans || until == nil else { throw fields.wrong("until", "is the end of a ban, and needs ban: true") }
    ban = bans ? RoomBan(until: until) : nil
    guard ban == nil || request.caller.by != user else { throw fields.wrong("ban", "is not possible for oneself") }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    relay.memory.retain(room)
    defer { relay.memory.release(room, on: core) }
    let caller = request.caller
    if let until = ban?.until, until <= core.hub.now { throw request.fields.wrong("until", "is in the past") }
    // If a backend acts as the user, the user leaves. Any other backend removes the user.
    let isOther = caller.by != user
    var removal = Rooms.Removal.leave
    let handle: RoomHandle
    if let inviter = caller.owner, isOther, ban == nil,
      try await relay.invitations.withdraw(user, from: room, by: inviter, on: core)
    {
      return reply
    }
    if caller.owner != nil, isOther {
      let access = try await relay.rooms.moderated(room, request, on: core)
      handle = access.handle
      removal.actor = relay.access.actor(of: caller, in: access.room, on: core)
    } else if case .backend = caller {
      handle = try await relay.rooms.existing(room, on: core)
      removal.actor = isOther ? .backend : nil
    } else {
      guard let found = try await relay.rooms.room(room, for: user, on: core) else { return reply }
      handle = found
    }
    if isOther { removal.cause = ban == nil ? .removed(by: caller.by) : .banned(by: caller.by) }
    removal.ban = ban
    return try await relay.people.withUser(user, on: core) { member in
      let mayBeInvited = isOther && relay.memory.policy(of: room, on: core).isStored
      guard ban != nil || mayBeInvited || core.hub.isMember(member, of: handle) else { return reply }
      if caller.owner != nil { try core.spend(.membership, of: handle) }
      try await relay.rooms.remove(member, from: room, handle, removal, on: core)
      return reply
    }
  }

  private var reply: Reply {
    guard request.caller.session != nil else { return .nothing }
    return Reply {
      $0["room"] = room.rawValue
      $0["user"] = user.rawValue
    }
  }
}

/// Changes the role of a member. Owners and backends do so.
struct SetRole: Command {
  package static let declaration = Declaration(
    frame: "roles", "PUT", "/v1/rooms/{room}/roles", room: .member(.join, role: .owner, "the role of a member"),
    fields: [SharedFields.user, newRole], errors: [.conflict, .notFound, .unsupported])

  private static let newRole = Field<RoomRole.Name?>.choice("role", schema: "schemas.json#/RoomRole").required()

  private let request: Request
  private let user: UserID
  private let role: RoomRole

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    user = try SharedFields.user.value(in: request)
    role = try Self.newRole.value(in: request).role
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      try await relay.rooms.setRole(role, of: user, access, request, on: core)
      return Reply {
        $0["room"] = access.room.rawValue
        $0["user"] = user.rawValue
        $0["role"] = role.name
      }
    }
  }
}

/// Moves a member's read mark.
struct SetRead: Command {
  package static let operation = "markRead"
  package static let declaration = Declaration(
    "PUT", "/v1/rooms/{room}/read", room: .joined(.join, "the own read mark"), fields: [newest, reader])

  private static let newest = Field<Int64?>.seq(
    "seq", from: 0, "All messages up to this one are read. It is at most the room's newest."
  ).required()
  private static let reader = RequestField.actor(
    "user", "The user who has read the messages, for API keys, like `from` of a message.")

  private let request: Request
  private let seq: Int64
  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    self.request = request
    seq = try Self.newest.value(in: request)
    user = try Self.reader.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      guard let member = core.hub.user(user), core.hub.isMember(member, of: access.handle) else {
        throw RequestError(.notJoined, "\(user) is not a member of the room", at: "/path/room")
      }
      guard let newest = core.hub.position(of: access.handle)?.seq, seq <= newest else {
        throw request.fields.wrong("seq", "is greater than the newest seq of the room")
      }
      core.hub.setRead(seq, member, in: access.handle)
      try await relay.late.storeMarks(access.handle, member, on: core)
      let read = core.hub.facts(of: access.handle, for: member).read
      return Reply {
        $0["room"] = access.room.rawValue
        $0.integer("read", read)
      }
    }
  }
}

extension Request {
  /// The user whose membership the request changes: the member `user` of a frame, or the `{user}` of the path.
  fileprivate var target: UserID {
    get throws(RequestError) {
      if caller.session == nil, fields.members["user"] == .string("me") { return try caller.me }
      return try SharedFields.user.value(in: self)
    }
  }

  /// The session that sent the frame. Only for commands without a route.
  var session: SessionCaller {
    guard case .session(let session) = caller else { preconditionFailure("the command needs a session") }
    return session
  }
}
