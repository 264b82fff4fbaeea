// SPDX-License-Identifier: Apache-2.0
import RelayStore
import TestRelay
import Testing

@testable import RelayCore

/// Work in the background that the store has refused.
@Suite struct DamagedStoreTests {
  @Test func `work in the background is repeated after a failure of the store, but not after a damage`() async throws {
    try await TestRelay.run { test async throws in
      let isRepeated = await test.relay.mayRepeat(after: StoreError.unavailable(reason: "full"))
      #expect(isRepeated)
      // Each refused request would add work that never ends.
      let isRepeatedAfterDamage = await test.relay.mayRepeat(after: StoreError.damaged(path: "/data", reason: "page"))
      #expect(!isRepeatedAfterDamage)
      await test.relay.retire()
      let isRepeatedAtEnd = await test.relay.mayRepeat(after: StoreError.unavailable(reason: "full"))
      #expect(!isRepeatedAtEnd)
    }
  }
}
