// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayProtocol
import Testing

@testable import RelayStore

@Suite struct TimeOrderedIDTests {
  @Test(arguments: [0, 1, 1_800_000_000_000, (1 << 48) - 1] as [Int64])
  func `an id is a UUID of version 7 that begins with its time`(time: Int64) throws {
    let text = TimeOrderedID.text(at: Timestamp(rawValue: time))
    let bytes = try #require(UUID(uuidString: text)).uuid
    #expect(text == text.lowercased())
    #expect(bytes.6 >> 4 == 7)
    #expect(bytes.8 >> 6 == 2)
    #expect(Int64(text.replacing("-", with: "").prefix(12), radix: 16) == time)
  }

  @Test func `ids of one time differ, and ids of later times follow`() {
    let ids = (0..<1_000).map { _ in TimeOrderedID.text(at: Timestamp(rawValue: 1_800_000_000_000)) }
    #expect(Set(ids).count == ids.count)
    // Each of the 74 random bits differs between some ids. Two of them share a digit with the variant.
    let digits = ids.map { Array($0.replacing("-", with: "")) }
    for place in 13..<32 where place != 16 { #expect(Set(digits.map { $0[place] }).count == 16) }
    #expect(Set(digits.map { $0[16] }) == ["8", "9", "a", "b"])
    #expect(ids.max()! < TimeOrderedID.text(at: Timestamp(rawValue: 1_800_000_000_001)))
  }
}
