// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import RelayStore

/// What users are pushed to on.
extension Relay {
  func device(_ request: HubRequest, _ user: UserHandle) async throws {
    try await apply(DeviceRequest(request.fields, for: pushTargets), to: user)
    finish(request)
  }

  func apply(_ request: DeviceRequest, to user: UserHandle) async throws {
    guard let name = hub.name(of: user) else { throw HubRefusal.gone }
    let now = hub.now
    switch request {
    case .forget(let device):
      _ = try await store.write { try $0.forget(device, of: name) }
      try await reload(name)
    case .register(let device):
      let most = limits.devicesPerUser
      // Counted where nothing runs beside it.
      let registered = try await store.write { transaction -> [(user: UserID, device: DeviceID)]? in
        let known = try transaction.reader.user(name)?.devices ?? []
        guard most == 0 || known.count < most || known.contains(where: { $0.id == device.id }) else { return nil }
        let displaced = try transaction.register(device, of: name, now: now)
        try transaction.noteChange(of: name)
        return displaced
      }
      guard let displaced = registered else {
        throw RequestError(.tooLarge, "one past the limit `devicesPerUser`")
      }
      for owner in Set(displaced.map(\.user)) where owner != name { reloadInTime(owner) }
      // Pushes that were decided until now are stored before what is read next.
      try await reload(name)
      reconsider(user)
    }
  }
}
