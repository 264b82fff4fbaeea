// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol

/// What a user is pushed to.
extension Relay {
  static let deviceRoutes = [
    Route(
      "/v1/users/{user}/devices/{device}",
      .called("GET") { relay, call in try await relay.getDevice(call) },
      .called("PUT") { relay, call in try await relay.putDevice(call) },
      .called("DELETE") { relay, call in try await relay.deleteDevice(call) })
  ]

  private func getDevice(_ call: HTTPCall) async throws -> HTTPResponse {
    let device: DeviceID = try call.name("device")
    let handle = try await retain(try call.user)
    defer { hub.release(handle) }
    guard let found = people[handle]?.devices.first(where: { $0.id == device }) else {
      throw RequestError(.notFound, "there is no such device", at: "/path/device")
    }
    return .device(found, apps.warnings(about: found))
  }

  private func putDevice(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    try check(.devices, of: call.caller)
    let request = try DeviceRequest(parser.parse(call.request.body), device: call.name("device"), for: pushTargets)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    let key = request.isRegistration ? ReportKey() : nil
    if key != nil { noteGrants(of: call.caller) }
    try await apply(request, to: handle, issuing: key)
    switch request {
    case .register(let device): return .device(device, apps.warnings(about: device), issued: key)
    case .forget(let device): return .json(200) { $0["device"] = device.rawValue }
    }
  }

  private func deleteDevice(_ call: HTTPCall) async throws -> HTTPResponse {
    let device: DeviceID = try call.name("device")
    let user = try call.user
    try check(.devices, of: call.caller)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    try await apply(.forget(device), to: handle)
    return HTTPResponse(status: 204)
  }
}

extension HTTPResponse {
  /// A device; its token, which lets others push to it, is never shown.
  /// - Parameter key: The report key that was issued with this registration. No later reply contains it.
  fileprivate static func device(
    _ device: Device, _ warnings: [DeviceWarning], issued key: ReportKey? = nil
  ) -> HTTPResponse {
    .json(200) {
      $0["device"] = device.id.rawValue
      $0["app"] = device.app
      $0["platform"] = device.platform.rawValue
      $0["environment"] = device.environment?.rawValue
      $0["topic"] = device.topic
      $0["criteria"] = device.criteria
      $0.object("settings") {
        $0.bool("alerts", device.allowsAlerts)
        $0.bool("timeSensitive", device.allowsTimeSensitive)
      }
      $0["locale"] = device.locale
      $0["timeZone"] = device.timeZone
      warnings.write(to: &$0)
      $0["reportKey"] = key?.text
    }
  }
}
