// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayStore

/// The creation of rooms with a record, and the changes of the record.
extension Rooms {
  /// A room to create.
  package struct Creation: Sendable {
    package let room: RoomID
    package let details: RoomDetails
    package let creator: UserID
    package let members: [UserID]
    package let key: String?

    package init(room: RoomID, details: RoomDetails, creator: UserID, members: [UserID], key: String?) {
      (self.room, self.details, self.creator, self.members, self.key) = (room, details, creator, members, key)
    }
  }

  // MARK: Creating

  /// Creates a group.
  package func make(_ creation: Creation, for request: Request, on core: isolated Core) async throws -> MadeRoom {
    try checkRights(creation, request, on: core)
    let made = try await perform(creation, request, on: core) { try $0.rooms.make($1) }
    // The room of an earlier request with the same idempotency key.
    try backends.check(made.state.room, by: request.caller, at: request.fields.pointer(to: "room"))
    return made
  }

  /// Finds or creates a direct room. The right `create` is needed only for a new one.
  package func makeDirect(_ creation: Creation, for request: Request, on core: isolated Core) async throws -> MadeRoom {
    let (a, b) = (creation.creator, creation.members[0])
    let known = try await core.store.read { reader in
      let found = try reader.rooms.direct(of: a, b)
      return try found.map { ($0.room, $0.isComplete, try reader.rooms.details(of: $0.room) ?? RoomDetails()) }
    }
    guard let (room, isComplete, details) = known else {
      return try await makeNewDirect(creation, for: request, on: core)
    }
    let pointer = request.fields.pointer(to: "room")
    try backends.check(room, by: request.caller, at: pointer)
    if let permissions = access.permissions(of: request.caller, on: core) {
      // The room belongs to the user, so the rights are those of a member.
      try access.rights(permissions, in: room, on: core).check(.join, in: room, at: pointer)
    }
    if isComplete {
      let state = RoomState(room: room, epoch: "", seq: 0, cursor: 0)
      return MadeRoom(state: state, details: details, isNew: false, added: [])
    }
    // The room stays in memory, so that the completion of the commit adds the member who has left.
    memory.retain(room)
    defer { memory.release(room, on: core) }
    guard try await load(room, on: core) != nil else {
      // The room was deleted after the first read.
      return try await makeNewDirect(creation, for: request, on: core)
    }
    let completion = Creation(
      room: room, details: details, creator: creation.creator, members: creation.members, key: creation.key)
    return try await perform(completion, request, on: core) { try $0.rooms.makeDirect($1) }
  }

  private func makeNewDirect(
    _ creation: Creation, for request: Request, on core: isolated Core
  ) async throws -> MadeRoom {
    try checkRights(creation, request, on: core)
    return try await perform(creation, request, on: core) { try $0.rooms.makeDirect($1) }
  }

  private func checkRights(_ creation: Creation, _ request: Request, on core: isolated Core) throws(RequestError) {
    let pointer = request.fields.pointer(to: "room")
    try backends.check(creation.room, by: request.caller, at: pointer)
    if let permissions = access.permissions(of: request.caller, on: core) {
      try access.rights(permissions, in: creation.room, isMember: false, on: core)
        .check([.join, .create], in: creation.room, at: pointer)
    }
    guard memory.policy(of: creation.room, on: core).isStored else {
      throw RequestError(.unsupported, "a room that keeps nothing cannot be created", at: pointer, status: 422)
    }
  }

  /// Charges the rates, and performs the work. All members are in memory until the completion of the commit.
  private func perform(
    _ creation: Creation, _ request: Request, on core: isolated Core,
    _ work: @escaping @Sendable (Transaction, RoomDraft) throws -> MadeRoom
  ) async throws -> MadeRoom {
    let handles = try await people.retain([creation.creator] + creation.members, on: core)
    defer { handles.forEach(core.hub.release) }
    if request.caller.owner != nil {
      try core.spend(.request, of: handles[0], count: creation.members.count / Self.membersPerRequest)
    }
    memory.retain(creation.room)
    defer { memory.release(creation.room, on: core) }
    return try await invitations.inviting(
      creation.members, to: creation.room, by: request.caller.owner, on: core,
      count: \MadeRoom.invitations.made.count,
      repeated: {
        guard let key = creation.key else { return nil }
        return try await core.store.write { [creator = creation.creator] in try $0.rooms.made(with: key, by: creator) }
      }
    ) { invited in
      let limits = core.settings.limits
      let draft = RoomDraft(
        room: creation.room, epoch: epochToStore(creation.room, on: core), details: creation.details,
        creator: core.hub.profile(of: handles[0]) ?? User(id: creation.creator), members: creation.members,
        invited: invited, isByBackend: request.caller.owner == nil, key: creation.key,
        bounds: MembershipBounds(
          membersPerRoom: memory.policy(of: creation.room, on: core).members ?? limits.membersPerRoom,
          roomsPerUser: limits.roomsPerUser, invitations: limits.invitations))
      return try await perform(draft, requester: request.caller.session, on: core, work)
    }
  }

