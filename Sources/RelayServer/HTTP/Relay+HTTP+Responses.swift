// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// What somebody did with a notification, told without a session.
extension Relay {
  static let responseRoutes = [
    Route(
      "/v1/notifications/{id}/responses",
      .called("POST", by: .reporters(.request)) { relay, call in try await relay.postResponse(call) })
  ]

  private func postResponse(_ call: HTTPCall) async throws -> HTTPResponse {
    guard let id = call.parts["id"] else { preconditionFailure("the path has no part id") }
    let fields = try parser.parse(call.request.body)
    var request = try ResponseRequest(fields, notification: id)
    if let key = try call.idempotencyKey { request.key = key }
    let user = try await retain(try call.actor("user", fields))
    defer { hub.release(user) }
    if case .reporter(let reporter) = call.caller { try await check(id, isPushedTo: reporter) }
    let responded = try await respond(request, by: user, at: "/path/id", isBounded: call.caller.owner != nil) {
      rights(of: call.caller, in: $0)
    }
    return .json(responded.isDuplicate ? 200 : 201) {
      let response = responded.response
      $0["notification"] = response.notification
      response.message.write(to: &$0)
      $0["action"] = response.action.rawValue
      $0.integer("time", responded.time.rawValue)
      $0.integer("posted", response.posted)
      if responded.isDuplicate { $0.bool("duplicate", true) }
    }
  }
}
