// SPDX-License-Identifier: Apache-2.0
// Tests the values of donated interactions.
import RelayProtocol
import StillwireExtension
import Testing

@Suite struct DonationTests {
  @Test func `the groups of different accounts and conversations differ`() {
    let groups: [(UserID?, String, String)] = [
      ("ann", "tea", "stillwire/ann/tea"), ("bob", "tea", "stillwire/bob/tea"), ("ann", "a|b", "stillwire/ann/a|b"),
      // A notification without a room.
      ("ann", "/from/bob", "stillwire/ann//from/bob"), (nil, "tea", "stillwire//tea"),
    ]
    for (account, conversation, identifier) in groups {
      #expect(DonationGroup(account: account, conversation: conversation).identifier == identifier)
    }
    #expect(Set(groups.map(\.2)).count == groups.count)
  }
}
