// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayState

/// The times that share the hub's alarm.
@Suite struct AlarmsTests {
  private static func time(_ value: Int64) -> Timestamp { Timestamp(rawValue: value) }

  @Test func `the hub's alarm is the earliest time that is set`() {
    var alarms = Alarms()
    #expect(alarms.next == nil)
    alarms[.calls] = Self.time(30)
    alarms[.holds] = Self.time(20)
    alarms[.reports] = Self.time(40)
    #expect(alarms.next == Self.time(20))
    alarms[.holds] = nil
    #expect(alarms.next == Self.time(30))
    alarms[.calls] = Self.time(50)
    #expect(alarms.next == Self.time(40))
  }

  @Test(arguments: [(nil, 20, true, 20), (30, 20, true, 20), (20, 20, false, 20), (10, 20, false, 10)])
  func `a time is brought forward, and never back`(known: Int64?, time: Int64, isEarlier: Bool, result: Int64) {
    var alarms = Alarms()
    alarms[.holds] = known.map(Self.time)
    #expect(alarms.bringForward(.holds, to: Self.time(time)) == isEarlier)
    #expect(alarms[.holds] == Self.time(result))
    #expect(alarms[.calls] == nil)
  }

  @Test func `work is due from its time on`() {
    var alarms = Alarms()
    alarms[.calls] = Self.time(20)
    #expect([19, 20, 21].map { alarms.isDue(.calls, at: Self.time($0)) } == [false, true, true])
    #expect(!alarms.isDue(.holds, at: Self.time(21)))
  }
}
