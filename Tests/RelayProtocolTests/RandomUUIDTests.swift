// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@Suite struct RandomUUIDTests {
  @Test func `a random UUID is canonical, of version 4, and new`() {
    var generator = SystemRandomNumberGenerator()
    let made = (0..<100).map { _ in makeUUID(using: &generator) }
    #expect(Set(made).count == 100)
    for text in made {
      #expect(text.isLowercaseUUID)
      #expect(UUID(uuidString: text) != nil)
      #expect(Array(text)[14] == "4")
      #expect("89ab".contains(Array(text)[19]))
    }
  }
}
