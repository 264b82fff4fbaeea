// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol

/// What an operator does to a user's sessions.
extension Relay {
  static let sessionRoutes = [
    Route(
      "/v1/users/{user}/disconnect",
      .called("POST", by: .backend) { relay, call in try relay.disconnect(call) })
  ]

  /// A close frame has 125 bytes, of which the code takes two.
  private static let longestReason = 123

  private func disconnect(_ call: HTTPCall) throws -> HTTPResponse {
    let user = try call.user
    let body = call.request.body
    let told = body.isEmpty ? nil : try parser.parse(body).string("reason", longest: Self.longestReason)
    let count = hub.user(user).map { hub.closeSessions(of: $0, .byOperator, told ?? "closed by an operator") } ?? 0
    return .json(200) { $0.integer("sessions", count) }
  }
}
