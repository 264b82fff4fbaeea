// SPDX-License-Identifier: Apache-2.0
import RelayStore
import TestRelay
import Testing

@testable import RelayState

/// Work in the background that the store has refused.
@Suite struct DamagedStoreTests {
  @Test func `work in the background is repeated after a failure that may pass, but not after a damage`() async throws {
    try await TestRelay.run { test async throws in
      for error in [StoreError.unavailable(reason: "full"), .failed(reason: "constraint"), .beingErased] {
        let isRepeated = await test.core.waitBeforeRetry(after: error)
        #expect(isRepeated, "\(error)")
      }
      // Each refused request would add work that never ends.
      let lasting: [StoreError] = [
        .damaged(path: "/data", reason: "page"), .invalidRow(reason: "state"), .ended(reason: "term"), .closed,
        .notMember, .tooLarge,
      ]
      for error in lasting {
        let isRepeated = await test.core.waitBeforeRetry(after: error)
        #expect(!isRepeated, "\(error)")
      }
      await test.core.retire()
      let isRepeatedAtEnd = await test.core.waitBeforeRetry(after: StoreError.unavailable(reason: "full"))
      #expect(!isRepeatedAtEnd)
    }
  }
}