  private func perform(
    _ draft: RoomDraft, requester: SessionHandle?, on core: isolated Core,
    _ work: @escaping @Sendable (Transaction, RoomDraft) throws -> MadeRoom
  ) async throws -> MadeRoom {
    beginJoin(of: draft.room)
    return try await core.commit(rows: 3 + 2 * draft.members.count) {
      try work($0, draft)
    } then: { [self] made in
      endJoin(of: draft.room)
      guard let made = try? made.get() else { return [] }
      return newMembers(of: made, by: draft.creator.id, requester: requester, on: core) + .effects(of: made.invitations)
    }
  }

  /// The number of members that costs as much as one request.
  private static let membersPerRequest = 10

  // MARK: Reading and changing

  /// The rights with which a member reads the record.
  package static let recordRights: Rights = .join

  package func details(of access: RoomAccess, on core: isolated Core) async throws -> RoomDetails {
    // A room that keeps nothing has no record.
    guard memory.policy(of: access.room, on: core).isStored else { return RoomDetails() }
    guard let details = try await core.store.read({ try $0.rooms.details(of: access.room) }) else {
      throw StoreError.noRoom(access.room)
    }
    return details
  }

  /// Changes the record, and notifies the members.
  package func update(
    _ change: RoomChange, version: Int64?, _ access: RoomAccess, _ request: Request, on core: isolated Core
  ) async throws -> RoomDetails {
    let (actor, by, requester) = (
      self.access.actor(of: request.caller, in: access.room, on: core), request.caller.by, request.caller.session
    )
    return try await core.commit {
      try $0.rooms.update(access.room, change, by: actor, version: version)
    } then: { details in
      guard let details = try? details.get() else { return [] }
      return [.record(details, of: access.room, access.handle, by: by, requester: requester)]
    }
  }

  /// Changes the role of a member, and notifies the sessions in the room.
  package func setRole(
    _ role: RoomRole, of name: UserID, _ access: RoomAccess, _ request: Request, on core: isolated Core
  ) async throws {
    let (actor, by) = (self.access.actor(of: request.caller, in: access.room, on: core), request.caller.by)
    _ = try await core.commit {
      try $0.rooms.setRole(role, of: name, in: access.room, by: actor)
    } then: { result in
      (try? result.get()) == true ? [.role(role, of: name, in: access.handle, by: by)] : []
    }
  }

  /// Restricts a member until a time, or ends the restriction, and notifies the sessions in the room.
  package func restrict(
    _ name: UserID, until: Timestamp?, _ access: RoomAccess, _ request: Request, on core: isolated Core
  ) async throws {
    let (actor, by) = (self.access.actor(of: request.caller, in: access.room, on: core), request.caller.by)
    try await core.commit {
      try $0.rooms.restrict(name, in: access.room, by: actor, until: until)
    } then: { result in
      (try? result.get()) == nil ? [] : [.restricted(name, until: until, in: access.handle, by: by)]
    }
  }

  // MARK: Deleting

  /// Deletes a room, and notifies the members. The relay then deletes the rows of the room in the background.
  package func delete(_ access: RoomAccess, _ request: Request, on core: isolated Core) async throws {
    let (actor, by, requester) = (
      self.access.actor(of: request.caller, in: access.room, on: core), request.caller.by, request.caller.session
    )
    memory.beginDeletion(of: access.room)
    _ = try await core.commit {
      let invited = try $0.reader.invitations.users(invitedTo: access.room)
      return (members: try $0.rooms.delete(access.room, by: actor), invited: invited)
    } then: { [self] result in
      memory.endDeletion(of: access.room)
      guard let (members, invited) = try? result.get() else { return [] }
      let watches = people.watches(among: members, of: access.handle, on: core)
      let deleted = DeletedRoom(room: access.room, members: members, watches: watches, by: by, requester: requester)
      // The sweep of the room deletes the invitations.
      return [.roomDeleted(deleted), .invitations(InvitationChanges(endedWith: access.room, of: invited))]
    }
  }
}

extension Rooms {
  /// The users that a new room, or a direct room that is complete again, has got. All of them are in memory.
  fileprivate func newMembers(
    of made: MadeRoom, by creator: UserID, requester: SessionHandle?, on core: isolated Core
  ) -> [Change] {
    made.added.compactMap { name in
      guard let user = core.hub.user(name) else { return nil }
      return .joined(
        NewMember(
          user: user, name: name, joined: made.membership(of: name, madeBy: creator),
          cause: name == creator ? .joined : .added(by: creator),
          notice: NewMember.Notice(details: made.details, by: creator, except: requester)))
    }
  }
}

extension Caller {
  /// The user whom events name as their cause. Is `nil` for a backend that acts for nobody.
  package var by: UserID? { if case .backend(let acting, _) = self { acting } else { owner } }
}
