// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol

/// Who is there and whose notifications are silenced.
extension Relay {
  static let presenceRoutes = [
    Route(
      "/v1/users/{user}/presence",
      .called("GET") { relay, call in
        let user = try call.anyUser
        return .json(200, try await relay.entries(of: [user], for: call.caller)[0])
      }),
    Route(
      "/v1/presence",
      .called("POST") { relay, call in
        let fields = try relay.parser.parse(call.request.body)
        let users: [UserID] = try fields.required("users", fields.names("users", most: 256))
        let entries = try await relay.entries(of: users, for: call.caller)
        return .json(200) { $0.raw("presence", JSONWriter.array(entries)) }
      }),
  ]

  private func entries(of users: [UserID], for caller: Caller) async throws -> [[UInt8]] {
    guard case .user(let identity) = caller else { return try await entries(of: users, seenBy: nil, .standard) }
    guard let viewer = hub.user(identity.id) else { throw HubRefusal.gone }
    return try await entries(of: users, seenBy: viewer, identity.permissions)
  }
}
