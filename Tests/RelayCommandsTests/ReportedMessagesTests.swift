// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayProtocol
import Testing

@testable import RelayFollowers

/// Tests the planned reports about recipients who hide their presence.
@Suite struct ReportedMessagesTests {
  private static let (tea, pub) = (RoomHandle(rawValue: 1), RoomHandle(rawValue: 2))
  private static let ann = UserID(unchecked: "ann")
  private static let bob = UserHandle(rawValue: 7)
  private var reports = ReportedMessages()

  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(rawValue: milliseconds) }

  private mutating func plan(_ seq: Int64, in room: RoomHandle = tea, at time: Int64) {
    reports[room, seq] = MessageTraits(from: Self.ann)
    reports.plan(seq, in: room, of: [Self.bob], at: at(time))
  }

  private mutating func taken(by time: Int64) -> [Int64] { reports.takePlanned(by: at(time)).map(\.seq) }

  @Test mutating func `a report is due once, at its time`() {
    plan(1, at: 5)
    plan(2, in: Self.pub, at: 10)
    plan(3, at: 20)
    #expect(reports.nextPlan == at(5))
    var copy = reports
    #expect(copy.takePlanned(by: at(20)).allSatisfy { $0.users == [Self.bob] })
    #expect(taken(by: 4) == [])
    #expect(taken(by: 10) == [1, 2])
    #expect(reports.nextPlan == at(20))
    #expect(taken(by: 20) == [3])
    #expect(reports.nextPlan == nil)
  }

  @Test mutating func `a new member is no recipient of earlier messages`() {
    let (carol, dan) = (UserID(unchecked: "carol"), UserID(unchecked: "dan"))
    for seq: Int64 in 1...4 { reports[Self.tea, seq] = MessageTraits(from: Self.ann) }
    reports.joined(carol, Self.tea, after: 2)
    reports.joined(carol, Self.pub, after: 9)
    #expect(reports.messages(in: Self.tea, upTo: 4, for: carol) == [3, 4])
    #expect(reports.messages(in: Self.tea, upTo: 4, for: dan) == [1, 2, 3, 4])
    #expect(reports.messages(in: Self.tea, upTo: 4, for: Self.ann) == [])
    // Nothing was reported in this room at the begin of the membership.
    reports[Self.pub, 1] = MessageTraits(from: Self.ann)
    #expect(reports.messages(in: Self.pub, upTo: 9, for: carol) == [1])
    reports.left(carol, Self.tea)
    #expect(reports.messages(in: Self.tea, upTo: 4, for: carol) == [1, 2, 3, 4])
    reports.joined(carol, Self.tea, after: 4)
    reports.forget(Self.tea)
    reports[Self.tea, 1] = MessageTraits(from: Self.ann)
    #expect(reports.messages(in: Self.tea, upTo: 1, for: carol) == [1])
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
    #expect(reports.isPlanned(Self.bob, of: 1, in: Self.tea, at: at(9)) == true)
    #expect(reports.isPlanned(carol, of: 1, in: Self.tea, at: at(9)) == false)
    #expect(reports.isPlanned(Self.bob, of: 1, in: Self.tea, at: at(10)) == nil)
    #expect(reports.isPlanned(Self.bob, of: 2, in: Self.tea, at: at(9)) == nil)
    // No recipient hid. A recipient who hides from now on is reported as before.
    reports[Self.tea, 2] = MessageTraits(from: Self.ann)
    reports.plan(2, in: Self.tea, of: [], at: at(20))
    #expect(reports.isPlanned(Self.bob, of: 2, in: Self.tea, at: at(19)) == false)
    reports.movePlans(by: .milliseconds(-5))
    #expect(reports.isPlanned(Self.bob, of: 2, in: Self.tea, at: at(15)) == nil)
    #expect(taken(by: 4) == [])
    #expect(taken(by: 5) == [1])
  }

  @Test mutating func `with too many recipients the oldest plans are dropped`() {
    let users = Set((0..<4_096).map { UserHandle(rawValue: $0) })
    let max = ReportedMessages.maxPlannedUsers / users.count
    for seq in 1...Int64(max + 1) {
      let room = RoomHandle(rawValue: UInt64(seq / 50))
      reports[room, seq] = MessageTraits(from: Self.ann)
      reports.plan(seq, in: room, of: users, at: at(seq))
      #expect(reports.plannedUsers <= ReportedMessages.maxPlannedUsers)
    }
    reports.forget(RoomHandle(rawValue: 0))
    #expect(reports.plannedUsers < ReportedMessages.maxPlannedUsers)
    #expect(taken(by: .max) == (50...Int64(max + 1)).map { $0 })
    #expect(reports.plannedUsers == 0)
  }

  @Test mutating func `a deleted message or room has no planned report`() {
    plan(1, at: 10)
    plan(2, at: 10)
    plan(3, in: Self.pub, at: 10)
    reports.cancelPlan(of: 1, in: Self.tea)
    reports.forget(Self.pub)
    #expect(taken(by: 10) == [2])
  }

  @Test mutating func `a change of the wall clock shifts the planned reports`() {
    plan(1, at: 10)
    reports.movePlans(by: .milliseconds(-7))
    #expect(reports.nextPlan == at(3))
    #expect(taken(by: 2) == [])
    #expect(taken(by: 3) == [1])
  }

  @Test mutating func `with too many planned reports the oldest are dropped`() {
    for seq in 0...Int64(ReportedMessages.maxPlans) {
      // The messages are in many rooms, because each room has its own limit.
      plan(seq, in: RoomHandle(rawValue: UInt64(seq / 200)), at: seq)
    }
    let taken = taken(by: .max)
    #expect(taken.count == ReportedMessages.maxPlans)
    #expect(taken.first == 1)
  }
}
