// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
import RelayIdentity
package import RelayProtocol
package import RelayRequests
import RelayStore

/// The presence of users as other users may see it, and the watches on them.
extension People {
  /// The right that a viewer needs in a common room to see the presence of its members.
  package static let sharedRoom = RoomUse.found(.presence, "the presence of users in a common room", isRead: true)

  /// The users who share with a viewer a room in which the viewer may see presence.
  package struct RelatedUsers {
    package let users: Set<UserID>
    /// True if ``users`` also covers the rooms in memory, because the viewer may not see presence in all rooms. If
    /// false, the hub checks the rooms in memory.
    package let isEvaluated: Bool
  }

  /// The maximum number of users in one request of a user, and in one request of a backend.
  package static let maxNames = 256, maxNamesOfBackend = 1_000
  /// The number of names that costs as much as one request: the store searches the common rooms of each user.
  package static let namesPerRequest = 32

  /// Returns the users' presence as the caller may see it. Throws `forbidden` for a user who shares no room with the
  /// caller, unless the token permits the caller to watch that user.
  package func entries(of users: [UserID], for caller: Caller, on core: isolated Core) async throws -> [[UInt8]] {
    guard let viewer = try caller.viewer(core.hub) else { return try await entries(of: users, on: core) }
    try core.spend(.request, of: viewer, count: users.count / Self.namesPerRequest)
    let handles = try await retain(users, on: core)
    defer { handles.forEach(core.hub.release) }
    guard let permissions = access.permissions(of: caller, on: core) else {
      return handles.map { core.hub.entry(of: $0, seenBy: nil, isRelated: true) ?? [] }
    }
    let relatedUsers = try await relatedUsers(of: viewer, permissions, among: users, on: core)
    return try zip(users, handles).map { name, handle in
      let isSeen = sees(handle, name, by: viewer, relatedUsers, on: core)
      if !isSeen { try checkMayWatch(name, permissions, on: core) }
      return core.hub.entry(of: handle, seenBy: viewer, isRelated: isSeen) ?? []
    }
  }

  /// Returns the users' whole presence, for a backend.
  ///
  /// It loads the users in parts, and releases each part before the next one. So many users hold neither the hub's
  /// thread nor the memory.
  private func entries(of users: [UserID], on core: isolated Core) async throws -> [[UInt8]] {
    var entries: [[UInt8]] = []
    entries.reserveCapacity(users.count)
    for start in stride(from: 0, to: users.count, by: Self.namesPerPart) {
      if start > 0 { await Task.yield() }
      let part = users[start..<min(start + Self.namesPerPart, users.count)]
      let handles = try await retain(Array(part), on: core)
      defer { handles.forEach(core.hub.release) }
      entries += handles.map { core.hub.entry(of: $0, seenBy: nil, isRelated: true) ?? [] }
    }
    return entries
  }

  /// The number of users that ``entries(of:on:)`` loads at once.
  private static let namesPerPart = 64

  /// Subscribes a session to the presence of users.
  /// - Returns: The current presence of the users.
  package func watch(
    _ names: [UserID], from session: SessionHandle, of viewer: UserHandle, on core: isolated Core
  ) async throws -> [[UInt8]] {
    let tooMany = RequestError(.tooLarge, "the limit `watched` is exceeded", at: "/users")
    try core.spend(.request, of: viewer, count: names.count / Self.namesPerRequest)
    let users = try await retain(names, on: core)
    defer { users.forEach(core.hub.release) }
    do {
      try core.hub.checkMayWatch(session, users)
    } catch .tooMany {
      throw tooMany
    }
    let permissions = access.permissions(of: session, on: core)
    let relatedUsers = try await stableRelatedUsers(of: viewer, permissions, among: names, on: core)
    for (name, handle) in zip(names, users) where !sees(handle, name, by: viewer, relatedUsers, on: core) {
      try checkMayWatch(name, permissions, on: core)
    }
    for (name, handle) in zip(names, users) {
      do {
        try core.hub.watch(
          session, handle, isRelated: relatedUsers.users.contains(name), isEvaluated: relatedUsers.isEvaluated)
      } catch .tooMany {  // another request of the session came first
        throw tooMany
      }
    }
    return zip(names, users).map { name, handle in
      core.hub.entry(
        of: handle, seenBy: viewer, isRelated: sees(handle, name, by: viewer, relatedUsers, on: core)) ?? []
    }
  }

