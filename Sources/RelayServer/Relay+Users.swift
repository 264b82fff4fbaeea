// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Users in memory: focus, devices, presence.
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
        records = try await store.read { [missing] in try $0.users(missing) }
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
    set(Person(focus: FocusLedger(record.focus), devices: record.devices), of: handle)
    return handle
  }

  /// What the hub shows and knows follows.
  func set(_ person: Person, of user: UserHandle, cause: SessionHandle? = nil) {
    people[user] = person.isEmpty ? nil : person
    hub.setHasDevices(!person.devices.isEmpty, of: user)
    hub.setFocus(person.focus.isFocused, since: person.focus.focusSince, of: user, cause: cause)
  }

  // MARK: Focus

  func focus(_ request: HubRequest, _ user: UserHandle) async throws {
    let report = try FocusReport(request.fields, device: hub.device(of: request.session))
    let result = try await apply(report, to: user, cause: request.session)
    finish(request, Replies.focus(applied: result.applied, isFocused: result.isFocused, since: result.since))
  }

  struct FocusResult {
    let applied: Bool
    let isFocused: Bool?
    let since: Timestamp?
  }

  /// Takes a report in and shows it once it is stored.
  func apply(_ report: FocusReport, to user: UserHandle, cause: SessionHandle?) async throws -> FocusResult {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    var ledger = people[user]?.focus ?? FocusLedger()
    guard ledger[report.device] != nil || isBelow(limits.devicesPerUser, ledger.count) else {
      throw RequestError(.tooLarge, "one past the limit `devicesPerUser`")
    }
    noteChange(of: name)
    let applied = ledger.apply(report, now: hub.now)
    guard let record = ledger[report.device] else { preconditionFailure("a report left no record") }
    // Reports of one user are stored in the order in which they were judged, so the next is judged by this one.
    people[user, default: Person()].focus = ledger
    do {
      try await store.write { try $0.save(record, of: name) }
    } catch {
      if let stored = try? await store.read({ try $0.user(name) }) {
        people[user]?.focus = FocusLedger(stored.focus)
      }
      throw error
    }
    noteChange(of: name)
    tally.countFocusReport(applied: applied)
    let person = people[user] ?? Person()
    set(person, of: user, cause: cause)
    return FocusResult(applied: applied, isFocused: person.focus.isFocused, since: person.focus.focusSince)
  }

  // MARK: Devices

  func device(_ request: HubRequest, _ user: UserHandle) async throws {
    try await apply(DeviceRequest(request.fields), to: user)
    finish(request)
  }

  func apply(_ request: DeviceRequest, to user: UserHandle) async throws {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let now = hub.now
    switch request {
    case .forget(let device):
      _ = try await store.write { try $0.forget(device, of: name) }
      noteChange(of: name)
      forget(device, of: user)
    case .register(let device):
      let most = limits.devicesPerUser
      // Counted where nothing runs beside it.
      let registered = try await store.write { transaction -> [(user: UserID, device: DeviceID)]? in
        let known = try transaction.reader.user(name)?.devices ?? []
        guard most == 0 || known.count < most || known.contains(where: { $0.id == device.id }) else { return nil }
        return try transaction.register(device, of: name, now: now)
      }
      guard let displaced = registered else {
        throw RequestError(.tooLarge, "one past the limit `devicesPerUser`")
      }
      noteChange(of: name)
      for (owner, taken) in displaced {
        noteChange(of: owner)
        if let owner = hub.user(owner) { forget(taken, of: owner) }
      }
      var person = people[user] ?? Person()
      person.devices.removeAll { $0.id == device.id }
      person.devices.append(device)
      person.focus.deviceRegistered(device.id)
      set(person, of: user)
    }
  }

  private func forget(_ device: DeviceID, of user: UserHandle) {
    guard var person = people[user] else { return }
    person.devices.removeAll { $0.id == device }
    person.focus.deviceForgotten(device)
    set(person, of: user)
  }

  /// 0 lifts a limit.
  private func isBelow(_ limit: Int, _ count: Int) -> Bool { limit == 0 || count < limit }

  // MARK: Presence

  func presence(_ request: HubRequest, _ user: UserHandle) async throws {
    let fields = request.fields
    let entries: [UInt8]
    if let users: [UserID] = try fields.names("users", most: 256) {
      entries = JSONWriter.array(
        try await self.entries(of: users, seenBy: user, permissions[request.session] ?? .standard))
    } else {
      let name: RoomID = try fields.required("room", fields.name("room"))
      guard let room = hub.room(name), hub.isJoined(request.session, to: room) else { throw HubRefusal.notThere }
      try check(.presence, of: rights(of: request.session, in: name), in: name, at: "/room")
      guard !hub.facts(of: room, for: nil).isLarge else {
        throw RequestError(.tooLarge, "the room has more members than `memberList`")
      }
      entries = hub.entries(of: room, seenBy: user)
    }
    finish(request) { $0.raw("presence", entries) }
  }

  /// The users' entries as `viewer` may see them; nil: an API key, which sees all. Throws `forbidden` for one with whom
  /// no room is shared and who may not be watched.
  func entries(
    of users: [UserID], seenBy viewer: UserHandle?, _ permissions: Permissions
  ) async throws -> [[UInt8]] {
    let handles = try await retain(users)
    defer { handles.forEach(hub.release) }
    guard let viewer else { return handles.map { hub.entry(of: $0, seenBy: nil, isRelated: true) ?? [] } }
    let relatives = try await relatives(of: viewer, permissions, among: users)
    return try zip(users, handles).map { name, handle in
      let isSeen = sees(handle, name, by: viewer, relatives)
      if !isSeen { try checkMayWatch(name, permissions) }
      return hub.entry(of: handle, seenBy: viewer, isRelated: isSeen) ?? []
    }
  }
}
