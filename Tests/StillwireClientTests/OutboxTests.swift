// SPDX-License-Identifier: Apache-2.0
// Tests the outbox of the Swift client: order, retries, cancellation and capacity.
import RelayProtocol
import Testing

@testable import StillwireClient

@Suite struct OutboxTests {
  private var lane = Lane()

  private func draft(_ ticket: Ticket) -> Draft { Draft(ticket: ticket, key: "k\(ticket)", fields: [:]) }

  private func sent(_ next: Lane.Next?) -> String? {
    guard case .send(let draft) = next else { return nil }
    return draft.key
  }

  @Test mutating func `a lane sends one message at a time, in order`() {
    lane.add(draft(1))
    lane.add(draft(2))
    #expect(sent(lane.next(at: .zero)) == "k1")
    #expect(lane.next(at: .zero) == nil)
    #expect(lane.answered().ticket == 1)
    #expect(sent(lane.next(at: .zero)) == "k2")
  }

  @Test mutating func `a temporarily refused message is sent again before the later ones`() {
    lane.add(draft(1))
    lane.add(draft(2))
    _ = lane.next(at: .zero)
    lane.refused(at: .zero, retryAfter: .seconds(1), random: 1)
    #expect(lane.retryAt == .milliseconds(1_500))
    #expect(lane.next(at: .milliseconds(1_499)) == nil)
    #expect(sent(lane.next(at: .milliseconds(1_500))) == "k1")
  }

  @Test mutating func `a message without a reply is sent again with its key, for 240 s`() {
    lane.add(draft(1))
    _ = lane.next(at: .seconds(10))
    lane.lost()
    #expect(sent(lane.next(at: .milliseconds(249_999))) == "k1")
    lane.lost()
    guard case .giveUp(let draft) = lane.next(at: .seconds(250)) else {
      Issue.record("the message must not be sent again 240 s after its first attempt")
      return
    }
    #expect(draft.ticket == 1)
    #expect(lane.isEmpty)
  }

  @Test mutating func `a temporarily refused message is sent again after any time`() {
    lane.add(draft(1))
    _ = lane.next(at: .zero)
    lane.refused(at: .zero, retryAfter: .seconds(300), random: 0)
    #expect(sent(lane.next(at: .seconds(300))) == "k1")
  }

  @Test mutating func `a refusal of a later attempt does not restart the 240 s`() {
    lane.add(draft(1))
    _ = lane.next(at: .zero)
    lane.lost()
    _ = lane.next(at: .seconds(1))
    lane.refused(at: .seconds(1), retryAfter: .seconds(239), random: 0)
    guard case .giveUp(let draft) = lane.next(at: .seconds(240)) else {
      Issue.record("the first attempt may be stored, so the message must not be sent again")
      return
    }
    #expect(draft.ticket == 1)
  }

  @Test mutating func `a lost connection ends the delay of a retry`() {
    lane.add(draft(1))
    _ = lane.next(at: .zero)
    lane.refused(at: .zero, retryAfter: .seconds(60), random: 0)
    lane.lost()
    #expect(lane.retryAt == nil)
    #expect(sent(lane.next(at: .seconds(1))) == "k1")
  }

  @Test mutating func `an unsent message waits without a time limit`() {
    lane.add(draft(1))
    #expect(sent(lane.next(at: .seconds(86_400))) == "k1")
  }

  @Test mutating func `cancellation removes an unsent message`() {
    lane.add(draft(1))
    lane.add(draft(2))
    _ = lane.next(at: .zero)
    #expect(lane.cancelled(2) == true)
    #expect(lane.drafts.map(\.ticket) == [1])
    #expect(lane.cancelled(2) == false)
  }

  @Test mutating func `a cancelled message that is sent blocks the lane until its reply, and is not sent again`() {
    lane.add(draft(1))
    lane.add(draft(2))
    _ = lane.next(at: .zero)
    #expect(lane.cancelled(1) == true)
    #expect(lane.isSent)
    lane.lost()
    #expect(sent(lane.next(at: .zero)) == "k2")
  }

  @Test func `the capacity counts all rooms, and empty lanes are removed`() {
    var outbox = Outbox(capacity: 2)
    outbox.withLane("tea") { $0.add(draft(1)) }
    #expect(!outbox.isFull)
    outbox.withLane("jam") { $0.add(draft(2)) }
    #expect(outbox.isFull)
    outbox.cancelled(1)
    #expect(!outbox.isFull)
    #expect(outbox.lanes.keys.map(\.rawValue) == ["jam"])
    #expect(outbox.emptied() == [2])
    #expect(outbox.lanes.isEmpty)
  }
}

extension Lane {
  /// The next step when both clocks show the same time.
  fileprivate mutating func next(at time: Duration) -> Next? { next(at: Moment(own: time, relay: time)) }
}
