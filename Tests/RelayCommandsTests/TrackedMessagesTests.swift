// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import Testing

@testable import RelayFollowers

/// Tests the planned reports about recipients who hide their presence.
@Suite struct TrackedMessagesTests {
  private static let (tea, pub) = (RoomHandle(rawValue: 1), RoomHandle(rawValue: 2))
  private static let ann = UserID(unchecked: "ann")
  private static let bob = UserHandle(rawValue: 7)
  private var tracked = TrackedMessages()

  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(rawValue: milliseconds) }

  private mutating func plan(_ seq: Int64, in room: RoomHandle = tea, at time: Int64) {
    tracked[room, seq] = MessageTraits(from: Self.ann)
    tracked.plan(seq, in: room, of: [Self.bob], at: at(time))
  }

  private mutating func taken(by time: Int64) -> [Int64] { tracked.takePlanned(by: at(time)).map(\.seq) }

  @Test mutating func `a report is due once, at its time`() {
    plan(1, at: 5)
    plan(2, in: Self.pub, at: 10)
    plan(3, at: 20)
    #expect(tracked.nextPlan == at(5))
    var copy = tracked
    #expect(copy.takePlanned(by: at(20)).allSatisfy { $0.users == [Self.bob] })
    #expect(taken(by: 4) == [])
    #expect(taken(by: 10) == [1, 2])
    #expect(tracked.nextPlan == at(20))
    #expect(taken(by: 20) == [3])
    #expect(tracked.nextPlan == nil)
  }

  @Test mutating func `a new member is no recipient of earlier messages`() {
    let (carol, dan) = (UserID(unchecked: "carol"), UserID(unchecked: "dan"))
    for seq: Int64 in 1...4 { tracked[Self.tea, seq] = MessageTraits(from: Self.ann) }
    tracked.joined(carol, Self.tea, after: 2)
    tracked.joined(carol, Self.pub, after: 9)
    #expect(tracked.messages(in: Self.tea, upTo: 4, for: carol) == [3, 4])
    #expect(tracked.messages(in: Self.tea, upTo: 4, for: dan) == [1, 2, 3, 4])
    #expect(tracked.messages(in: Self.tea, upTo: 4, for: Self.ann) == [])
    // Nothing was reported in this room at the begin of the membership.
    tracked[Self.pub, 1] = MessageTraits(from: Self.ann)
    #expect(tracked.messages(in: Self.pub, upTo: 9, for: carol) == [1])
    tracked.left(carol, Self.tea)
    #expect(tracked.messages(in: Self.tea, upTo: 4, for: carol) == [1, 2, 3, 4])
    tracked.joined(carol, Self.tea, after: 4)
    tracked.forget(Self.tea)
    tracked[Self.tea, 1] = MessageTraits(from: Self.ann)
    #expect(tracked.messages(in: Self.tea, upTo: 1, for: carol) == [1])
  }

  @Test mutating func `an older message waits for the reports before it`() {
    plan(1, at: 10)
    plan(2, at: 5)
    #expect(taken(by: 9) == [])
    #expect(taken(by: 10) == [1, 2])
  }

  @Test mutating func `a plan contains the recipients who hid when the message was sent, until its time`() {
    let carol = UserHandle(rawValue: 8)
    plan(1, at: 10)
    #expect(tracked.isPlanned(Self.bob, of: 1, in: Self.tea, at: at(9)) == true)
    #expect(tracked.isPlanned(carol, of: 1, in: Self.tea, at: at(9)) == false)
    #expect(tracked.isPlanned(Self.bob, of: 1, in: Self.tea, at: at(10)) == nil)
    #expect(tracked.isPlanned(Self.bob, of: 2, in: Self.tea, at: at(9)) == nil)
    // No recipient hid. A recipient who hides from now on is reported as before.
    tracked[Self.tea, 2] = MessageTraits(from: Self.ann)
    tracked.plan(2, in: Self.tea, of: [], at: at(20))
    #expect(tracked.isPlanned(Self.bob, of: 2, in: Self.tea, at: at(19)) == false)
    tracked.movePlans(by: .milliseconds(-5))
    #expect(tracked.isPlanned(Self.bob, of: 2, in: Self.tea, at: at(15)) == nil)
    #expect(taken(by: 4) == [])
    #expect(taken(by: 5) == [1])
  }

  @Test mutating func `with too many recipients the oldest plans are dropped`() {
    let users = Set((0..<4_096).map { UserHandle(rawValue: $0) })
    let max = TrackedMessages.maxPlannedUsers / users.count
    for seq in 1...Int64(max + 1) {
      let room = RoomHandle(rawValue: UInt64(seq / 50))
      tracked[room, seq] = MessageTraits(from: Self.ann)
      tracked.plan(seq, in: room, of: users, at: at(seq))
      #expect(tracked.plannedUsers <= TrackedMessages.maxPlannedUsers)
    }
    tracked.forget(RoomHandle(rawValue: 0))
    #expect(tracked.plannedUsers < TrackedMessages.maxPlannedUsers)
    #expect(taken(by: .max) == (50...Int64(max + 1)).map { $0 })
    #expect(tracked.plannedUsers == 0)
  }

  @Test mutating func `a deleted message or room has no planned report`() {
    plan(1, at: 10)
    plan(2, at: 10)
    plan(3, in: Self.pub, at: 10)
    tracked.cancelPlan(of: 1, in: Self.tea)
    tracked.forget(Self.pub)
    #expect(taken(by: 10) == [2])
  }

  @Test mutating func `a change of the wall clock shifts the planned reports`() {
    plan(1, at: 10)
    tracked.movePlans(by: .milliseconds(-7))
    #expect(tracked.nextPlan == at(3))
    #expect(taken(by: 2) == [])
    #expect(taken(by: 3) == [1])
  }

  @Test mutating func `with too many planned reports the oldest are dropped`() {
    for seq in 0...Int64(TrackedMessages.maxPlans) {
      // The messages are in many rooms, because each room has its own limit.
      plan(seq, in: RoomHandle(rawValue: UInt64(seq / 200)), at: seq)
    }
    let taken = taken(by: .max)
    #expect(taken.count == TrackedMessages.maxPlans)
    #expect(taken.first == 1)
  }
}
