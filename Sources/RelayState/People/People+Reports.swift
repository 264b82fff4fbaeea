// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub
package import RelayIdentity
package import RelayJSON
package import RelayProtocol
package import RelayRequests
import RelayStore

/// Changes of a user by reports and settings: Focus, filters, devices, preferences, blocks.
extension People {
  /// The user's Focus after a report.
  package struct FocusResult {
    /// True if the report was the newest of its device.
    package let applied: Bool
    /// See ``LedgerChange/newestNumber``.
    package let newestNumber: Int64?
    package let isFocused: Bool?
    package let since: Timestamp?
    /// The time from which the device's `false` counts. Is `nil` if the report counts already.
    package let settles: Timestamp?
  }

  /// Stores a Focus report, and then publishes the change. The report counts for all accounts of the phone.
  package func apply(
    _ report: FocusReport, to user: UserHandle, requester: SessionHandle?, on core: isolated Core
  ) async throws -> FocusResult {
    let change = try await apply(report, to: user, .focus, requester: requester, on: core)
    core.diagnostics.tally.countFocusReport(applied: change.isApplied)
    let shown = recipients[user].focus
    return FocusResult(
      applied: change.isApplied, newestNumber: change.newestNumber, isFocused: shown.isFocused, since: shown.focusSince,
      settles: shown.settles(report.device))
  }

  /// Applies a filter report. The report counts for all accounts of the phone.
  package func apply(
    _ report: FilterReport, to user: UserHandle, on core: isolated Core
  ) async throws -> LedgerChange<FilterRecord> {
    try await apply(report, to: user, .filters, on: core)
  }

  /// Applies a report to the user, and to the users of the other accounts of the phone, in one transaction.
  private func apply<Ledger>(
    _ report: Ledger.Report, to user: UserHandle, _ kind: ReportKind<Ledger>, requester: SessionHandle? = nil,
    on core: isolated Core
  ) async throws -> LedgerChange<Ledger.Record> {
    let (now, maxDevices) = (core.moment, core.limits.devicesPerUser)
    var recipient = recipients[user]
    guard let own = kind.take(report, &recipient, maxDevices: maxDevices, now: now) else { throw tooManyDevices }
    // Only the record of this device is stored. The records of the user's other devices are stored already, or this
    // change deletes one of them.
    let others = try await change(user, to: recipient, requester: requester, on: core) {
      transaction, name -> [UserID] in
      let others = try transaction.reader.people.accounts(beside: report.device, of: name)
      guard own.isApplied, !others.isEmpty else {
        try kind.store(own, of: name, in: transaction)
        return []
      }
      // Another account of the phone may have changed the stored record after `recipient` was read. The report is
      // therefore applied to the stored record of each account.
      var changed: [UserID] = []
      for (account, report) in [(name, report)] + others.map({ ($0.user, report.shared(with: $0.device)) }) {
        guard let record = try transaction.reader.people.user(account) else { continue }
        var stored = Recipient(record, now: now)
        guard let change = kind.take(report, &stored, maxDevices: maxDevices, now: now) else { continue }
        try kind.store(change, of: account, in: transaction)
        guard account != name, change.isApplied else { continue }
        try transaction.people.noteChange(of: account)
        changed.append(account)
      }
      return changed
    }
    await show(others, on: core)
    return own
  }

  /// Shows the stored facts about users that a transaction has changed, and decides their pushes again.
  private func show(_ users: [UserID], on core: isolated Core) async {
    for user in users {
      do {
        try await reload(user, on: core)
        core.publish(.person(user))
      } catch {
        reloadInTime(user, on: core)
      }
    }
  }

  private var tooManyDevices: RequestError { RequestError(.tooLarge, "the limit `devicesPerUser` is exceeded") }

  // MARK: Devices

  package func forget(_ device: DeviceID, of user: UserHandle, on core: isolated Core) async throws {
    var recipient = recipients[user]
    recipient.forget(device)
    try await change(user, to: recipient, on: core) { try $0.devices.forget(device, of: $1) }
  }

  /// Registers a device.
  /// - Parameter key: The new report key of the device, if one is issued.
  /// - Returns: A warning if the registration has ended the device of another user.
  package func register(
    _ device: Device, of user: UserHandle, issuing key: ReportKey?, on core: isolated Core
  ) async throws -> [ReplyWarning] {
    guard let name = core.hub.name(of: user) else { throw HubRefusal.gone }
    forgetNumbers(of: device.id, of: user)
    do {
      let registration = try await store(device, of: name, issuing: key, on: core)
      // The pushes that were decided before are stored before the next read.
      try await reload(name, on: core)
      core.publish(.person(name))
      let ended = Set(registration.ended.map(\.user)).subtracting([name])
      await show(Array(ended.union(registration.changed)), on: core)
      return ended.isEmpty ? [] : [.accountEnded]
    } catch {
      reloadInTime(name, on: core)
      throw error
    }
  }

