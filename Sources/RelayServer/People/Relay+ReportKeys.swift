// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayStore

/// Report keys: authentication of an app's extensions, and revocation.
extension Relay {
  static let reportKeyRoutes = [
    Route(
      "/v1/users/{user}/devices/{device}/report-keys",
      .called("DELETE") { relay, call in try await relay.deleteReportKeys(call) }),
    Route(
      "/v1/users/{user}/report-keys",
      .called("DELETE", by: .backend) { relay, call in try await relay.deleteAllReportKeys(call) }),
  ]

  /// Returns the owner of the report key that a request carries, in open mode too. Returns `nil` if the request carries
  /// another credential or none. Throws `unauthorized` if the key was revoked or is unknown.
  func reporter(_ request: HTTPRequest) async throws -> ReportKeyOwner? {
    guard let token = request.authorization.flatMap(bearerToken), token.hasPrefix(ReportKey.prefix) else { return nil }
    guard let key = ReportKey(token),
      let owner = try await store.read({ try $0.people.ownerOfReportKey(hash: key.hash) })
    else { throw RequestError(.unauthorized, "the report key is unknown or was revoked: register the device again") }
    guard request.user == nil else {
      throw RequestError(.badRequest, "the user comes from the report key", at: "/headers/x-stillwire-user")
    }
    return owner
  }

  /// Throws `not_found` unless the push is addressed to the reporter's device.
  func check(_ notification: String, isPushedTo reporter: ReportKeyOwner) async throws {
    let isOwn = try await store.read { try $0.queue.isPush(notification, to: reporter.device, of: reporter.user) }
    guard isOwn else {
      throw RequestError(.notFound, "there is no such notification of this device, or not any more", at: "/path/id")
    }
  }

  private func deleteReportKeys(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    let device: DeviceID = try call.name("device")
    try check(.devices, of: call.caller)
    guard try await store.write({ try $0.devices.revokeReportKeys(of: device, of: user) }) else {
      throw RequestError(.notFound, "there is no such device", at: "/path/device")
    }
    return HTTPResponse(status: 204)
  }

  private func deleteAllReportKeys(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    try await store.write { try $0.devices.revokeReportKeys(of: user) }
    return HTTPResponse(status: 204)
  }
}

extension Caller {
  /// The device of a report key. Is `nil` for other callers.
  var device: DeviceID? { if case .reporter(let reporter) = self { reporter.device } else { nil } }

  /// Throws `forbidden` if a report key is used for another device than its own.
  func check(_ reported: DeviceID) throws(RequestError) {
    if let device, device != reported {
      throw RequestError(.forbidden, "the report key belongs to the device \(device)", at: "/device")
    }
  }
}

extension Route.Admission {
  /// Returns the rate that limits the caller; `nil` for a backend, which has none. Throws `forbidden` if the caller may
  /// not use the route.
  func rate(for caller: Caller) throws(RequestError) -> Rate? {
    switch (caller, self) {
    case (.backend, _): return nil
    case (.user, .anyone(let rate)), (.user, .reporters(let rate)), (.reporter, .reporters(let rate)): return rate
    case (.user, .backend): throw RequestError(.forbidden, "this needs an API key")
    case (.reporter, .anyone), (.reporter, .backend):
      throw RequestError(
        .forbidden, "a report key permits Focus reports, filter reports, responses and receipts of its device alone")
    }
  }
}
