// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Users: into memory, and what is kept of them there.
extension Relay {
  /// A user by name, in memory until the matching `hub.release`.
  func retain(_ user: UserID) async throws -> UserHandle {
    try await retain([user])[0]
  }

  /// Users by name, in their order, each in memory until it is released; one read for all that are not.
  func retain(_ users: [UserID]) async throws -> [UserHandle] {
    var handles: [UserID: UserHandle] = [:]
    for user in users where handles[user] == nil {
      guard let handle = hub.user(user) else { continue }
      hub.retain(handle)
      handles[user] = handle
    }
    beginReading()
    defer { endReading() }
    var missing = Array(Set(users.filter { handles[$0] == nil }))
    while !missing.isEmpty {
      let since = changes
      let records: [UserRecord]
      do {
        records = try await store.read { [missing] in try $0.people.users(missing) }
      } catch {
        handles.values.forEach(hub.release)
        throw error
      }
      let known = Dictionary(uniqueKeysWithValues: records.map { ($0.user.id, $0) })
      // Somebody else may have brought a user into memory, changed them and let them go, while this was read.
      for user in missing where hub.user(user) != nil || !hasChanged(user, since: since) {
        handles[user] = adopt(
          known[user] ?? UserRecord(user: User(id: user), lastSeen: nil, focus: [], devices: []))
      }
      missing.removeAll { handles[$0] != nil }
    }
    var isFirst: Set<UserID> = []
    return users.compactMap { user in
      guard let handle = handles[user] else { return nil }
      if !isFirst.insert(user).inserted { hub.retain(handle) }
      return handle
    }
  }

  // MARK: What changes while it is read

  func beginReading() { readings += 1 }

  func endReading() {
    readings -= 1
    if readings == 0 { changed = [:] }
  }

  /// Whether the user may have changed; what began long ago is told of changes that were none.
  func hasChanged(_ user: UserID, since: Int) -> Bool {
    changed[user].map { $0 > since } ?? false || since < changesForgotten
  }

  func noteChange(of user: UserID) {
    changes += 1
    guard readings > 0 else { return }
    if changed.count >= Self.mostChanged {
      changed = [:]
      changesForgotten = changes
    }
    changed[user] = changes
  }

  private static let mostChanged = 10_000

  /// A user as the store has them, unless they are in memory already; retained.
  func adopt(_ record: UserRecord) -> UserHandle {
    let isNew = hub.user(record.user.id) == nil
    let handle = hub.retain(record.user, lastSeen: record.lastSeen)
    guard isNew else { return handle }
    for other in record.blocks { hub.setBlocked(true, other, by: handle) }
    show(Recipient(record, now: hub.now), of: handle)
    return handle
  }

  /// Replaces what is known of a user, passes it on to the hub, and arms the alarm for the next change that no report causes.
  func show(_ person: Recipient, of user: UserHandle, cause: SessionHandle? = nil) {
    people[user] = person.isEmpty ? nil : person
    let preferences = person.preferences
    hub.setHasDevices(!person.devices.isEmpty, of: user)
    hub.setHasFilter(person.filters.nextChange != nil, of: user)
    hub.setSharing(focus: preferences.shareFocus, online: preferences.shareOnline, of: user)
    hub.setFocus(person.focus.isFocused, since: person.focus.focusSince, of: user, cause: cause)
    hub.setAlarm(person.nextChange, of: user)
  }

  /// Something that devices have said has settled or decayed.
  func userDue(_ user: UserHandle) {
    guard var person = people[user] else { return }
    person.advance(to: hub.now)
    show(person, of: user)
    deliveries.holds.reconsider(user, on: self)
  }

  /// Changes what is kept of a user: what is asked next builds on it, and it is shown, and decided by again, once it is
  /// stored. Where it cannot be, it is as it was.
  func change(
    _ user: UserHandle, to person: Recipient, cause: SessionHandle?,
    storing work: @escaping @Sendable (Transaction, UserID) throws -> Void
  ) async throws {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    noteChange(of: name)
    people[user] = person
    do {
      try await store.write {
        try work($0, name)
        try $0.people.noteChange(of: name)
      }
    } catch {
      // What others have changed meanwhile may have been stored.
      do {
        try await reload(name)
        deliveries.holds.reconsider(user, on: self)
      } catch {
        reloadInTime(name)
      }
      throw error
    }
    noteChange(of: name)
    // Others may have changed more of it meanwhile.
    show(recipient(user), of: user, cause: cause)
    deliveries.holds.reconsider(user, on: self)
  }

  /// Takes over what the store has of a user in memory, after something was changed there whose place among the changes
  /// here only the store knows. Writes are in the order in which they were asked for, and so is this.
  func reload(_ name: UserID) async throws {
    guard let user = hub.user(name) else { return noteChange(of: name) }
    hub.retain(user)
    defer { hub.release(user) }
    beginReading()
    defer { endReading() }
    noteChange(of: name)
    while true {
      let since = changes
      let stored = try await store.write { try $0.reader.people.user(name) }
      // Changes that were requested since are stored later.
      guard !hasChanged(name, since: since) else { continue }
      var person = stored.map { Recipient($0, now: hub.now) } ?? Recipient()
      // The store may not have these yet: see `note(_:withdrawing:of:)`.
      if lateWrites.contains(.withdrawn(name)) { person.withdrawn = people[user]?.withdrawn ?? [] }
      return show(person, of: user)
    }
  }

  /// The same, when nobody waits for it; and decides by it.
  func reloadInTime(_ name: UserID) {
    Task {
      do {
        try await reload(name)
        deliveries.holds.reconsider(name, on: self)
      } catch StoreError.damaged(let reason) {
        logFailure(of: .damaged(reason: reason))
      } catch {
        _ = requestError(error)  // logs the failure
        try? await Task.sleep(for: Self.storePause)
        if stage != .stopping { reloadInTime(name) }
      }
    }
  }

  /// 0 lifts a limit.
  func isBelow(_ limit: Int, _ count: Int) -> Bool { limit == 0 || count < limit }
}
