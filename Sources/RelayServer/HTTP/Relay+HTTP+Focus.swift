// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

/// What a device reports of its Focus and of its filter, without a session.
extension Relay {
  static let focusRoutes = [
    Route(
      "/v1/users/{user}/focus",
      .called("PUT", by: .reporters(.focus)) { relay, call in try await relay.putFocus(call) }),
    Route(
      "/v1/users/{user}/filter",
      .called("PUT", by: .reporters(.focus)) { relay, call in try await relay.putFilter(call) }),
  ]

  private func putFilter(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    let report = try FilterReport(parser.parse(call.request.body), device: call.caller.device)
    try call.caller.check(report.device)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    let applied = try await apply(report, to: handle)
    return .json(200) { $0.bool("applied", applied) }
  }

  private func putFocus(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    let report = try FocusReport(parser.parse(call.request.body), device: call.caller.device)
    try call.caller.check(report.device)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    let result = try await apply(report, to: handle, cause: nil)
    return .json(200, Replies.focus(result))
  }
}
