// SPDX-License-Identifier: Apache-2.0
import RelayIdentity
import Testing

@testable import RelayServer

/// Defaults of the configuration that the protocol also states.
@Suite struct DefaultsTests {
  @Test func `the default times are those of the protocol`() {
    let configuration = ServerConfiguration()
    #expect(configuration.presenceGrace == .seconds(10))
    #expect(configuration.presenceReconnect == .seconds(20))
    #expect(configuration.identity.grace == .seconds(25))
    #expect(configuration.identity.policy.requiresExpiry)
  }
}
