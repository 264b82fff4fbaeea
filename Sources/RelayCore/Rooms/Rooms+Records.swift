// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// The creation of rooms with a record, and the changes of the record.
extension Rooms {
  /// A room to create.
  struct Creation: Sendable {
    let room: RoomID
    let details: RoomDetails
    let creator: UserID
    let members: [UserID]
    let key: String?
  }

  // MARK: Creating

  /// Creates a group.
  func make(_ creation: Creation, for request: Request, on relay: isolated Relay) async throws -> MadeRoom {
    try checkRights(creation, request, on: relay)
    let made = try await perform(creation, request, on: relay) { try $0.rooms.make($1) }
    // The room of an earlier request with the same idempotency key.
    try relay.backends.check(made.state.room, by: request.caller, at: request.fields.pointer(to: "room"))
    return made
  }

  /// Finds or creates a direct room. The right `create` is needed only for a new one.
  func makeDirect(_ creation: Creation, for request: Request, on relay: isolated Relay) async throws -> MadeRoom {
    let (a, b) = (creation.creator, creation.members[0])
    let known = try await relay.store.read { reader in
      let found = try reader.rooms.direct(of: a, b)
      return try found.map { ($0.room, $0.isComplete, try reader.rooms.details(of: $0.room) ?? RoomDetails()) }
    }
    guard let (room, isComplete, details) = known else {
      return try await makeNewDirect(creation, for: request, on: relay)
    }
    let pointer = request.fields.pointer(to: "room")
    try relay.backends.check(room, by: request.caller, at: pointer)
    if let permissions = relay.access.permissions(of: request.caller, on: relay) {
      // The room belongs to the user, so the rights are those of a member.
      try relay.access.rights(permissions, in: room, on: relay).check(.join, in: room, at: pointer)
    }
    if isComplete {
      let state = RoomState(room: room, epoch: "", seq: 0, cursor: 0)
      return MadeRoom(state: state, details: details, isNew: false, added: [])
    }
    // The room stays in memory, so that the completion of the commit adds the member who has left.
    retain(room)
    defer { release(room, on: relay) }
    guard try await load(room, on: relay) != nil else {
      // The room was deleted after the first read.
      return try await makeNewDirect(creation, for: request, on: relay)
    }
    let completion = Creation(
      room: room, details: details, creator: creation.creator, members: creation.members, key: creation.key)
    return try await perform(completion, request, on: relay) { try $0.rooms.makeDirect($1) }
  }

  private func makeNewDirect(
    _ creation: Creation, for request: Request, on relay: isolated Relay
  ) async throws -> MadeRoom {
    try checkRights(creation, request, on: relay)
    return try await perform(creation, request, on: relay) { try $0.rooms.makeDirect($1) }
  }

  private func checkRights(_ creation: Creation, _ request: Request, on relay: isolated Relay) throws(RequestError) {
    let pointer = request.fields.pointer(to: "room")
    try relay.backends.check(creation.room, by: request.caller, at: pointer)
    if let permissions = relay.access.permissions(of: request.caller, on: relay) {
      try relay.access.rights(permissions, in: creation.room, isMember: false, on: relay)
        .check([.join, .create], in: creation.room, at: pointer)
    }
    guard policy(of: creation.room, on: relay).isStored else {
      throw RequestError(.unsupported, "a room that keeps nothing cannot be created", at: pointer, status: 422)
    }
  }

  /// Charges the rates, and performs the work. All members are in memory until the completion of the commit.
  private func perform(
    _ creation: Creation, _ request: Request, on relay: isolated Relay,
    _ work: @escaping @Sendable (Transaction, RoomDraft) throws -> MadeRoom
  ) async throws -> MadeRoom {
    let handles = try await relay.people.retain([creation.creator] + creation.members, on: relay)
    defer { handles.forEach(relay.hub.release) }
    if request.caller.owner != nil {
      try relay.spend(.request, of: handles[0], count: creation.members.count / Self.membersPerRequest)
    }
    retain(creation.room)
    defer { release(creation.room, on: relay) }
    return try await relay.invitations.inviting(
      creation.members, to: creation.room, by: request.caller.owner, on: relay,
      count: \MadeRoom.invitations.made.count,
      repeated: {
        guard let key = creation.key else { return nil }
        return try await relay.store.write { [creator = creation.creator] in try $0.rooms.made(with: key, by: creator) }
      }
    ) { invited in
      let limits = relay.settings.limits
      let draft = RoomDraft(
        room: creation.room, epoch: epochToStore(creation.room, on: relay), details: creation.details,
        creator: relay.hub.profile(of: handles[0]) ?? User(id: creation.creator), members: creation.members,
        invited: invited, isByBackend: request.caller.owner == nil, key: creation.key,
        bounds: MembershipBounds(
          membersPerRoom: policy(of: creation.room, on: relay).members ?? limits.membersPerRoom,
          roomsPerUser: limits.roomsPerUser, invitations: limits.invitations))
      beginJoin(of: draft.room)
      let cause = request.caller.session
      return try await relay.commit(rows: 3 + 2 * draft.members.count) {
        try work($0, draft)
      } then: { relay, made in
        relay.rooms.endJoin(of: draft.room)
        guard let made = try? made.get() else { return [] }
        return relay.newMembers(of: made, by: draft.creator.id, cause: cause) + .effects(of: made.invitations)
      }
    }
  }

