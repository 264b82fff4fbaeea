// SPDX-License-Identifier: Apache-2.0
import RelayHub
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
      // A response is posted for a member of the room, with the rights that the room gives its members.
      let withdrawn = hub.user(reporter.user).flatMap { people[$0]?.withdrawn } ?? []
      return withdrawn.contains(room) ? [] : rights(.standard, in: room)
    }
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

  /// Stores the rooms of the user in which the newest token does not give `join`. The relay pushes no messages of
  /// these rooms to the user until a token gives the right again. The memberships stay: another token of the same user
  /// may be for less on purpose.
  func noteWithdrawn(_ permissions: Permissions, of user: UserHandle) async throws {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let isSure = permissions.grants == nil ? settings.rooms.allGive(.join) : permissions.givesEverywhere(.join)
    let rooms = isSure ? [] : try await store.read { try $0.rooms(of: name) }
    let withdrawn = Set(rooms.filter { !rights(permissions, in: $0).contains(.join) })
    guard var person = people[user] ?? (withdrawn.isEmpty ? nil : Person()), person.withdrawn != withdrawn else {
      return
    }
    person.withdrawn = withdrawn
    try await change(user, to: person, cause: nil) { try $0.withdraw(from: withdrawn, $1) }
  }

  /// The membership has ended or has begun anew: no token has withdrawn the right `join` since.
  func forgetWithdrawn(_ user: UserHandle, from room: RoomID) {
    people[user]?.withdrawn.remove(room)
  }

  /// The rights that the sessions in a room have now are others, since its pattern is.
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

  /// What the session did with rights that it has no longer ends.
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