  // MARK: Relatives

  /// The users among `users` who share a room with `viewer` in which these permissions give ``Rights/presence``.
  ///
  /// If all rooms give it, this reads only the stored rooms: the hub knows the rooms in memory.
  private func relatedUsers(
    of viewer: UserHandle, _ permissions: Permissions, among users: [UserID], on core: isolated Core
  ) async throws -> RelatedUsers {
    guard let name = core.hub.name(of: viewer) else { throw HubRefusal.gone }
    let needed = Self.sharedRoom.rights
    guard permissions.grants != nil || !core.settings.rooms.allGive(needed) else {
      return RelatedUsers(
        users: try await core.store.read { try $0.rooms.relatedUsers(of: name, among: users) }, isEvaluated: false)
    }
    func shows(_ room: RoomID) -> Bool {
      access.rights(permissions, in: room, on: core).isSuperset(of: needed)
    }
    let rooms = try await core.store.read { try $0.rooms.names(of: name) }.filter(shows)
    var found = try await core.store.read { try $0.rooms.members(of: rooms, among: users) }
    for user in users where !found.contains(user) {
      guard let other = core.hub.user(user) else { continue }
      let shared = core.hub.rooms(sharedBy: viewer, other).compactMap(core.hub.name(of:))
      if shared.contains(where: shows) { found.insert(user) }
    }
    return RelatedUsers(users: found, isEvaluated: true)
  }

  /// Returns the same. Reads again if one of the users has joined or left a room during the read.
  private func stableRelatedUsers(
    of viewer: UserHandle, _ permissions: Permissions, among users: [UserID], on core: isolated Core
  ) async throws -> RelatedUsers {
    beginReading()
    defer { endReading() }
    for _ in 0..<Self.maxReads {
      let since = newestChange
      let relatedUsers = try await relatedUsers(of: viewer, permissions, among: users, on: core)
      let names = [core.hub.name(of: viewer)].compactMap { $0 } + users
      if !names.contains(where: { hasChanged($0, since: since) }) { return relatedUsers }
    }
    throw RequestError(.unavailable, "the memberships change too fast to be read", retryAfter: .seconds(1))
  }

  /// The maximum number of reads while the memberships change.
  private static let maxReads = 20

  /// True if `viewer` sees the user because they share a room.
  private func sees(
    _ user: UserHandle, _ name: UserID, by viewer: UserHandle, _ relatedUsers: RelatedUsers, on core: isolated Core
  ) -> Bool {
    user == viewer || relatedUsers.users.contains(name)
      || (!relatedUsers.isEvaluated && core.hub.sharesRoom(viewer, user))
  }

  /// True if the token permits the caller to watch a user who shares no room with the caller.
  private func mayWatch(_ user: UserID, _ permissions: Permissions, on core: isolated Core) -> Bool {
    core.settings.isOpen || permissions.mayWatch(user)
  }

  private func checkMayWatch(_ user: UserID, _ permissions: Permissions, on core: isolated Core) throws(RequestError) {
    guard mayWatch(user, permissions, on: core) else {
      throw RequestError(.forbidden, "you share no room with \(user)", at: "/users")
    }
  }

  // MARK: Watches that may have to end

  /// Checks the watches of a user who has joined or left a room, and the watches on that user.
  package func evaluateWatches(of user: UserHandle, on core: isolated Core) {
    evaluate(core.hub.watches(of: user), on: core)
  }

  /// Checks all watches after the settings have changed the rights in rooms.
  package func evaluateAllWatches(on core: isolated Core) {
    evaluate(core.hub.watches, on: core)
  }

