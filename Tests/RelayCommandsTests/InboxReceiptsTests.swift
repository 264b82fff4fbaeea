// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayFollowers

/// The messages that a session has got in its list of rooms.
@Suite struct InboxReceiptsTests {
  private static let tea = RoomID(unchecked: "tea")
  private static let den = RoomID(unchecked: "den")
  private var receipts = InboxReceipts()

  @Test mutating func `an event counts when its ping is answered`() {
    receipts.add([(Self.tea, 3), (Self.den, 1)], confirmedBy: 7)
    #expect(receipts.received(Self.tea) == 0)
    receipts.confirm(upTo: 6)
    #expect(receipts.received(Self.tea) == 0)
    receipts.confirm(upTo: 7)
    #expect(receipts.received(Self.tea) == 3 && receipts.received(Self.den) == 1)
  }

  @Test mutating func `a newer event keeps the earlier one until it has arrived`() {
    receipts.add([(Self.tea, 3)], confirmedBy: 1)
    receipts.confirm(upTo: 1)
    receipts.add([(Self.tea, 4)], confirmedBy: 2)
    receipts.add([(Self.tea, 5)], confirmedBy: 3)
    #expect(receipts.received(Self.tea) == 3)
    receipts.confirm(upTo: 3)
    #expect(receipts.received(Self.tea) == 5)
    // The number of a late confirmation has no effect.
    receipts.confirm(upTo: 2)
    #expect(receipts.received(Self.tea) == 5)
  }

  @Test mutating func `the number of rooms is bounded`() {
    let rooms = (0...InboxReceipts.maxRooms).map { RoomID(unchecked: "r\($0)") }
    for room in rooms { receipts.add([(room, 1)], confirmedBy: 1) }
    receipts.confirm(upTo: 1)
    #expect(receipts.received(rooms[0]) == 0)
    #expect(rooms.dropFirst().allSatisfy { receipts.received($0) == 1 })
  }
}
