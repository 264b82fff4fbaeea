// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import RelayStore
import Testing

@testable import RelayRequests
@testable import RelayState

/// The frames that a room forgets when a quoted message changes, and the parts of a quote.
@Suite struct QuoteTrailTests {
  private static func trail(_ replies: [(Int64, Int64)]) -> QuoteTrail {
    var trail = QuoteTrail()
    for (reply, quoted) in replies { trail.add(reply, quoting: quoted, of: UserID(unchecked: "ann")) }
    return trail
  }

  @Test(
    arguments: [
      // The replies with their quoted messages, the changed messages, and the newest reply that quotes one of them.
      ([], 1...9, 0),
      ([(5, 2)], 2...2, 5), ([(5, 2)], 3...3, 0), ([(5, 2)], 1...1, 0), ([(5, 2)], 0...2, 5),
      ([(5, 2)], 0...Int64.max, 5),
      ([(5, 2), (6, 3), (7, 2), (8, 7)], 2...2, 7), ([(5, 2), (6, 3), (7, 2), (8, 7)], 0...3, 7),
      ([(5, 2), (6, 3), (7, 2), (8, 7)], 3...3, 6), ([(5, 2), (6, 3), (7, 2), (8, 7)], 5...6, 0),
    ] as [([(Int64, Int64)], ClosedRange<Int64>, Int64)])
  func `the newest reply to a message is found`(
    _ replies: [(Int64, Int64)], _ changed: ClosedRange<Int64>, _ newest: Int64
  ) {
    #expect(Self.trail(replies).newestReply(quoting: changed) == newest)
  }

  @Test func `the newest reply to an author is found`() {
    var trail = QuoteTrail()
    for (reply, quoted, author) in [(5, 2, "ann"), (6, 3, "bob"), (7, 2, "ann"), (9, 4, "eve")]
      as [(Int64, Int64, String)]
    {
      trail.add(reply, quoting: quoted, of: UserID(unchecked: author))
    }
    for (author, newest) in [("ann", 7), ("bob", 6), ("eve", 9), ("an", 0)] as [(String, Int64)] {
      #expect(trail.newestReply(quoting: UserID(unchecked: author)) == newest)
    }
  }

  @Test func `a full trail loses its oldest replies`() {
    let capacity = Int64(QuoteTrail.capacity)
    for count in [capacity - 1, capacity, capacity + 1, 2 * capacity + 3] {
      let trail = Self.trail((1...count).map { (100 + $0, $0) })
      let kept = (1...count).filter { trail.newestReply(quoting: $0...$0) == 100 + $0 }
      #expect(kept == Array(max(1, count - capacity + 1)...count))
    }
  }

  @Test func `a quote needs the right to read old messages, and the previews of the room`() {
    var closed = RoomPolicy()
    closed.hasPreview = false
    #expect(QuotedParts(.standard) == .preview)
    #expect(QuotedParts(Rights.standard.subtracting(.history)) == .nothing)
    for (parts, policy, expected) in [
      (.preview, RoomPolicy(), .preview), (.preview, nil, .preview), (.preview, closed, .sender),
      (.nothing, closed, .nothing), (.sender, RoomPolicy(), .sender),
    ] as [(QuotedParts, RoomPolicy?, QuotedParts)] {
      #expect(parts.within(policy) == expected)
    }
  }
}
