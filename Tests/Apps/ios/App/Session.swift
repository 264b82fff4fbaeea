// SPDX-License-Identifier: Apache-2.0
// The user's token, from the app's own backend.
import Foundation
import StillwireExtension

enum Session {
  static let user: UserID = "ann"
  @Sendable static func identity() async throws -> Identity {
    let (data, response) = try await URLSession.shared.data(from: URL(string: "https://example.org/relay-token")!)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    return .token(String(decoding: data, as: UTF8.self))
  }
}
