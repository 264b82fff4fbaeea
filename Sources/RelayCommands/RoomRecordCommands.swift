// SPDX-License-Identifier: Apache-2.0

// Commands about rooms themselves: create, open a direct room, read, update, delete. `Rooms` performs the changes.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Creates a group with its first members. The creator is its owner. With the kind `direct`, the same as
/// ``OpenDirectRoom``.
struct CreateRoom: Command {
  package static let declaration = Declaration(
    frame: "create", "POST", "/v1/rooms", room: .any([.join, .create], "a room that does not exist"),
    fields: [SharedFields.anyRoom, creator, kind] + RoomDetails.recordFields() + [others, joining, idempotencyKey],
    errors: [.conflict, .tooLarge, .unsupported])

  private static let creator = RequestField.actor(
    "owner", "The first owner. An API key needs it, unless `X-Stillwire-User` names the user. A token must not have it."
  )
  private static let kind = Field<RoomKind?>.choice(
    "kind", schema: "schemas.json#/RoomKind",
    "Default: `group`. `direct` needs exactly one other member, and has no `room`, title or picture.")
  private static let joining = Field<RoomJoin?>.choice(
    "join", schema: "schemas.json#/RoomJoin", "Default: `open`. A direct room is always `invited`.")
  private static let others = Field<[UserID]?>.names(
    "members", max: RoomDetails.maxMembersAtOnce, "The other first members, and the users to invite.")
  private static let idempotencyKey = RequestField<String?>.key(
    "An idempotency key of the user: the same key within 5 minutes creates nothing twice. At most 128 bytes.")

  private let request: Request
  private let room: RoomID
  private let details: RoomDetails
  private let owner: UserID
  private let members: [UserID]
  private let key: String?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    let fields = request.fields
    let owner = try Self.creator.value(in: request)
    let kind = try Self.kind.value(in: request) ?? .group
    let details = RoomDetails(
      kind: kind, join: kind == .direct ? .invited : try Self.joining.value(in: request) ?? .open,
      title: try fields.title, avatar: try fields.picture, metadata: try fields.metadata,
      isReadOnly: try RoomDetails.readOnlyField.value(in: request) ?? false)
    let members = Set(try Self.others.value(in: request) ?? []).subtracting([owner])
    room = try SharedFields.anyRoom.value(in: request) ?? RoomDetails.newRoom(details.kind)
    (self.owner, self.details, self.members) = (owner, details, members.sorted())
    key = try Self.idempotencyKey.value(in: request)
    guard details.kind == .direct else { return }
    guard members.count == 1 else { throw fields.wrong("members", "must name the other person of a direct room") }
    if details.isReadOnly { throw fields.wrong("readOnly", "is not possible for a direct room") }
    for key in ["room", "title", "avatar"] where fields.has(key) && !fields.isNull(key) {
      throw fields.wrong(key, "is not possible for a direct room")
    }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let creation = Rooms.Creation(room: room, details: details, creator: owner, members: members, key: key)
    let made =
      switch details.kind {
      case .group: try await relay.rooms.make(creation, for: request, on: core)
      case .direct: try await relay.rooms.makeDirect(creation, for: request, on: core)
      }
    return Reply(status: made.isNew ? 201 : 200) { reply in
      Replies.room(made.state.room, made.details)(&reply)
      if !made.isNew { reply.bool("duplicate", true) }
    }.about(made.state.room)
  }
}

/// Finds or creates the one room of two people.
struct OpenDirectRoom: Command {
  package static let declaration = Declaration(
    frame: "direct", "PUT", "/v1/users/{user}/direct/{other}",
    room: .any([.join, .create], "a direct room that does not exist"),
    also: [.any(.join, "the record of a direct room that exists, and a membership that has ended")],
    fields: [inFrame, SharedFields.otherInPath], body: .ignored, errors: [.tooLarge, .unsupported])

  private static let inFrame = SharedFields.user.onlyFrames

  private let request: Request
  private let user: UserID
  private let other: UserID

  init(_ request: Request) throws(RequestError) {
    self.request = request
    user = try request.user
    let field = request.caller.session == nil ? SharedFields.otherInPath : Self.inFrame
    other = try field.value(in: request)
    guard other != user else { throw request.fields.wrong(field.declaration.name, "must be another user") }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let draft = Rooms.Creation(
      room: RoomDetails.newRoom(.direct), details: RoomDetails(kind: .direct, join: .invited), creator: user,
      members: [other], key: nil)
    let made = try await relay.rooms.makeDirect(draft, for: request, on: core)
    return Reply(status: made.isNew ? 201 : 200, Replies.room(made.state.room, made.details)).about(made.state.room)
  }
}

/// Reads the record of a room.
struct GetRoom: Command {
  package static let declaration = Declaration(
    frame: "room", "GET", "/v1/rooms/{room}", room: .member(Rooms.recordRights, "the record"))

  private let request: Request

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      let details = try await relay.rooms.details(of: access, on: core)
      let user = request.caller.owner.flatMap(core.hub.user)
      let until = user.flatMap { core.hub.restriction(of: $0, in: access.handle) }
      let invited = try await invited(to: access, details, relay, on: core)
      if until != nil || !invited.isEmpty {
        // The restriction and the invitations do not belong to the record, so this answer has no entity tag.
        return Reply {
          Replies.room(access.room, details)(&$0)
          $0.integer("restrictedUntil", until?.rawValue)
          guard !invited.isEmpty else { return }
          $0.array("invited") { list in
            for user in invited { list.object { user.write(to: &$0) } }
          }
        }
      }
      let known = request.ifNoneMatch.map(EntityTags.init)
      return Reply(Replies.room(access.room, details)).tagged(details.tag, isKnown: known?.matchWeakly(details.tag))
    }
  }

  /// The maximum number of invited users in a reply.
  private static let maxInvited = 100

  /// The invited users, for moderators. The people of a direct room see no difference between a member and an invited
  /// person.
  private func invited(
    to access: RoomAccess, _ details: RoomDetails, _ relay: Relay, on core: isolated Core
  ) async throws -> [InvitedUser] {
    guard access.rights.contains(.moderate), details.kind == .group || request.caller.owner == nil,
      relay.memory.policy(of: access.room, on: core).isStored
    else { return [] }
    return try await core.store.read { try $0.invitations.invited(to: access.room, limit: Self.maxInvited) }
  }
}

