// SPDX-License-Identifier: Apache-2.0

import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Ends the wait of deletion by age: the operator knows that the wall clock is right.
struct ConfirmClock: Command {
  package static let declaration = Declaration(
    "POST", "/v1/clock/confirm", by: .backend, body: .ignored, reach: .everything)

  init(_ request: Request) throws(RequestError) {}

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let waited = try await core.store.confirmClock()
    return Reply { $0.bool("waited", waited) }
  }
}
