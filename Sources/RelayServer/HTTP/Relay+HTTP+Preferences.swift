// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

/// How a user wants to be told, and whom they have blocked.
extension Relay {
  static let preferenceRoutes = [
    Route(
      "/v1/users/{user}/preferences",
      .called("GET") { relay, call in try await relay.getPreferences(call) },
      .called("PUT") { relay, call in try await relay.putPreferences(call) }),
    Route(
      "/v1/users/{user}/blocks/{other}",
      .called("PUT") { relay, call in try await relay.setBlock(call, true) },
      .called("DELETE") { relay, call in try await relay.setBlock(call, false) }),
  ]

  private func getPreferences(_ call: HTTPCall) async throws -> HTTPResponse {
    let handle = try await retain(try call.user)
    defer { hub.release(handle) }
    return .json(200, Replies.preferences(people[handle]?.preferences ?? Preferences()))
  }

  private func putPreferences(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    try check(.preferences, of: call.caller)
    let fields = try parser.parse(call.request.body)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    return .json(200, Replies.preferences(try await change(preferences: fields, of: handle)))
  }

  private func setBlock(_ call: HTTPCall, _ isBlocked: Bool) async throws -> HTTPResponse {
    let user = try call.user
    try check(.preferences, of: call.caller)
    let other: UserID = try call.name("other")
    guard user != other else { throw RequestError(.badRequest, "nobody can block themselves", at: "/path/other") }
    let handle = try await retain(user)
    defer { hub.release(handle) }
    try await block([other], by: handle, isBlocked)
    guard isBlocked else { return HTTPResponse(status: 204) }
    return .json(200) {
      $0["user"] = user.rawValue
      $0["blocked"] = other.rawValue
    }
  }
}
