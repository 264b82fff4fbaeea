// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayStore

/// What sessions may do.
extension Relay {
  /// From now on the session has what its token gives, until that ends.
  func admit(_ session: SessionHandle, as identity: Identity) {
    hub.setExpiry(identity.expires.map { $0 + identityGrace }, of: session)
    guard !isOpen, hub.tellEnd(of: session) else { return }
    permissions[session] = identity.permissions
  }

  /// True if the relay trusts the user name that a client sends.
  var isOpen: Bool { if case .open = authentication { true } else { false } }

  /// The session's permissions. A session that has ended has none, although a request of it may still be under way.
  func permissions(of session: SessionHandle) -> Permissions {
    isOpen ? .standard : permissions[session] ?? .nothing
  }

  /// The rights of a session in a room that it has joined.
  func rights(of session: SessionHandle, in room: RoomID) -> Rights {
    rights(permissions(of: session), in: room)
  }

  /// The rights of a member.
  func rights(_ permissions: Permissions, in room: RoomID, isMember: Bool = true) -> Rights {
    permissions.rights(in: room, pattern: policy(of: room).can, isMember: isMember, isOpen: isOpen)
  }

  /// The rights of a user who may not be a member yet. The caller has pinned the room.
  ///
  /// Reads the store only where membership decides.
  func rights(_ permissions: Permissions, of user: UserHandle, joining room: RoomID) async throws -> Rights {
    let rights = rights(permissions, in: room, isMember: false)
    guard self.rights(permissions, in: room) != rights else { return rights }
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let handle = try await self.room(room, for: name)
    let isMember = handle.map { hub.isMember(user, of: $0) } ?? false
    return self.rights(permissions, in: room, isMember: isMember)
  }

  /// The rights of a backend, or of a user who is a member.
  func rights(of caller: Caller, in room: RoomID) -> Rights {
    switch caller {
    case .backend: return [.standard, .moderate]
    case .user(let identity): return rights(identity.permissions, in: room)
    case .reporter(let reporter):
      // A report key posts for a member of the room, with the rights that the user's newest token gives there.
      let withdrawn = hub.user(reporter.user).flatMap { people[$0]?.withdrawn } ?? []
      return withdrawn.contains(room) ? [] : rights(permissions(of: reporter), in: room)
    }
  }

  /// The permissions of the user's newest token.
  private func permissions(of reporter: ReportKeyOwner) -> Permissions {
    guard let stored = reporter.grants else { return .standard }
    guard let fields = try? parser.parse(stored), let grants = try? TokenClaims(fields).grants() else {
      return .nothing
    }
    return Permissions(grants: grants, watch: [], account: [])
  }

  /// Throws `forbidden` where one of them is missing.
  func check(_ needed: Rights, of rights: Rights, in room: RoomID, at place: String) throws(RequestError) {
    let missing = needed.subtracting(rights)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the right \(missing.names.joined(separator: ", ")) is needed in \(room)", at: place)
    }
  }

  /// Throws `forbidden` where the token does not allow this change of the user's own account.
  func check(_ needed: AccountRights, of permissions: Permissions) throws(RequestError) {
    let missing = needed.subtracting(permissions.account)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the token does not allow this: its claim `account` needs \(missing.names.joined(separator: ", "))")
    }
  }

  /// Throws `forbidden` where the caller's token does not allow this change of the user's own account.
  func check(_ needed: AccountRights, of caller: Caller) throws(RequestError) {
    if case .user(let identity) = caller { try check(needed, of: identity.permissions) }
  }

  /// The rooms of the user in which a token does not give `join`.
  ///
  /// A user may have 1,000 rooms and a token 100 patterns, so the reader's thread compares them.
  func withdrawnRooms(_ permissions: Permissions, of user: UserHandle) async throws -> Set<RoomID> {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let isSure = permissions.grants == nil ? settings.rooms.allGive(.join) : permissions.givesEverywhere(.join)
    guard !isSure else { return [] }
    return try await store.read { [patterns = settings.rooms, isOpen] reader in
      let rooms = try reader.rooms.names(of: name).filter { room in
        let pattern = patterns.policy(for: room).can
        return !permissions.rights(in: room, pattern: pattern, isMember: true, isOpen: isOpen).contains(.join)
      }
      return Set(rooms)
    }
  }

  /// Keeps what the newest token of a user gives in rooms.
  ///
  /// The relay pushes no messages of the withdrawn rooms to the user until a token gives the right again. The
  /// memberships stay: another token of the same user may be for less on purpose.
  /// - Parameter withdrawn: The result of ``withdrawnRooms(_:of:)``.
  func note(_ permissions: Permissions, withdrawing withdrawn: Set<RoomID>, of user: UserHandle) {
    guard let name = hub.name(of: user) else { return }
    if !isOpen { saveGrants(permissions, of: name) }
    var person = recipient(user)
    guard person.withdrawn != withdrawn else { return }
    person.withdrawn = withdrawn
    // In memory the rights count at once. A disk that is full delays the write, and not the session.
    saveLate(.withdrawn(name)) {
      try $0.people.withdraw(from: withdrawn, name)
      try $0.people.noteChange(of: name)
    }
    noteChange(of: name)
    show(person, of: user)
    deliveries.holds.reconsider(user, on: self)
  }

  private func saveGrants(_ permissions: Permissions, of user: UserID) {
    let grants = permissions.grants?.json
    saveLate(.grants(user)) { try $0.people.save(grants: grants, of: user) }
  }

  /// Keeps the rights of a token that registered a device over HTTP: its report key posts with them.
  func noteGrants(of caller: Caller) {
    guard !isOpen, case .user(let identity) = caller else { return }
    saveGrants(identity.permissions, of: identity.id)
  }

  /// Forgets a withdrawal of the right `join` when the membership ends or begins again.
  func forgetWithdrawn(_ user: UserHandle, from room: RoomID) {
    people[user]?.withdrawn.remove(room)
  }

  /// Applies the new pattern of a room to the sessions in it.
  func withdraw(in room: RoomHandle) {
    guard let name = hub.name(of: room) else { return }
    for session in hub.sessions(in: room) { withdraw(from: session, in: room, rights(of: session, in: name)) }
  }

  private func withdraw(from session: SessionHandle, in room: RoomHandle, _ rights: Rights) {
    guard !rights.contains(.join) else { return hub.setRights(RoomRights(rights), of: session, in: room) }
    try? hub.leave(session, room)
    let name = hub.name(of: room)
    let error = RequestError(.forbidden, "the right join was withdrawn: this session no longer hears the room")
    hub.push(refusal(nil, error, room: name), to: session)
  }

  /// Ends the memberships and watches of a session that its new token does not permit.
  func withdraw(from session: SessionHandle, _ permissions: Permissions, _ user: UserHandle) {
    for room in hub.rooms(of: session) {
      if let name = hub.name(of: room) { withdraw(from: session, in: room, rights(permissions, in: name)) }
    }
    judgeWatches(of: session, user)
  }
}

extension RoomRights {
  /// What the hub looks at.
  init(_ rights: Rights) {
    self = []
    if rights.contains(.send) { insert(.send) }
    if rights.contains(.presence) { insert(.presence) }
  }
}
