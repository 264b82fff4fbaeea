// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
package import RelayProtocol
package import RelayStore

/// The users in memory: their loads and their changes.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class People {
  /// The times at which the badges of users change without a request.
  private var badgeTimes: [UserHandle: Timestamp] = [:]
  private var order = ChangeOrder()
  /// The users whose tokens this run has seen over HTTP.
  private var tokenUsers: Set<UserID> = []

  package let recipients: Recipients
  package let access: Access
  let restrictions: Restrictions
  let late: LateWriter
  package let zones: Zones
  let uninvited: Uninvited

  package init(
    _ recipients: Recipients, _ access: Access, _ restrictions: Restrictions, _ late: LateWriter, _ zones: Zones,
    _ uninvited: Uninvited
  ) {
    (self.recipients, self.access, self.restrictions) = (recipients, access, restrictions)
    (self.late, self.zones, self.uninvited) = (late, zones, uninvited)
  }

  /// Forgets a user that the hub has removed from memory.
  package func forget(_ user: UserHandle) {
    recipients.forget(user)
    badgeTimes[user] = nil
  }

  /// Forgets the numbers of a device's reports in memory, before its registration is stored. The numbers of later
  /// reports start again.
  package func forgetNumbers(of device: DeviceID, of user: UserHandle) {
    recipients[user].forgetNumbers(of: device)
  }

  /// Forgets a withdrawal of the right `join` when the membership ends or begins again.
  func forgetWithdrawn(_ user: UserHandle, from room: RoomID) { recipients[user].withdrawn.remove(room) }

  /// Gives the user of a token over HTTP a row, so that invitations of this user do not expire. A session does the same
  /// when it stores the presence of its user.
  package func noteToken(of user: UserID, on core: isolated Core) {
    guard tokenUsers.insert(user).inserted else { return }
    if tokenUsers.count > Self.maxTokenUsers { tokenUsers = [user] }
    core.submit(isUrgent: false) {
      try $0.people.add(user)
    } then: { [self] result in
      guard case .failure(let error) = result else { return }
      core.logFailure(of: error)
      // The next request with a token tries again.
      forgetToken(of: user)
    }
  }

  /// The row of the user is gone.
  func forgetToken(of user: UserID) { tokenUsers.remove(user) }

  private static let maxTokenUsers = 65_536

  // MARK: Into memory

  /// Calls `body` with a user in memory. The user stays in memory until `body` returns.
  package func withUser<T>(
    _ user: UserID, on core: isolated Core,
    _ body: nonisolated(nonsending) (UserHandle) async throws -> T
  ) async throws -> T {
    let handle = try await retain(user, on: core)
    defer { core.hub.release(handle) }
    return try await body(handle)
  }

  /// Loads a user into memory. The caller calls `hub.release` once.
  package func retain(_ user: UserID, on core: isolated Core) async throws -> UserHandle {
    try await retain([user], on: core)[0]
  }

  /// Loads users into memory, all missing ones in one read. The caller calls `hub.release` once for each.
  ///
  /// Many users, or users with many blocks, are loaded in slices, so that the hub's thread serves others in between.
  /// - Returns: The users in the order of `users`.
  package func retain(_ users: [UserID], on core: isolated Core) async throws -> [UserHandle] {
    var handles: [UserID: UserHandle] = [:]
    for user in users where handles[user] == nil {
      guard let handle = core.hub.user(user) else { continue }
      core.hub.retain(handle)
      handles[user] = handle
    }
    beginReading()
    defer { endReading() }
    var missing = Array(Set(users.filter { handles[$0] == nil }))
    while !missing.isEmpty {
      let (since, madeCount) = (order.newest, uninvited.madeCount)
      let records: [UserRecord]
      let isUninvited: Bool
      do {
        (records, isUninvited) = try await core.store.read { [missing] reader in
          // A user who connects is loaded alone, and needs the number of invitations next. Others loaded alone cost this
          // query for nothing.
          let isUninvited = try missing.count == 1 && reader.invitations.count(of: missing[0]) == 0
          return (try reader.people.users(missing), isUninvited)
        }
      } catch {
        handles.values.forEach(core.hub.release)
        throw error
      }
      let known = Dictionary(uniqueKeysWithValues: records.map { ($0.user.id, $0) })
      var sliceEnd = ContinuousClock.now + Self.slice
      for user in missing {
        if ContinuousClock.now >= sliceEnd {
          await Task.yield()
          sliceEnd = .now + Self.slice
        }
        // During the read, another request may have loaded a user, changed the user, and released the user again.
        guard core.hub.user(user) != nil || !hasChanged(user, since: since) else { continue }
        handles[user] = adopt(known[user] ?? UserRecord(User(id: user)), on: core)
      }
      if isUninvited, let handle = handles[missing[0]] { uninvited.insert(handle, readAt: madeCount) }
      missing.removeAll { handles[$0] != nil }
    }
    var returned: Set<UserID> = []
    return users.compactMap { user in
      guard let handle = handles[user] else { return nil }
      if !returned.insert(user).inserted { core.hub.retain(handle) }
      return handle
    }
  }

  /// The time after which loading many users yields to others on the hub's thread.
  private static let slice = Duration.milliseconds(2)

  /// Retains a user. If the user is not in memory, adds them with the facts of the record.
  package func adopt(_ record: UserRecord, on core: isolated Core) -> UserHandle {
    let isNew = core.hub.user(record.user.id) == nil
    let handle = core.hub.retain(record.user, lastSeen: record.lastSeen)
    guard isNew else { return handle }
    for other in record.blocks { core.hub.setBlocked(true, other, by: handle) }
    var recipient = Recipient(record, now: core.moment)
    recipient.suspension = restrictions.access(of: record.user.id).suspension
    show(recipient, of: handle, on: core)
    if let activity = record.activity {
      core.hub.awaitReturn(of: handle, as: activity)
    } else {
      core.hub.settle(handle)
    }
    return handle
  }

  /// Reads the users again that were loaded, changed and released since a read began.
  func newerRecords(of users: [UserID], since: Int, on core: isolated Core) async throws -> [UserID: UserRecord] {
    var newer: [UserID: UserRecord] = [:]
    func isStale(_ user: UserID, since: Int) -> Bool { core.hub.user(user) == nil && hasChanged(user, since: since) }
    var stale = users.filter { isStale($0, since: since) }
    while !stale.isEmpty {
      let since = order.newest
      for record in try await core.store.read({ [stale] in try $0.people.users(stale) }) {
        newer[record.user.id] = record
      }
      stale = stale.filter { isStale($0, since: since) }
    }
    return newer
  }

  // MARK: Changes

  /// True if a read of users is in progress.
  package var isReading: Bool { order.isRead }

  func beginReading() { order.beginReading() }
  func endReading() { order.endReading() }
  package func noteChange(of name: UserID) { order.note(name) }
  package func hasChanged(_ user: UserID, since: Int) -> Bool { order.hasChanged(user, since: since) }
  /// The newest change, for ``hasChanged(_:since:)``.
  var newestChange: Int { order.newest }

  /// Replaces the facts about a user, passes them on to the hub, and arms the alarm for the next change by time.
  package func show(
    _ recipient: Recipient, of user: UserHandle, requester: SessionHandle? = nil, on core: isolated Core
  ) {
    recipients[user] = recipient
    let preferences = recipient.preferences
    core.hub.setHasDevices(!recipient.devices.isEmpty, of: user)
    core.hub.setPushesUnread(preferences.pushUnreadAfter != nil, of: user)
    core.hub.setHasFilter(recipient.filters.nextChange != nil, of: user)
    core.hub.setSharing(focus: preferences.shareFocus, online: preferences.shareOnline, of: user)
    core.hub.setFocus(recipient.focus.isFocused, since: recipient.focus.focusSince, of: user, requester: requester)
    core.hub.setStatus(recipient.status, of: user, requester: requester)
    let now = core.hub.now
    if let time = badgeTimes[user], time <= now, let name = core.hub.name(of: user) {
      late.saveBadges(of: name, on: core)
    }
    let badgeTime = recipient.nextBadgeChange(after: now)
    badgeTimes[user] = badgeTime
    core.hub.setAlarm([recipient.nextChange, badgeTime].compactMap { $0 }.min(), of: user)
  }

  /// Applies a report that counts from now on, or that expires now.
  package func userDue(_ user: UserHandle, on core: isolated Core) {
    var recipient = recipients[user]
    guard !recipient.isEmpty else { return }
    recipient.advance(to: core.moment)
    show(recipient, of: user, on: core)
    if let name = core.hub.name(of: user) { core.publish(.person(name)) }
  }

  /// Moves the ends of reports after a step of the wall clock, so that the reports age as before. The caller decides the
  /// pushes again.
  package func clockWasSet(on core: isolated Core) {
    let moment = core.moment
    for (user, known) in recipients.withPassingReports {
      var recipient = known
      recipient.advance(to: moment)
      show(recipient, of: user, on: core)
    }
  }

  /// Changes a user. Requests and new decisions use the change at once: a push that is stored after the change follows
  /// from it. When it is stored, other users see it, and the relay decides the earlier pushes again. After a failed write,
  /// the stored facts replace it.
  /// - Returns: The result of `work`.
  @discardableResult
  package func change<T: Sendable>(
    _ user: UserHandle, to recipient: Recipient, requester: SessionHandle? = nil, on core: isolated Core,
    storing work: @escaping @Sendable (Transaction, UserID) throws -> T
  ) async throws -> T {
    guard let name = core.hub.name(of: user) else { throw HubRefusal.gone }
    // Before the write, this makes a reload in progress read again. After the commit, it is called once more, so that a
    // read with an older snapshot reads again, too.
    noteChange(of: name)
    recipients[user] = recipient
    let result: T
    let hasOpenDecisions: Bool
    do {
      (result, hasOpenDecisions) = try await core.store.write {
        (try work($0, name), try $0.people.noteChange(of: name))
      }
    } catch {
      // Reload instead of undoing: another change may have been stored meanwhile.
      do {
        try await reload(name, on: core)
        core.publish(.person(name))
      } catch {
        reloadInTime(name, on: core)
      }
      throw error
    }
    noteChange(of: name)
    // Another request may have changed the user again.
    show(recipients[user], of: user, requester: requester, on: core)
    core.publish(.person(name, hasOpenDecisions: hasOpenDecisions))
    return result
  }

  /// Replaces the facts about a user in memory by the stored ones. Used when only the store knows the order of two
  /// changes. It reads through the writer, so that the read is ordered among the writes.
  package func reload(_ name: UserID, on core: isolated Core) async throws {
    guard let user = core.hub.user(name) else { return noteChange(of: name) }
    core.hub.retain(user)
    defer { core.hub.release(user) }
    beginReading()
    defer { endReading() }
    noteChange(of: name)
    while true {
      let since = order.newest
      let stored = try await core.store.write { try $0.reader.people.user(name) }
      // Later changes are not stored yet.
      guard !hasChanged(name, since: since) else { continue }
      var recipient = stored.map { Recipient($0, now: core.moment) } ?? Recipient()
      recipient.suspension = restrictions.access(of: name).suspension
      // The store may not have these yet: see ``note(_:withdrawing:of:on:)``.
      if late.contains(.withdrawn(name)) { recipient.withdrawn = recipients[user].withdrawn }
      return show(recipient, of: user, on: core)
    }
  }

  /// Runs ``reload(_:on:)`` in the background, with retries until the store works, and then decides the user's pushes
  /// again.
  package func reloadInTime(_ name: UserID, on core: isolated Core) {
    Task {
      await core.retry {
        try await reload(name, on: core)
        core.publish(.person(name))
      }
    }
  }
}
