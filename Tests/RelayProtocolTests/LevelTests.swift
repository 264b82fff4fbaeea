// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct LevelTests {
  @Test func `the rank of a level is its index, and orders the levels`() {
    #expect(Level.allCases.map(\.rank) == Array(Level.allCases.indices))
    #expect(Level.allCases == Level.allCases.sorted())
  }
}
