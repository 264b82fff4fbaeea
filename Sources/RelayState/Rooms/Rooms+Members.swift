// SPDX-License-Identifier: Apache-2.0
package import RelayHub
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayStore

/// The begin and the end of memberships.
extension Rooms {
  /// A user who becomes a member.
  package struct Newcomer {
    package let user: UserHandle
    /// The session that joins. Is `nil` if the user is added without a session.
    package var session: SessionHandle?
    /// The rights of the caller.
    package let rights: Rights
    /// The JSON pointer of the room in the request.
    package let pointer: String
    /// True if a new membership counts against the room's rate.
    package let isBounded: Bool
    /// The cause that the event `member` names. A user whom somebody adds needs no invitation.
    package var cause = MemberCause.joined
    /// The caller who adds the user, with the rights to check. Is `nil` for a user who joins.
    package var actor: RoomActor?
    /// True if the actor only invites the user.
    package var isInvited = false
    /// True if the user accepts an invitation: without one, the user does not become a member.
    package var needsInvitation = false

    package init(
      user: UserHandle, session: SessionHandle? = nil, rights: Rights, pointer: String, isBounded: Bool,
      cause: MemberCause = .joined, actor: RoomActor? = nil, isInvited: Bool = false, needsInvitation: Bool = false
    ) {
      (self.user, self.session, self.rights, self.pointer) = (user, session, rights, pointer)
      (self.isBounded, self.cause, self.actor) = (isBounded, cause, actor)
      (self.isInvited, self.needsInvitation) = (isInvited, needsInvitation)
    }
  }

  /// The result of ``add(_:to:on:)``.
  package struct Added {
    package let room: RoomHandle
    /// True if the user was no member before. For an invited user, true if the user was not invited before.
    package let isNew: Bool
    /// True if the user is invited, and no member.
    package var isInvited = false

    /// The number of new invitations.
    package var invitationCount: Int { isInvited && isNew ? 1 : 0 }
  }

  /// Makes a user a member of a room, or invites the user. Throws `forbidden` if the room does not exist and the right
  /// `create` is missing. The caller retains the room.
  package func add(_ newcomer: Newcomer, to room: RoomID, on core: isolated Core) async throws -> Added {
    let policy = memory.policy(of: room, on: core)
    guard policy.isStored else { return try addLive(newcomer, to: room, on: core) }
    let loaded = try await load(room, on: core)
    if let loaded, core.hub.isMember(newcomer.user, of: loaded) { return Added(room: loaded, isNew: false) }
    if loaded == nil {
      if newcomer.needsInvitation { throw StoreError.refused(.noInvitation) }
      try newcomer.rights.check(.create, in: room, at: newcomer.pointer)
    }
    if newcomer.isBounded, let loaded { try core.spend(.membership, of: loaded) }
    guard let profile = core.hub.profile(of: newcomer.user) else { throw HubRefusal.gone }
    let now = core.hub.now
    let limits = core.settings.limits
    let bounds = MembershipBounds(
      membersPerRoom: policy.members ?? limits.membersPerRoom, roomsPerUser: limits.roomsPerUser,
      invitations: limits.invitations)
    // The store deletes a room without messages when its last member leaves. The room may still be in memory. The join
    // then stores it again, with the same epoch.
    let epoch = epochToStore(room, on: core)
    let needsInvitation = newcomer.needsInvitation
    let mayCreate = newcomer.rights.contains(.create) && !needsInvitation
    let (actor, isInvited) = (newcomer.actor, newcomer.isInvited)
    beginJoin(of: room)
    let handover = Handover<Result<Added, any Error>>()
    core.submit { transaction -> AddedUser in
      guard let actor, actor != .backend else {
        return .member(
          try transaction.rooms.join(
            profile, room: room, epoch: epoch, now: now, within: bounds, mayCreate: mayCreate,
            isInvited: actor == .backend, needsInvitation: needsInvitation))
      }
      return try transaction.rooms.add(profile, to: room, by: actor, now: now, within: bounds, invites: isInvited)
    } then: { [self] result in
      endJoin(of: room)
      handover.give(
        Result {
          // The store may have deleted the room after it was loaded, because its last member has left.
          if case .failure(.noRoom) = result, !needsInvitation {
            try newcomer.rights.check(.create, in: room, at: newcomer.pointer)
          }
          return try added(newcomer, profile.id, to: room, result.get(), on: core)
        })
    }
    return try await handover.value().get()
  }

  /// Passes on a stored membership or invitation.
  private func added(
    _ newcomer: Newcomer, _ name: UserID, to room: RoomID, _ added: AddedUser, on core: isolated Core
  ) throws(HubRefusal) -> Added {
    switch added {
    case .member(let joined):
      let member = NewMember(user: newcomer.user, name: name, joined: joined, cause: newcomer.cause)
      core.publish([.joined(member)] + .effects(of: joined.invitations))
      guard let handle = core.hub.room(room), core.hub.isMember(newcomer.user, of: handle) else { throw .gone }
      return Added(room: handle, isNew: joined.isNewMember)
    case .invited(let changes):
      core.publish(.effects(of: changes))
      guard let handle = core.hub.room(room) else { throw .gone }
      return Added(room: handle, isNew: changes.made.contains(where: \.isFirst), isInvited: true)
    }
  }

