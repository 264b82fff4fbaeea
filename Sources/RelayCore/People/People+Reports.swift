// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
package import RelayHub
package import RelayIdentity
package import RelayJSON
package import RelayProtocol
import RelayStore

/// Changes of a user by reports and settings: Focus, filters, devices, preferences, blocks.
extension People {
  /// The user's Focus after a report.
  package struct FocusResult {
    /// True if the report was the newest of its device.
    package let applied: Bool
    package let isFocused: Bool?
    package let since: Timestamp?
    /// The time from which the device's `false` counts. Is `nil` if the report counts already.
    package let settles: Timestamp?
  }

  /// Stores a Focus report, and then publishes the change.
  package func apply(
    _ report: FocusReport, to user: UserHandle, cause: SessionHandle?, on relay: isolated Relay
  ) async throws -> FocusResult {
    var recipient = recipient(user)
    var silent: DeviceID?
    if recipient.focus[report.device] == nil, !relay.limits.allowsDevice(beside: recipient.focus.count) {
      // A deleted app does not unregister its device, so a device without a state makes way.
      silent = recipient.focus.forgetSilent()
      if silent == nil { throw tooManyDevices }
    }
    let applied = recipient.focus.apply(report, now: relay.hub.now)
    let record = recipient.focus[report.device]
    // The records of the other devices are stored already, or this change deletes them.
    try await change(user, to: recipient, cause: cause, on: relay) { [silent] in
      if let silent { try $0.people.forgetFocus(of: silent, of: $1) }
      if let record { try $0.people.save(record, of: $1) }
    }
    relay.diagnostics.tally.countFocusReport(applied: applied)
    let shown = self.recipient(user).focus
    return FocusResult(
      applied: applied, isFocused: shown.isFocused, since: shown.focusSince, settles: shown[report.device]?.settles)
  }

  /// Applies a filter report.
  /// - Returns: True if the report was the newest of its device.
  package func apply(_ report: FilterReport, to user: UserHandle, on relay: isolated Relay) async throws -> Bool {
    var recipient = recipient(user)
    var silent: DeviceID?
    if recipient.filters[report.device] == nil, !relay.limits.allowsDevice(beside: recipient.filters.count) {
      silent = recipient.filters.forgetSilent()
      if silent == nil { throw tooManyDevices }
    }
    let applied = recipient.filters.apply(report, now: relay.hub.now)
    let record = recipient.filters[report.device]
    try await change(user, to: recipient, on: relay) { [silent] in
      if let silent { try $0.people.forgetFilter(of: silent, of: $1) }
      if let record { try $0.people.save(record, of: $1) }
    }
    return applied
  }

  private var tooManyDevices: RequestError { RequestError(.tooLarge, "the limit `devicesPerUser` is exceeded") }

  // MARK: Devices

  package func forget(_ device: DeviceID, of user: UserHandle, on relay: isolated Relay) async throws {
    var recipient = recipient(user)
    recipient.forget(device)
    try await change(user, to: recipient, on: relay) { try $0.devices.forget(device, of: $1) }
  }

  /// Registers a device.
  /// - Parameter key: The new report key of the device, if one is issued.
  package func register(
    _ device: Device, of user: UserHandle, issuing key: ReportKey?, on relay: isolated Relay
  ) async throws {
    guard let name = relay.hub.name(of: user) else { throw HubRefusal.gone }
    forgetNumbers(of: device.id, of: user)
    do {
      try await store(device, of: name, issuing: key, on: relay)
      // The pushes that were decided before are stored before the next read.
      try await reload(name, on: relay)
      relay.deliveries.holds.reconsider(user, on: relay)
    } catch {
      reloadInTime(name, on: relay)
      throw error
    }
  }

  private func store(
    _ device: Device, of user: UserID, issuing key: ReportKey?, on relay: isolated Relay
  ) async throws {
    let now = relay.hub.now
    let limits = relay.limits
    let zone = relay.zones.new(device.timeZone)
    // The transaction counts the devices, because no other registration runs at the same time.
    let displaced = try await relay.store.write { transaction -> [(user: UserID, device: DeviceID)]? in
      let known = try transaction.reader.people.user(user)?.devices ?? []
      guard limits.allowsDevice(beside: known.count) || known.contains(where: { $0.id == device.id }) else {
        return nil
      }
      let displaced = try transaction.devices.register(device, of: user, now: now)
      if let key { try transaction.devices.addReportKey(hash: key.hash, for: device.id, of: user) }
      try zone?.save(transaction)
      try transaction.people.noteChange(of: user)
      return displaced
    }
    guard let displaced else { throw tooManyDevices }
    relay.zones.noteStored(zone)
    for owner in Set(displaced.map(\.user)) where owner != user { reloadInTime(owner, on: relay) }
  }

  // MARK: Preferences

  /// Changes the preferences that the fields contain, and keeps the others.
  package func change(preferences fields: Fields, of user: UserHandle, on relay: isolated Relay) async throws
    -> Preferences
  {
    var recipient = recipient(user)
    try recipient.preferences.change(fields, zones: relay.zones.current, now: relay.hub.now)
    let limit = relay.limits.roomsPerUser
    guard limit == 0 || recipient.preferences.rooms.count <= limit else {
      throw RequestError(.tooLarge, "the limit `roomsPerUser` is exceeded", at: "\(fields.pointer)/rooms")
    }
    let preferences = recipient.preferences
    guard preferences != self.recipient(user).preferences else { return preferences }
    let zone = relay.zones.new(preferences.quietHours?.timeZone)
    try await change(user, to: recipient, on: relay) {
      try $0.people.save(preferences, of: $1)
      try zone?.save($0)
    }
    relay.zones.noteStored(zone)
    return self.recipient(user).preferences
  }

  /// Blocks or unblocks users. Throws ``StoreError/tooMany(_:)`` if the user would block more than
  /// ``PeopleWriter/maxBlocked`` users.
  package func setBlocked(_ isBlocked: Bool, _ others: [UserID], by user: UserHandle, on relay: isolated Relay)
    async throws
  {
    var recipient = recipient(user)
    if isBlocked { recipient.blocked.formUnion(others) } else { recipient.blocked.subtract(others) }
    guard !isBlocked || recipient.blocked.count <= PeopleWriter.maxBlocked else {
      throw StoreError.tooMany(.blockedUsers)
    }
    try await change(user, to: recipient, on: relay) { transaction, name in
      for other in others {
        _ = try isBlocked ? transaction.people.block(other, by: name) : transaction.people.unblock(other, by: name)
      }
    }
    for other in others { relay.hub.setBlocked(isBlocked, other, by: user) }
  }
}

extension Limits {
  /// True if a user with this number of devices may have another one. A limit of 0 allows any number.
  fileprivate func allowsDevice(beside count: Int) -> Bool { devicesPerUser == 0 || count < devicesPerUser }
}