  private func store(
    _ device: Device, of user: UserID, issuing key: ReportKey?, on core: isolated Core
  ) async throws -> DeviceWriter.Registration {
    let now = core.hub.now
    let limits = core.limits
    let zone = zones.new(device.timeZone)
    // The transaction counts the devices, because no other registration runs at the same time.
    let registration = try await core.store.write { transaction -> DeviceWriter.Registration? in
      let known = try transaction.reader.people.user(user)?.devices ?? []
      guard limits.allowsDevice(beside: known.count) || known.contains(where: { $0.id == device.id }) else {
        return nil
      }
      let registration = try transaction.devices.register(device, of: user, now: now)
      if let key { try transaction.devices.addReportKey(hash: key.hash, for: device.id, of: user) }
      try zone?.save(transaction)
      for user in [user] + registration.changed { try transaction.people.noteChange(of: user) }
      return registration
    }
    guard let registration else { throw tooManyDevices }
    zones.noteStored(zone)
    return registration
  }

  // MARK: Preferences

  /// Changes the preferences that the fields contain, and keeps the others.
  package func change(preferences fields: Fields, of user: UserHandle, on core: isolated Core) async throws
    -> Preferences
  {
    var recipient = recipients[user]
    try recipient.preferences.change(fields, zones: zones.current, now: core.hub.now)
    let limit = core.limits.roomsPerUser
    guard limit == 0 || recipient.preferences.rooms.count <= limit else {
      throw RequestError(.tooLarge, "the limit `roomsPerUser` is exceeded", at: "\(fields.pointer)/rooms")
    }
    let preferences = recipient.preferences
    guard preferences != recipients[user].preferences else { return preferences }
    let zone = zones.new(preferences.quietHours?.timeZone)
    try await change(user, to: recipient, on: core) {
      try $0.people.save(preferences, of: $1)
      try zone?.save($0)
    }
    zones.noteStored(zone)
    return recipients[user].preferences
  }

  /// Blocks or unblocks users. Throws ``StoreError/tooMany(_:)`` if the user would block more than
  /// ``PeopleWriter/maxBlocked`` users.
  package func setBlocked(_ isBlocked: Bool, _ others: [UserID], by user: UserHandle, on core: isolated Core)
    async throws
  {
    var recipient = recipients[user]
    if isBlocked { recipient.blocked.formUnion(others) } else { recipient.blocked.subtract(others) }
    guard !isBlocked || recipient.blocked.count <= PeopleWriter.maxBlocked else {
      throw StoreError.tooMany(.blockedUsers)
    }
    let limit = core.limits.invitations
    let ended = try await change(user, to: recipient, on: core) { transaction, name in
      var ended: [InvitationChanges] = []
      for other in others {
        guard isBlocked else {
          try transaction.people.unblock(other, by: name)
          continue
        }
        try transaction.people.block(other, by: name)
        ended.append(try transaction.invitations.hide(from: name, by: other, limit: limit))
      }
      return ended
    }
    for other in others { core.hub.setBlocked(isBlocked, other, by: user) }
    for changes in ended { core.publish(.effects(of: changes)) }
  }
}

extension Limits {
  /// True if a user with this number of devices may have another one. A limit of 0 allows any number.
  fileprivate func allowsDevice(beside count: Int) -> Bool { devicesPerUser == 0 || count < devicesPerUser }
}

/// The kind of a report: the ledger that it changes, and the table of its records.
private struct ReportKind<Ledger: ReportLedger>: Sendable {
  private let path: any WritableKeyPath<Recipient, Ledger> & Sendable
  private let save: @Sendable (PeopleWriter, Ledger.Record, UserID) throws -> Void
  private let forget: @Sendable (PeopleWriter, DeviceID, UserID) throws -> Void

  func take(
    _ report: Ledger.Report, _ recipient: inout Recipient, maxDevices: Int, now: Moment
  ) -> LedgerChange<Ledger.Record>? {
    recipient[keyPath: path].take(report, maxDevices: maxDevices, now: now)
  }

  func store(_ change: LedgerChange<Ledger.Record>, of user: UserID, in transaction: Transaction) throws {
    if let silent = change.silent { try forget(transaction.people, silent, user) }
    if let record = change.record { try save(transaction.people, record, user) }
  }
}

extension ReportKind<FocusLedger> {
  package static let focus = ReportKind(
    path: \.focus, save: { try $0.save($1, of: $2) }, forget: { try $0.forgetFocus(of: $1, of: $2) })
}

extension ReportKind<FilterLedger> {
  package static let filters = ReportKind(
    path: \.filters, save: { try $0.save($1, of: $2) }, forget: { try $0.forgetFilter(of: $1, of: $2) })
}
