// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayStore

/// The permissions of sessions and callers, and their withdrawal.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Access {
  /// The permissions of sessions in token mode.
  private var permissions: [SessionHandle: Permissions] = [:]
  /// The times at which the tokens of sessions were issued, if the tokens contain them.
  private var issued: [SessionHandle: Timestamp] = [:]

  /// Forgets a session that has ended.
  package func forget(_ session: SessionHandle) {
    permissions[session] = nil
    issued[session] = nil
  }

  /// The time at which the token of a session was issued. Is `nil` if the token does not contain it.
  func issued(to session: SessionHandle) -> Timestamp? { issued[session] }

  /// Gives a session the permissions of its token, until the token expires.
  package func admit(_ session: SessionHandle, as identity: Identity, on relay: isolated Relay) {
    relay.hub.setExpiry(identity.expires.map { $0 + relay.settings.identityGrace }, of: session)
    guard !relay.settings.isOpen, relay.hub.notifyEnd(of: session) else { return }
    permissions[session] = identity.permissions
    issued[session] = identity.issued
  }

  /// The permissions of a session. A session that has ended has none, although one of its requests may still run.
  package func permissions(of session: SessionHandle, on relay: isolated Relay) -> Permissions {
    relay.settings.isOpen ? .standard : permissions[session] ?? .nothing
  }

  /// The permissions of a session, or of a user with a token. Is `nil` for a backend, which may do everything.
  package func permissions(of caller: Caller, on relay: isolated Relay) -> Permissions? {
    switch caller {
    case .backend: nil
    case .session(let session): permissions(of: session.session, on: relay)
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
  package func check(_ notification: String, isPushedTo reporter: ReportKeyOwner, on relay: isolated Relay) async throws
  {
    let isOwn = try await relay.store.read { try $0.queue.isPush(notification, to: reporter.device, of: reporter.user) }
    guard isOwn else {
      throw RequestError(.notFound, "this device has no such notification, or it is no longer kept", at: "/path/id")
    }
  }

  // MARK: Rights in rooms

  /// The rights of a backend, or of a user who is a member.
  package func rights(of caller: Caller, in room: RoomID, on relay: isolated Relay) -> Rights {
    guard let permissions = permissions(of: caller, on: relay) else {
      return [.standard, .moderate, .mentionAll]
    }
    if case .reporter(let reporter) = caller, let user = relay.hub.user(reporter.user),
      relay.people.recipient(user).withdrawn.contains(room)
    {
      // A report key posts for a member of the room, with the rights that the user's newest token gives there.
      return []
    }
    var rights = rights(permissions, in: room, on: relay)
    // A token that does not even let its user join gives no more by a role.
    if rights.contains(.join), let user = caller.owner.flatMap(relay.hub.user), let handle = relay.hub.room(room),
      relay.hub.role(of: user, in: handle) >= .moderator
    {
      rights.formUnion([.moderate, .mentionAll])
    }
    return rights
  }

  /// True if a caller may read a stored text: by its rights in the room, or because the message was sent to its session
  /// since the session joined.
  func mayRead(
    _ text: StoredText, of seq: Int64, _ caller: Caller, _ access: RoomAccess, on relay: isolated Relay
  ) -> Bool {
    if text.isReadable(with: access.rights) { return true }
    guard text.includesLive, let session = caller.session else { return false }
    return relay.hub.mayRead(seq, by: session, in: access.handle)
  }

  /// The sessions whose tokens give these rights in a room. A room can have many sessions, so its pattern is found only
  /// once.
  func sessions(
    among sessions: [SessionHandle], with needed: Rights, in room: RoomID, on relay: isolated Relay
  ) -> [SessionHandle] {
    let need = RoomNeed(
      needed, in: room, pattern: relay.rooms.policy(of: room, on: relay).can, isOpen: relay.settings.isOpen)
    if relay.settings.isOpen { return need.isMet(by: .standard) ? sessions : [] }
    return sessions.filter { need.isMet(by: permissions(of: $0, on: relay)) }
  }

  /// True if a caller has the right `moderate` without a role in the room.
  func moderates(_ caller: Caller, in room: RoomID, on relay: isolated Relay) -> Bool {
    guard let permissions = permissions(of: caller, on: relay) else { return true }
    return rights(permissions, in: room, on: relay).contains(.moderate)
  }

  /// The rights of a session in a room that it has joined.
  package func rights(of session: SessionHandle, in room: RoomID, on relay: isolated Relay) -> Rights {
    rights(permissions(of: session, on: relay), in: room, on: relay)
  }

  package func rights(
    _ permissions: Permissions, in room: RoomID, isMember: Bool = true, on relay: isolated Relay
  ) -> Rights {
    let pattern = relay.rooms.policy(of: room, on: relay).can
    return permissions.rights(in: room, pattern: pattern, isMember: isMember, isOpen: relay.settings.isOpen)
  }

  /// The rights of a user who may not be a member yet. Reads the store only if the rights depend on the membership. The
  /// caller retains the room.
  package func rights(
    _ permissions: Permissions, of user: UserHandle, joining room: RoomID, on relay: isolated Relay
  ) async throws -> Rights {
    let rights = rights(permissions, in: room, isMember: false, on: relay)
    guard self.rights(permissions, in: room, on: relay) != rights else { return rights }
    guard let name = relay.hub.name(of: user) else { throw HubRefusal.gone }
    let handle = try await relay.rooms.room(room, for: name, on: relay)
    var isMember = handle.map { relay.hub.isMember(user, of: $0) } ?? false
    // An invited user has the rights of a member.
    if !isMember { isMember = try await relay.store.read { try $0.invitations.isInvited(name, to: room) } }
    return self.rights(permissions, in: room, isMember: isMember, on: relay)
  }

  // MARK: Withdrawn rights

  /// The rooms of the user in which a token does not give `join`.
  ///
  /// A user may be in 1,000 rooms, and a token may have 100 patterns, so a reader's thread compares them.
  func withdrawnRooms(
    _ permissions: Permissions, of user: UserHandle, on relay: isolated Relay
  ) async throws -> Set<RoomID> {
    guard let name = relay.hub.name(of: user) else { throw HubRefusal.gone }
    let patterns = relay.settings.rooms
    let needed = StoredText.push.rights
    let isSure = permissions.grants == nil ? patterns.allGive(needed) : permissions.givesEverywhere(needed)
    guard !isSure else { return [] }
    return try await relay.store.read { [isOpen = relay.settings.isOpen] reader in
      let rooms = try reader.rooms.names(of: name).filter { room in
        let pattern = patterns.policy(for: room).can
        return !permissions.rights(in: room, pattern: pattern, isMember: true, isOpen: isOpen).isSuperset(of: needed)
      }
      return Set(rooms)
    }
  }

  /// Stores the rights of a user's newest token, and stops pushes from rooms in which it does not give `join`.
  ///
  /// The relay pushes no messages of the withdrawn rooms to the user until a later token gives the right again. The
  /// memberships stay, because another token of the same user may have fewer rights on purpose.
  /// - Parameter withdrawn: The result of ``withdrawnRooms(_:of:on:)``.
  package func note(
    _ permissions: Permissions, withdrawing withdrawn: Set<RoomID>, of user: UserHandle, on relay: isolated Relay
  ) {
    guard let name = relay.hub.name(of: user) else { return }
    if !relay.settings.isOpen { saveGrants(permissions, of: name, on: relay) }
    var recipient = relay.people.recipient(user)
    guard recipient.withdrawn != withdrawn else { return }
    recipient.withdrawn = withdrawn
    // In memory the rights apply at once. A full disk delays the write, but not the session.
    relay.late.save(.withdrawn(name), on: relay) {
      try $0.people.withdraw(from: withdrawn, name)
      try $0.people.noteChange(of: name)
    }
    relay.people.noteChange(of: name)
    relay.people.show(recipient, of: user, on: relay)
    relay.follow(.person(name))
  }

  /// Stores the rights of a token that registers a device over HTTP. The report key of the device uses them.
  func noteGrants(of caller: Caller, on relay: isolated Relay) {
    guard !relay.settings.isOpen, case .user(let identity) = caller else { return }
    saveGrants(identity.permissions, of: identity.id, on: relay)
  }

  private func saveGrants(_ permissions: Permissions, of user: UserID, on relay: isolated Relay) {
    let grants = permissions.grants?.json
    relay.late.save(.grants(user), on: relay) { try $0.people.save(grants: grants, of: user) }
  }

  /// Applies the new pattern of a room to the sessions in it.
  package func withdraw(in room: RoomHandle, on relay: isolated Relay) {
    guard let name = relay.hub.name(of: room) else { return }
    for session in relay.hub.sessions(in: room) {
      withdraw(from: session, in: room, rights(of: session, in: name, on: relay), on: relay)
    }
  }

  /// Removes a session from the rooms, and ends the watches, that its new token does not permit. The user stays a
  /// member.
  package func withdraw(
    from session: SessionHandle, _ permissions: Permissions, _ user: UserHandle, on relay: isolated Relay
  ) {
    for room in relay.hub.rooms(of: session) {
      guard let name = relay.hub.name(of: room) else { continue }
      withdraw(from: session, in: room, rights(permissions, in: name, on: relay), on: relay)
    }
    relay.people.evaluateWatches(of: session, user, on: relay)
  }

  private func withdraw(from session: SessionHandle, in room: RoomHandle, _ rights: Rights, on relay: isolated Relay) {
    guard !rights.contains(.join) else { return relay.hub.setRights(RoomRights(rights), of: session, in: room) }
    try? relay.hub.leave(session, room)
    let name = relay.hub.name(of: room)
    let error = RequestError(.forbidden, "the right join was withdrawn; this session gets no more events of the room")
    relay.hub.push(relay.refusal(nil, error, room: name), to: session)
  }
}

extension Rights {
  /// Throws `forbidden` if one of the needed rights is missing.
  /// - Parameter pointer: The JSON pointer of the room in the request.
  package func check(_ needed: Rights, in room: RoomID, at pointer: String) throws(RequestError) {
    let missing = needed.subtracting(self)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the right \(missing.names.joined(separator: ", ")) is needed in \(room)", at: pointer)
    }
  }
}

extension Permissions {
  /// Throws `forbidden` if the token does not permit this change of the user's own account.
  package func check(_ needed: AccountRights) throws(RequestError) {
    let missing = needed.subtracting(account)
    guard missing.isEmpty else {
      throw RequestError(
        .forbidden, "the token does not allow this: its claim `account` needs \(missing.names.joined(separator: ", "))")
    }
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
