// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayStore

/// The permissions of sessions and callers, and their rights in rooms.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Access {
  /// The permissions of sessions in token mode.
  private var permissions: [SessionHandle: Permissions] = [:]
  /// The times at which the tokens of sessions were issued, if the tokens contain them.
  private var issued: [SessionHandle: Timestamp] = [:]

  private let memory: RoomMemory
  private let recipients: Recipients

  package init(_ memory: RoomMemory, _ recipients: Recipients) { (self.memory, self.recipients) = (memory, recipients) }

  /// Forgets a session that has ended.
  package func forget(_ session: SessionHandle) {
    permissions[session] = nil
    issued[session] = nil
  }

  /// The time at which the token of a session was issued. Is `nil` if the token does not contain it.
  package func issued(to session: SessionHandle) -> Timestamp? { issued[session] }

  /// Gives a session the permissions of its token, until the token expires.
  package func admit(_ session: SessionHandle, as identity: Identity, on core: isolated Core) {
    core.hub.setExpiry(identity.expires.map { $0 + core.settings.identityGrace }, of: session)
    guard !core.settings.isOpen, core.hub.notifyEnd(of: session) else { return }
    permissions[session] = identity.permissions
    issued[session] = identity.issued
  }

  /// The permissions of a session. A session that has ended has none, although one of its requests may still run.
  package func permissions(of session: SessionHandle, on core: isolated Core) -> Permissions {
    core.settings.isOpen ? .standard : permissions[session] ?? .nothing
  }

  /// The permissions of a session, or of a user with a token. Is `nil` for a backend, which may do everything.
  package func permissions(of caller: Caller, on core: isolated Core) -> Permissions? {
    switch caller {
    case .backend: nil
    case .session(let session): permissions(of: session.session, on: core)
    case .user(let identity): identity.permissions
    case .reporter(let reporter): Self.permissions(of: reporter)
    }
  }

  /// The permissions of a report key: those of the user's newest token.
  private static func permissions(of reporter: ReportKeyOwner) -> Permissions {
    guard let stored = reporter.grants else { return .standard }
    guard let value = JSON(reading: stored), let fields = try? Fields(value),
      let grants = try? TokenClaims(fields).grants()
    else { return .nothing }
    return Permissions(grants: grants, watch: [], account: [])
  }

  /// Throws `not_found` unless the push is addressed to the device of the report key.
  package func check(_ notification: String, isPushedTo reporter: ReportKeyOwner, on core: isolated Core) async throws {
    let isOwn = try await core.store.read { try $0.queue.isPush(notification, to: reporter.device, of: reporter.user) }
    guard isOwn else {
      throw RequestError(.notFound, "this device has no such notification, or it is no longer kept", at: "/path/id")
    }
  }

  // MARK: Rights in rooms

  /// The rights of a backend, or of a user who is a member.
  package func rights(of caller: Caller, in room: RoomID, on core: isolated Core) -> Rights {
    guard let permissions = permissions(of: caller, on: core) else {
      return [.standard, .moderate, .mentionAll]
    }
    if case .reporter(let reporter) = caller, let user = core.hub.user(reporter.user),
      recipients[user].withdrawn.contains(room)
    {
      // A report key posts for a member of the room, with the rights that the user's newest token gives there.
      return []
    }
    var rights = rights(permissions, in: room, on: core)
    // A token that does not even let its user join gives no more by a role.
    if rights.contains(.join), let user = caller.owner.flatMap(core.hub.user), let handle = core.hub.room(room),
      core.hub.role(of: user, in: handle) >= .moderator
    {
      rights.formUnion([.moderate, .mentionAll])
    }
    return rights
  }

  /// True if a caller may read a stored text: by its rights in the room, or because the message was sent to its session
  /// since the session joined.
  package func mayRead(
    _ text: StoredText, of seq: Int64, _ caller: Caller, _ access: RoomAccess, on core: isolated Core
  ) -> Bool {
    if text.isReadable(with: access.rights) { return true }
    guard text.includesLive, let session = caller.session else { return false }
    return core.hub.mayRead(seq, by: session, in: access.handle)
  }

  /// The sessions whose tokens give these rights in a room. A room can have many sessions, so its pattern is found only
  /// once.
  package func sessions(
    among sessions: [SessionHandle], with needed: Rights, in room: RoomID, on core: isolated Core
  ) -> [SessionHandle] {
    let need = RoomNeed(
      needed, in: room, pattern: memory.policy(of: room, on: core).can, isOpen: core.settings.isOpen)
    if core.settings.isOpen { return need.isMet(by: .standard) ? sessions : [] }
    return sessions.filter { need.isMet(by: permissions(of: $0, on: core)) }
  }

  /// True if a caller has the right `moderate` without a role in the room.
  package func moderates(_ caller: Caller, in room: RoomID, on core: isolated Core) -> Bool {
    guard let permissions = permissions(of: caller, on: core) else { return true }
    return rights(permissions, in: room, on: core).contains(.moderate)
  }

  /// The caller as the store checks it against the roles of a room. The role in memory may be older than the store's.
  package func actor(of caller: Caller, in room: RoomID, on core: isolated Core) -> RoomActor {
    guard let owner = caller.owner else { return .backend }
    return .user(owner, moderates: moderates(caller, in: room, on: core))
  }

  /// The rights of a session in a room that it has joined.
  package func rights(of session: SessionHandle, in room: RoomID, on core: isolated Core) -> Rights {
    rights(permissions(of: session, on: core), in: room, on: core)
  }

  package func rights(
    _ permissions: Permissions, in room: RoomID, isMember: Bool = true, on core: isolated Core
  ) -> Rights {
    let pattern = memory.policy(of: room, on: core).can
    return permissions.rights(in: room, pattern: pattern, isMember: isMember, isOpen: core.settings.isOpen)
  }

  // MARK: Withdrawn rights

  /// The rooms of the user in which a token does not give `join`.
  ///
  /// A user may be in 1,000 rooms, and a token may have 100 patterns, so a reader's thread compares them.
  package func withdrawnRooms(
    _ permissions: Permissions, of user: UserHandle, on core: isolated Core
  ) async throws -> Set<RoomID> {
    guard let name = core.hub.name(of: user) else { throw HubRefusal.gone }
    let patterns = core.settings.rooms
    let needed = StoredText.push.rights
    let isSure = permissions.grants == nil ? patterns.allGive(needed) : permissions.givesEverywhere(needed)
    guard !isSure else { return [] }
    return try await core.store.read { [isOpen = core.settings.isOpen] reader in
      let rooms = try reader.rooms.names(of: name).filter { room in
        let pattern = patterns.policy(for: room).can
        return !permissions.rights(in: room, pattern: pattern, isMember: true, isOpen: isOpen).isSuperset(of: needed)
      }
      return Set(rooms)
    }
  }

  /// Applies the new pattern of a room to the sessions in it.
  package func withdraw(in room: RoomHandle, on core: isolated Core) {
    guard let name = core.hub.name(of: room) else { return }
    for session in core.hub.sessions(in: room) {
      withdraw(from: session, in: room, rights(of: session, in: name, on: core), on: core)
    }
  }

  /// Removes a session from the rooms that its new token does not permit. The user stays a member.
  package func withdraw(from session: SessionHandle, _ permissions: Permissions, on core: isolated Core) {
    for room in core.hub.rooms(of: session) {
      guard let name = core.hub.name(of: room) else { continue }
      withdraw(from: session, in: room, rights(permissions, in: name, on: core), on: core)
    }
  }

  private func withdraw(from session: SessionHandle, in room: RoomHandle, _ rights: Rights, on core: isolated Core) {
    guard !rights.contains(.join) else { return core.hub.setRights(RoomRights(rights), of: session, in: room) }
    try? core.hub.leave(session, room)
    let name = core.hub.name(of: room)
    let error = RequestError(.forbidden, "the right join was withdrawn; this session gets no more events of the room")
    core.hub.push(core.refusal(nil, error, room: name), to: session)
  }
}

extension RoomRights {
  /// The rights that the hub checks.
  package init(_ rights: Rights) {
    self = []
    if rights.contains(.send) { insert(.send) }
    if rights.contains(.presence) { insert(.presence) }
    if rights.contains(.moderate) { insert(.moderate) }
    if StoredText.quote.isReadable(with: rights), StoredText.changeEvent.isReadable(with: rights) { insert(.history) }
  }
}
