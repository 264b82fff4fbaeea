// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import Testing

@testable import RelayState

@Suite struct MessageDecisionsTests {
  private let room = RoomHandle(rawValue: 1)
  private let other = RoomHandle(rawValue: 2)

  @Test(arguments: [
    (0, true), (1, true), (DecisionBounds.maxWithMessage, true), (DecisionBounds.maxWithMessage + 1, false),
    (900, false),
  ])
  func `a message with few decisions is decided at once`(decisions: Int, isDecided: Bool) {
    var messages = MessageDecisions()
    #expect(messages.begin(decisions, in: room).isDecided == isDecided)
  }

  @Test func `the number of unstored decisions of all messages is limited`() {
    var messages = MessageDecisions()
    let tickets = (0..<100).map { messages.begin(60, in: RoomHandle(rawValue: UInt64($0 + 1))) }
    #expect(tickets.filter(\.isDecided).count == DecisionBounds.maxUnstored / 60)
    #expect(messages.unstored <= DecisionBounds.maxUnstored)
    for ticket in tickets { messages.end(ticket) }
    #expect(messages.unstored == 0)
    #expect(messages.begin(60, in: room).isDecided)
  }

  @Test func `a message is not decided before an earlier one of its room`() {
    var messages = MessageDecisions()
    let large = [messages.begin(900, in: room), messages.begin(1, in: room)]
    #expect(large.map(\.isDecided) == [false, false])
    #expect(messages.begin(1, in: other).isDecided)
    // A message without decisions leaves no member undecided.
    #expect(messages.begin(0, in: room).isDecided)
    messages.end(large[0])
    #expect(!messages.begin(1, in: room).isDecided)
  }

  @Test func `after all messages are published, the next one is decided at once again`() {
    var messages = MessageDecisions()
    let tickets = (0..<3).map { _ in messages.begin(900, in: room) }
    for ticket in tickets { messages.end(ticket) }
    #expect(messages.begin(1, in: room).isDecided)
  }
}