  /// The number of members that costs as much as one request.
  private static let membersPerRequest = 10

  // MARK: Reading and changing

  /// The rights with which a member reads the record.
  static let recordRights: Rights = .join

  func details(of access: RoomAccess, on relay: isolated Relay) async throws -> RoomDetails {
    // A room that keeps nothing has no record.
    guard policy(of: access.room, on: relay).isStored else { return RoomDetails() }
    guard let details = try await relay.store.read({ try $0.rooms.details(of: access.room) }) else {
      throw StoreError.noRoom(access.room)
    }
    return details
  }

  /// Changes the record, and notifies the members.
  func update(
    _ change: RoomChange, version: Int64?, _ access: RoomAccess, _ request: Request, on relay: isolated Relay
  ) async throws -> RoomDetails {
    let (actor, by, cause) = (request.caller.actor(access, on: relay), request.caller.by, request.caller.session)
    return try await relay.commit {
      try $0.rooms.update(access.room, change, by: actor, version: version)
    } then: { _, details in
      guard let details = try? details.get() else { return [] }
      return [.record(details, of: access.room, access.handle, by: by, cause: cause)]
    }
  }

  /// Changes the role of a member, and notifies the sessions in the room.
  func setRole(
    _ role: RoomRole, of name: UserID, _ access: RoomAccess, _ request: Request, on relay: isolated Relay
  ) async throws {
    let (actor, by) = (request.caller.actor(access, on: relay), request.caller.by)
    _ = try await relay.commit {
      try $0.rooms.setRole(role, of: name, in: access.room, by: actor)
    } then: { _, result in
      (try? result.get()) == true ? [.role(role, of: name, in: access.handle, by: by)] : []
    }
  }

  /// Restricts a member until a time, or ends the restriction, and notifies the sessions in the room.
  func restrict(
    _ name: UserID, until: Timestamp?, _ access: RoomAccess, _ request: Request, on relay: isolated Relay
  ) async throws {
    let (actor, by) = (request.caller.actor(access, on: relay), request.caller.by)
    try await relay.commit {
      try $0.rooms.restrict(name, in: access.room, by: actor, until: until)
    } then: { _, result in
      (try? result.get()) == nil ? [] : [.restricted(name, until: until, in: access.handle, by: by)]
    }
  }

  // MARK: Deleting

  /// Deletes a room, and notifies the members. The relay then deletes the rows of the room in the background.
  func delete(_ access: RoomAccess, _ request: Request, on relay: isolated Relay) async throws {
    let (actor, by, cause) = (request.caller.actor(access, on: relay), request.caller.by, request.caller.session)
    beginDeletion(of: access.room)
    _ = try await relay.commit {
      let invited = try $0.reader.invitations.users(invitedTo: access.room)
      return (members: try $0.rooms.delete(access.room, by: actor), invited: invited)
    } then: { relay, result in
      relay.rooms.endDeletion(of: access.room)
      guard let (members, invited) = try? result.get() else { return [] }
      let watches = relay.people.watches(among: members, of: access.handle, on: relay)
      let deleted = DeletedRoom(room: access.room, members: members, watches: watches, by: by, cause: cause)
      // The sweep of the room deletes the invitations.
      return [.roomDeleted(deleted), .invitations(InvitationChanges(endedWith: access.room, of: invited))]
    }
  }
}

extension Relay {
  /// The users that a new room, or a direct room that is complete again, has got. All of them are in memory.
  fileprivate func newMembers(of made: MadeRoom, by creator: UserID, cause: SessionHandle?) -> [Change] {
    made.added.compactMap { name in
      guard let user = hub.user(name) else { return nil }
      return .joined(
        NewMember(
          user: user, name: name, joined: made.membership(of: name, madeBy: creator),
          cause: name == creator ? .joined : .added(by: creator),
          notice: NewMember.Notice(details: made.details, by: creator, except: cause)))
    }
  }
}

extension Caller {
  /// The caller as the store checks it against the roles of a room. The role in memory may be older than the store's.
  func actor(_ access: RoomAccess, on relay: isolated Relay) -> RoomActor {
    guard let owner else { return .backend }
    return .user(owner, moderates: relay.access.moderates(self, in: access.room, on: relay))
  }

  /// The user whom events name as their cause. Is `nil` for a backend that acts for nobody.
  var by: UserID? { if case .backend(let acting, _) = self { acting } else { owner } }
}
