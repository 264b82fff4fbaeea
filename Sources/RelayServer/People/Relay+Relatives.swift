// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayStore

/// Who shares a room with whom, and so may be seen.
extension Relay {
  /// The people who share a room with somebody, as far as that one may see who is there.
  struct Relatives {
    let users: Set<UserID>
    /// Rooms in memory are among what was looked at, because not each of them may be looked into.
    let isJudged: Bool
  }

  /// Who of `users` shares a room with `viewer` in which these permissions give ``Rights/presence``.
  ///
  /// Without limits only stored rooms are looked at: of those in memory the hub knows.
  func relatives(of viewer: UserHandle, _ permissions: Permissions, among users: [UserID]) async throws -> Relatives {
    guard let name = hub.name(of: viewer) else { throw HubRefusal.gone }
    guard permissions.grants != nil || !settings.rooms.allGive(.presence) else {
      return Relatives(users: try await store.read { try $0.rooms.relatives(of: name, among: users) }, isJudged: false)
    }
    func shows(_ room: RoomID) -> Bool { rights(permissions, in: room).contains(.presence) }
    let rooms = try await store.read { try $0.rooms.names(of: name) }.filter(shows)
    var found = try await store.read { try $0.rooms.members(of: rooms, among: users) }
    for user in users where !found.contains(user) {
      guard let other = hub.user(user) else { continue }
      if hub.rooms(sharedBy: viewer, other).compactMap(hub.name(of:)).contains(where: shows) { found.insert(user) }
    }
    return Relatives(users: found, isJudged: true)
  }

  /// The same, and that nobody joined or left while it was read.
  func steadyRelatives(
    of viewer: UserHandle, _ permissions: Permissions, among users: [UserID]
  ) async throws -> Relatives {
    beginReading()
    defer { endReading() }
    for _ in 0..<Self.mostReads {
      let since = changes
      let relatives = try await relatives(of: viewer, permissions, among: users)
      let hasChanged =
        hub.name(of: viewer).map { self.hasChanged($0, since: since) } ?? false
        || users.contains { self.hasChanged($0, since: since) }
      if !hasChanged { return relatives }
    }
    throw RequestError(.unavailable, "what was asked for changes too fast", retryAfter: .seconds(1))
  }

  /// How often something that changes is read before it is given up.
  static let mostReads = 20

  /// Whether `viewer` sees the user for sharing a room.
  func sees(_ user: UserHandle, _ name: UserID, by viewer: UserHandle, _ relatives: Relatives) -> Bool {
    user == viewer || relatives.users.contains(name) || (!relatives.isJudged && hub.sharesRoom(viewer, user))
  }

  // MARK: Watches

  /// After somebody has joined or left: what those see who watch them, and what they see of whom they watch.
  func judgeWatches(of user: UserHandle) {
    judge(hub.watches(of: user))
  }

  /// After the settings have changed what rooms let their members see.
  func judgeWatches() {
    judge(hub.watches)
  }

  private func judge(_ watches: [Watching]) {
    for (session, watched) in Dictionary(grouping: watches, by: \.session) {
      Task { await judge(watched, of: session) }
    }
  }

  /// All that a session watches, after its permissions have changed.
  func judgeWatches(of session: SessionHandle, _ user: UserHandle) {
    let watches = hub.watches(of: user).filter { $0.session == session }
    guard !watches.isEmpty else { return }
    Task { await judge(watches, of: session) }
  }

  /// Watches of people who may no longer be watched end.
  private func judge(_ watches: [Watching], of session: SessionHandle) async {
    guard let viewer = watches.first?.viewer else { return }
    let permissions = permissions(of: session)
    let names = watches.map { hub.name(of: $0.user) }
    let relatives: Relatives
    do {
      relatives = try await steadyRelatives(of: viewer, permissions, among: names.compactMap { $0 })
    } catch {
      _ = requestError(error)  // logs the failure
      // Better no focus than one that is not shared, until the store works again.
      for watching in watches { hub.relate(watching, isRelated: false, isJudged: true) }
      try? await Task.sleep(for: Self.storePause)
      if stage != .stopping { judgeWatches(of: session, viewer) }
      return
    }
    // A token with other rights may have come meanwhile, and been judged by before.
    guard self.permissions(of: session) == permissions else { return judgeWatches(of: session, viewer) }
    for (watching, name) in zip(watches, names) {
      guard let name else { continue }
      if sees(watching.user, name, by: viewer, relatives) || mayWatch(name, permissions) {
        hub.relate(watching, isRelated: relatives.users.contains(name), isJudged: relatives.isJudged)
      } else {
        hub.unwatch(session, watching.user)
      }
    }
  }

  /// Whether people may be seen with whom no room is shared.
  func mayWatch(_ user: UserID, _ permissions: Permissions) -> Bool {
    if case .open = authentication { return true }
    return permissions.mayWatch(user)
  }
}
