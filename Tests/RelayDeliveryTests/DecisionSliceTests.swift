// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import Testing

/// The limit of the decisions that one slice makes.
@Suite struct DecisionSliceTests {
  @Test(arguments: [(1, 900), (3, 900), (16, 900), (0, 900)])
  func `a slice ends after a bounded number of decisions`(devices: Int, members: Int) {
    var slice = DecisionSlice()
    var (decisions, decided) = (0, 0)
    while !slice.isFull, decided < members {
      // Each member has 100 undecided messages.
      let messages = min(100, slice.maxMessages(devices: devices))
      slice.add(messages: messages, devices: devices)
      decisions += messages * max(1, devices)
      decided += 1
    }
    #expect((1...DecisionBounds.maxSlice + devices).contains(decisions))
    #expect(decided < members)
  }

  @Test func `members without undecided messages count in a slice, too`() {
    var slice = DecisionSlice()
    for _ in 0..<DecisionBounds.maxSlice { slice.add(messages: 0, devices: 0) }
    #expect(slice.isFull)
  }

  @Test func `a slice decides one message for a member with more devices than its limit`() {
    #expect(DecisionSlice().maxMessages(devices: 1_000) == 1)
  }
}