extension InvitedUser {
  func write(to object: inout JSONWriter.Object) {
    object["user"] = user.rawValue
    object["by"] = inviter.rawValue
    object.integer("time", time.rawValue)
  }
}

/// Changes the title, the picture and the metadata of a room, and opens or closes sending. Absent fields do not change.
struct UpdateRoom: Command {
  package static let declaration = Declaration(
    frame: "update", "PUT", "/v1/rooms/{room}", room: .member(.join, "the metadata of a direct room"),
    also: [.member(.join, role: .moderator, "the record of a group")],
    fields: RoomDetails.recordFields(
      title: "null removes the title.", avatar: "null removes the picture.",
      metadata: "Replaces the whole object. null removes it.") + [replaced],
    errors: [.conflict, .preconditionFailed, .tooLarge, .unsupported])

  private static let replaced = Field<Int64?>.whole(
    "version", schema: "RoomVersion", "The relay changes only this version of the record.")

  private let request: Request
  private let change: RoomChange
  private let version: Int64?
  private let tags: EntityTags?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    let fields = request.fields
    _ = try request.room
    change = RoomChange(
      title: fields.has("title") ? .some(try fields.title) : nil,
      avatar: fields.has("avatar") ? .some(try fields.picture) : nil,
      metadata: fields.has("metadata") ? .some(try fields.metadata) : nil,
      isReadOnly: try RoomDetails.readOnlyField.value(in: request))
    version = try Self.replaced.value(in: request)
    tags = request.ifMatch.map(EntityTags.init)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      var replaced = version
      if let tags, !tags.isAny {
        let known = try await relay.rooms.details(of: access, on: core)
        guard tags.match(known.tag), version ?? known.version == known.version else { throw mismatch }
        replaced = known.version
      }
      do {
        let details = try await relay.rooms.update(change, version: replaced, access, request, on: core)
        return Reply(Replies.room(access.room, details)).tagged(details.tag)
      } catch StoreError.refused(.outdated(let current)) {
        if let tags, !tags.isAny { throw mismatch }
        throw RequestError(
          .conflict, "the room is now at version \(current)", at: request.fields.pointer(to: "version"))
      }
    }
  }

  private var mismatch: RequestError {
    RequestError(.conflict, "the room has changed", at: "/headers/if-match", status: 412)
  }
}

/// Deletes a room with its history, its pushes and its memberships.
struct DeleteRoom: Command {
  package static let declaration = Declaration(
    frame: "deleteRoom", "DELETE", "/v1/rooms/{room}", room: .member(.join, role: .owner, "the room"),
    errors: [.unsupported])

  private let request: Request

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      try await relay.rooms.delete(access, request, on: core)
      guard request.caller.session != nil else { return .nothing }
      return Reply { $0["room"] = access.room.rawValue }
    }
  }
}

extension RoomDetails {
  /// A new name, which nobody can guess. Patterns of the configuration match its beginning.
  fileprivate static func newRoom(_ kind: RoomKind) -> RoomID {
    var generator = SystemRandomNumberGenerator()
    return RoomID(unchecked: "\(kind.rawValue).\(makeUUID(using: &generator))")
  }

  fileprivate static let readOnlyField = Field<Bool?>.flag(
    "readOnly", "true: only moderators and owners send. Not for a direct room.")

  /// The members of the record, with their meaning in a request.
  fileprivate static func recordFields(
    title: String? = nil, avatar: String? = nil, metadata: String? = nil
  ) -> [any DeclaredField] {
    [
      FieldDeclaration("title", .shared("RoomTitle", .text), title),
      FieldDeclaration("avatar", .shared("RoomPicture", .text), avatar),
      FieldDeclaration("metadata", .shared("RoomMetadata", .text), metadata), readOnlyField,
    ]
  }

  /// The entity tag of the record. The time of the creation separates a room from a deleted one with the same id.
  var tag: String { created.map { "\"\(version).\($0.rawValue)\"" } ?? "\"\(version)\"" }
}

extension Fields {
  /// The member `title`. An empty text counts as absent.
  fileprivate var title: String? {
    get throws(RequestError) {
      let title = try line("title", maxLength: RoomDetails.maxTitleLength)
      return title?.isEmpty == true ? nil : title
    }
  }

  /// The member `avatar`. An empty text counts as absent.
  fileprivate var picture: String? {
    get throws(RequestError) {
      guard let avatar = try string("avatar", maxLength: RoomDetails.maxAvatarLength), !avatar.isEmpty else {
        return nil
      }
      guard avatar.isSecureURL else { throw wrong("avatar", "must be an https URL") }
      return avatar
    }
  }

  fileprivate var metadata: [UInt8]? {
    get throws(RequestError) {
      guard let fields = try object("metadata") else { return nil }
      let text = JSONWriter.object { $0.members(fields.members) }
      guard text.count <= RoomDetails.maxMetadataLength else {
        throw wrong("metadata", "must be at most \(RoomDetails.maxMetadataLength) bytes long")
      }
      return text
    }
  }
}