  /// The watches of the members of a room on each other, before the caller deletes the room from memory.
  package func watches(among members: [UserID], of room: RoomHandle, on core: isolated Core) -> [Watching] {
    guard members.count > 1 else { return [] }
    return members.compactMap { core.hub.user($0) }.flatMap { member in
      core.hub.watches(of: member).filter { $0.viewer == member && core.hub.isMember($0.user, of: room) }
    }
  }

  /// Checks the watches of a session after its permissions have changed.
  package func evaluateWatches(of session: SessionHandle, _ user: UserHandle, on core: isolated Core) {
    evaluate(core.hub.watches(of: user).filter { $0.session == session }, on: core)
  }

  /// Checks these watches.
  package func evaluate(_ watches: [Watching], on core: isolated Core) {
    for (session, watched) in Dictionary(grouping: watches, by: \.session) {
      Task { await evaluate(watched, of: session, on: core) }
    }
  }

  /// Ends the watches of a session that are no longer permitted.
  private func evaluate(_ watches: [Watching], of session: SessionHandle, on core: isolated Core) async {
    guard let viewer = watches.first?.viewer else { return }
    let permissions = access.permissions(of: session, on: core)
    let names = watches.map { core.hub.name(of: $0.user) }
    let relatedUsers: RelatedUsers
    do {
      relatedUsers = try await stableRelatedUsers(
        of: viewer, permissions, among: names.compactMap { $0 }, on: core)
    } catch {
      // Until the watches are evaluated again, the relay hides the Focus: it might not be shared with the viewer.
      for watching in watches { core.hub.relate(watching, isRelated: false, isEvaluated: true) }
      if await core.waitBeforeRetry(after: error) { evaluateWatches(of: session, viewer, on: core) }
      return
    }
    // The session may have got a token with other rights during the read. Its own check may have run before this one.
    guard access.permissions(of: session, on: core) == permissions else {
      return evaluateWatches(of: session, viewer, on: core)
    }
    for (watching, name) in zip(watches, names) {
      guard let name else { continue }
      if sees(watching.user, name, by: viewer, relatedUsers, on: core) || mayWatch(name, permissions, on: core) {
        core.hub.relate(watching, isRelated: relatedUsers.users.contains(name), isEvaluated: relatedUsers.isEvaluated)
      } else {
        core.hub.unwatch(session, watching.user)
      }
    }
  }
}

extension People: Follower {
  package func follow(_ change: Change, on core: isolated Core) {
    switch change {
    case .joined(let member):
      if member.joined.isNewMember { forgetWithdrawn(member.user, from: member.joined.record.room) }
      membershipChanged(of: member.user, member.name, on: core)
    case .left(let member):
      forgetWithdrawn(member.user, from: member.room)
      membershipChanged(of: member.user, member.name, on: core)
    case .roomDeleted(let deleted):
      for name in deleted.members { noteChange(of: name) }
      evaluate(deleted.watches, on: core)
    case .userAccess(let user):
      noteChange(of: user)
      if let handle = core.hub.user(user) {
        var recipient = recipients[handle]
        recipient.suspension = restrictions.access(of: user).suspension
        show(recipient, of: handle, on: core)
      }
    case .erasing(let user):
      noteChange(of: user)
      forgetToken(of: user)
      guard let handle = core.hub.user(user) else { return }
      core.hub.retain(handle)
      defer { core.hub.release(handle) }
      for other in recipients[handle].blocked { core.hub.setBlocked(false, other, by: handle) }
      show(Recipient(), of: handle, on: core)
      core.hub.setProfile(User(id: user), of: handle)
      core.hub.forgetSeen(handle)
    case .sent, .edited, .deleted, .annotated, .role, .restricted, .record, .call, .invitations, .loaded, .pushed,
      .heldDue, .person, .marked, .listChanged:
      break
    }
  }

  private func membershipChanged(of user: UserHandle, _ name: UserID, on core: isolated Core) {
    noteChange(of: name)
    evaluateWatches(of: user, on: core)
  }
}