  /// Adds a member to a room that keeps nothing. The members of such a room are the connected users.
  private func addLive(_ newcomer: Newcomer, to room: RoomID, on core: isolated Core) throws -> Added {
    if newcomer.needsInvitation { throw StoreError.refused(.noInvitation) }
    guard let session = newcomer.session else {
      throw RequestError(
        .unsupported, "a room that keeps nothing has members only while they are connected", status: 422)
    }
    guard core.hub.isOpen(session) else { throw HubRefusal.gone }
    let handle = make(room, epoch: RoomMemory.newEpoch(), on: core)
    let isNew = !core.hub.isMember(newcomer.user, of: handle)
    if isNew, newcomer.isBounded { try core.spend(.membership, of: handle) }
    do {
      try core.hub.addMember(newcomer.user, to: handle)
    } catch .tooMany {
      throw StoreError.tooMany(.membersPerRoom)
    }
    if isNew { people.evaluateWatches(of: newcomer.user, on: core) }
    return Added(room: handle, isNew: isNew)
  }

  /// The reply about a membership that a request has made.
  package func membership(
    of user: UserHandle, _ name: UserID, in room: RoomID, _ added: Added, on core: isolated Core
  ) throws(HubRefusal) -> Reply {
    guard let position = core.hub.position(of: added.room) else { throw .gone }
    let facts = core.hub.facts(of: added.room, for: user)
    return Reply(status: added.isNew ? 201 : 200) {
      $0["room"] = room.rawValue
      $0["user"] = name.rawValue
      $0["epoch"] = position.epoch
      $0.integer("seq", position.seq)
      $0.integer("read", facts.read)
      $0.integer("memberCount", facts.memberCount)
    }
  }

  /// The end of a membership.
  package struct Removal {
    package var cause = MemberCause.left
    /// The caller who removes the user, with the rights to check. Is `nil` for a user who leaves.
    package var actor: RoomActor?
    package var ban: RoomBan?

    package static let leave = Removal()
  }

  /// Ends a membership or an invitation, if there is one. The caller retains the room.
  package func remove(
    _ user: UserHandle, from room: RoomID, _ handle: RoomHandle, _ removal: Removal = .leave, on core: isolated Core
  ) async throws {
    guard let name = core.hub.name(of: user) else { throw HubRefusal.gone }
    let member = FormerMember(user: user, name: name, room: room, handle: handle, cause: removal.cause)
    guard memory.policy(of: room, on: core).isStored else {
      guard removal.ban == nil else {
        throw RequestError(.unsupported, "a room that keeps nothing keeps no bans", at: "/room", status: 422)
      }
      people.forgetWithdrawn(user, from: room)
      dismiss(member, on: core)
      return people.evaluateWatches(of: user, on: core)
    }
    let (actor, ban) = (removal.actor, removal.ban)
    people.noteChange(of: name)
    // The store may delete a direct room with its messages.
    let isPair = isPair(handle)
    if isPair { memory.beginDeletion(of: room) }
    _ = try await core.commit {
      if let actor {
        try $0.rooms.remove(name, from: room, by: actor, ban: ban)
      } else {
        try $0.rooms.end(name, room)
      }
    } then: { [self] result in
      if isPair { memory.endDeletion(of: room) }
      guard let left = try? result.get() else { return [] }
      // The user is still a member in the hub, and gets the events of the calls.
      let wasMember = left.wasMember || core.hub.isMember(user, of: handle)
      return (wasMember ? .exclusions(of: name, from: left.calls) + [.left(member)] : [])
        + (left.successor.map { [.role(.owner, of: $0, in: handle, by: nil)] } ?? []) + .effects(of: left.invitations)
    }
  }

  /// Sends the event `room` to the sessions of a user whose membership others have changed.
  package func notify(
    _ user: UserHandle, _ event: String, _ room: RoomID, _ details: RoomDetails? = nil, by caller: UserID?,
    except requester: SessionHandle? = nil, on core: isolated Core
  ) {
    notify(core.hub.sessions(of: user), event, room, details, by: caller, except: requester, on: core)
  }

  /// Sends the event `room` to sessions. Sessions that may not read the record get no event that has it.
  /// - Parameter details: The record. Is `nil` for an event that has only the name of the room.
  package func notify(
    _ sessions: [SessionHandle], _ event: String, _ room: RoomID, _ details: RoomDetails?, by caller: UserID?,
    except requester: SessionHandle?, on core: isolated Core
  ) {
    let others = sessions.filter { $0 != requester }
    let needed = details == nil ? [] : Self.recordRights
    let readers =
      needed.isEmpty ? others : access.sessions(among: others, with: needed, in: room, on: core)
    core.hub.push(Replies.roomEvent(event, room, details, by: caller), to: readers)
  }
}
