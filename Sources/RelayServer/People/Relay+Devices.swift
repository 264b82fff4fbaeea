// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// What users are pushed to on.
extension Relay {
  func device(_ request: HubRequest, _ user: UserHandle) async throws {
    try check(.devices, of: permissions(of: request.session))
    let wish = try DeviceRequest(request.fields, for: pushTargets)
    // Without an id there is no reply that could carry a key.
    let key = wish.isRegistration && request.id != nil ? ReportKey() : nil
    try await apply(wish, to: user, issuing: key)
    finish(request) { [apps] reply in
      if case .register(let device) = wish { apps.warnings(about: device).write(to: &reply) }
      reply["reportKey"] = key?.text
    }
  }

  /// - Parameter key: A new report key of the device that registers.
  func apply(_ request: DeviceRequest, to user: UserHandle, issuing key: ReportKey? = nil) async throws {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let now = hub.now
    var person = recipient(user)
    switch request {
    case .forget(let device):
      person.forget(device)
      try await change(user, to: person, cause: nil) { try $0.devices.forget(device, of: $1) }
    case .register(let device):
      // What is reported from now on is stored behind it, and counts from the start.
      person.forgetNumbers(of: device.id)
      people[user] = person
      do {
        try await register(device, of: name, now: now, issuing: key)
        // Pushes that were decided until now are stored before what is read next.
        try await reload(name)
        deliveries.holds.reconsider(user, on: self)
      } catch {
        reloadInTime(name)
        throw error
      }
    }
  }

  private func register(_ device: Device, of user: UserID, now: Timestamp, issuing key: ReportKey?) async throws {
    let most = limits.devicesPerUser
    // Counted where nothing runs beside it.
    let displaced = try await store.write { transaction -> [(user: UserID, device: DeviceID)]? in
      let known = try transaction.reader.people.user(user)?.devices ?? []
      guard most == 0 || known.count < most || known.contains(where: { $0.id == device.id }) else { return nil }
      let displaced = try transaction.devices.register(device, of: user, now: now)
      if let key { try transaction.devices.addReportKey(hash: key.hash, for: device.id, of: user) }
      try transaction.people.noteChange(of: user)
      return displaced
    }
    guard let displaced else { throw RequestError(.tooLarge, "one past the limit `devicesPerUser`") }
    for owner in Set(displaced.map(\.user)) where owner != user { reloadInTime(owner) }
  }
}
