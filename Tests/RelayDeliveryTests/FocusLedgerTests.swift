// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// The reports of devices about their Focus, and the state of the user that follows from them.
@Suite final class FocusLedgerTests {
  private var ledger = FocusLedger()

  private static func report(
    _ isFocused: Bool?, of device: DeviceID = phone, at: Int64? = nil, number: Int64? = nil
  ) -> FocusReport {
    FocusReport(device: device, isFocused: isFocused, at: at.map(Timestamp.at), number: number)
  }

  private static func record(_ device: DeviceID, _ isFocused: Bool?, at: Int64 = 0) -> FocusRecord {
    FocusRecord(
      device: device, isFocused: isFocused, authorization: .authorized, at: .at(at), number: nil, source: nil,
      received: .at(at))
  }

  /// Applies a report outside of `#expect`, which cannot call a mutating function.
  private func apply(_ report: FocusReport, now: Int64) -> Bool { ledger.apply(report, now: .at(now)) }

  @Test func `a first report is stored as it is`() {
    let report = FocusReport(device: phone, isFocused: true, at: .at(7), number: 3, source: .intent)
    #expect(apply(report, now: 10))
    #expect(
      ledger[phone]
        == FocusRecord(
          device: phone, isFocused: true, authorization: .authorized, at: .at(7), number: 3, source: .intent,
          received: .at(10), since: .at(7)))
    #expect(ledger.count == 1)
    #expect(ledger.records == [ledger[phone]])
  }

  struct Pair: Sendable {
    let first: FocusReport
    let second: FocusReport
    let isApplied: Bool
  }

  @Test(arguments: [
    Pair(first: report(false, at: 5, number: 4), second: report(true, at: 9, number: 3), isApplied: false),
    Pair(first: report(false, at: 5, number: 4), second: report(true, at: 9, number: 4), isApplied: false),
    Pair(first: report(false, at: 5, number: 4), second: report(true, at: 1, number: 5), isApplied: true),
    Pair(first: report(false, at: 5), second: report(true, at: 4), isApplied: false),
    Pair(first: report(false, at: 5), second: report(true, at: 5), isApplied: true),
    Pair(first: report(false, at: 5), second: report(true, at: 6), isApplied: true),
    Pair(first: report(false, at: 5, number: 4), second: report(true, at: 4), isApplied: false),
    Pair(first: report(false, at: 5, number: 4), second: report(true, at: 5), isApplied: true),
    Pair(first: report(false, at: 5), second: report(true, at: 4, number: 9), isApplied: false),
    Pair(first: report(false, at: 5), second: report(true, at: 6, number: 9), isApplied: true),
    Pair(first: report(false, at: 5), second: report(true), isApplied: true),
  ])
  func `the numbers order two reports, or else the device's times`(pair: Pair) {
    #expect(apply(pair.first, now: 100))
    #expect(apply(pair.second, now: 200) == pair.isApplied)
    #expect(ledger.isFocused == pair.isApplied)
    #expect(ledger[phone]?.received == .at(200))
  }

  @Test func `an ignored report changes only the time of the last report`() throws {
    #expect(apply(Self.report(true, at: 5, number: 4), now: 10))
    var expected = try #require(ledger[phone])
    #expect(!apply(FocusReport(device: phone, isFocused: nil, authorization: .denied, number: 4), now: 20))
    expected.received = .at(20)
    #expect(ledger[phone] == expected)
  }

  @Test func `a report without a number keeps the newest number`() {
    #expect(apply(Self.report(true, at: 1, number: 4), now: 10))
    #expect(apply(Self.report(false, at: 2), now: 10))
    #expect(!apply(Self.report(true, number: 4), now: 20))
    #expect(apply(Self.report(true, number: 5), now: 20))
  }

  @Test func `each device has its own numbers`() {
    #expect(apply(Self.report(true, number: 9), now: 0))
    #expect(apply(Self.report(true, of: laptop, number: 1), now: 0))
  }

  @Test func `a forgotten number is not compared any more`() {
    #expect(apply(Self.report(true, number: 9), now: 0))
    #expect(apply(Self.report(true, of: laptop, number: 9), now: 0))
    ledger.forgetNumber(of: phone)
    #expect(ledger[phone]?.number == nil)
    #expect(ledger[phone]?.isFocused == true)
    #expect(apply(Self.report(false, number: 1), now: 1))
    #expect(!apply(Self.report(false, of: laptop, number: 1), now: 1))
  }

  @Test func `a forgotten device has no state`() {
    #expect(apply(Self.report(true, at: 1, number: 9), now: 1))
    #expect(apply(Self.report(false, of: laptop), now: 1))
    ledger.deviceForgotten(phone)
    #expect(ledger[phone] == nil)
    #expect(ledger.count == 1)
    #expect(ledger.isFocused == false)
    #expect(ledger.focusSince == nil)
    ledger.deviceForgotten(laptop)
    #expect(ledger == FocusLedger())
    #expect(apply(Self.report(true, at: 0, number: 1), now: 2))
  }

  @Test func `the device without a state and with the oldest report is forgotten first`() {
    let tablet = DeviceID(unchecked: "tablet")
    #expect(apply(Self.report(true), now: 0))
    #expect(apply(Self.report(nil, of: laptop), now: 2))
    #expect(apply(Self.report(nil, of: tablet), now: 1))
    #expect(ledger.forgetSilent() == tablet)
    #expect(ledger.forgetSilent() == laptop)
    #expect(apply(Self.report(false), now: 3))
    // The false settles after 3 s.
    #expect(ledger.forgetSilent() == nil)
    ledger.advance(to: .at(10_000))
    #expect(ledger.forgetSilent() == nil)
    ledger.advance(to: .at(8 * day))
    #expect(ledger.forgetSilent() == phone)
    #expect(ledger == FocusLedger())
  }

  @Test(arguments: [
    (Int64?.none, Int64(1_000)), (-hour, -hour), (1_000, 1_000), (60_999, 60_999), (61_000, 61_000),
    (61_001, 1_000), (1 << 52, 1_000),
  ])
  func `a report without a time, or more than 60 s ahead, gets the time of its arrival`(told: Int64?, kept: Int64) {
    #expect(apply(Self.report(true, at: told), now: 1_000))
    #expect(ledger[phone]?.at == .at(kept))
  }

  @Test func `after the relay's clock was set back, a record from the future counts as now`() {
    #expect(apply(Self.report(true), now: hour))
    ledger.advance(to: .at(0))
    #expect(ledger[phone]?.at == .at(0))
    #expect(ledger[phone]?.received == .at(0))
    #expect(ledger.focusSince == .at(0))
    #expect(ledger.focusedUntil(phone) == .at(12 * hour))
    // A report without a number is newer.
    #expect(apply(Self.report(false), now: 1))
    #expect(ledger.nextChange == .at(3_001))
    ledger.advance(to: .at(3_001))
    #expect(ledger.isFocused == false)
  }

  @Test func `a false from the future settles 3 s after the relay's clock was set back`() {
    #expect(apply(Self.report(true), now: hour))
    #expect(apply(Self.report(false), now: hour + 1))
    let stored = FocusLedger(ledger.records)
    ledger = stored
    ledger.advance(to: .at(0))
    #expect(ledger.nextChange == .at(3_000))
    ledger.advance(to: .at(3_000))
    #expect(ledger.isFocused == false)
  }

  @Test func `a time up to 60 s ahead is kept`() {
    #expect(apply(Self.report(true, at: 60_000), now: 0))
    ledger.advance(to: .at(0))
    #expect(ledger[phone]?.at == .at(60_000))
  }

  @Test(arguments: FocusAuthorization.allCases, [true, false, nil])
  func `only an authorized device has a state`(authorization: FocusAuthorization, isFocused: Bool?) {
    #expect(apply(Self.report(false), now: 0))
    #expect(apply(FocusReport(device: phone, isFocused: isFocused, authorization: authorization), now: 1))
    #expect(ledger[phone]?.isFocused == (authorization == .authorized ? isFocused : nil))
    #expect(ledger[phone]?.authorization == authorization)
  }

  @Test(
    arguments: [
      ([], nil), ([nil], nil), ([false], false), ([true], true), ([nil, nil], nil), ([nil, false], false),
      ([false, nil], false), ([nil, true], true), ([true, nil], true), ([false, true], true), ([true, false], true),
      ([false, false], false), ([true, true], true),
    ] as [([Bool?], Bool?)])
  func `the user is focused if any device is, else not focused if any says so`(states: [Bool?], expected: Bool?) {
    let records = zip([phone, laptop], states).map { Self.record($0, $1) }
    #expect(FocusLedger(records).isFocused == expected)
    for record in records { #expect(apply(Self.report(record.isFocused, of: record.device), now: 0)) }
    #expect(ledger.isFocused == expected)
  }

  // MARK: Since when

  @Test func `renewals and other devices do not change the begin of a Focus`() {
    #expect(ledger.focusSince == nil)
    #expect(apply(Self.report(true, at: 10), now: 20))
    #expect(ledger.focusSince == .at(10))
    #expect(apply(Self.report(true, at: 30), now: 30))
    #expect(apply(Self.report(true, of: laptop, at: 40), now: 40))
    #expect(apply(Self.report(nil, at: 50), now: 50))
    #expect(ledger.focusSince == .at(10))
    #expect(apply(Self.report(nil, of: laptop, at: 60), now: 60))
    #expect(ledger.focusSince == nil)
    #expect(apply(Self.report(true, of: laptop, at: 70), now: 70))
    #expect(ledger.focusSince == .at(70))
  }

  @Test func `a late report with an earlier time moves the begin back`() {
    #expect(apply(Self.report(true, at: 10), now: 10))
    #expect(apply(Self.report(true, of: laptop, at: 5), now: 20))
    #expect(ledger.focusSince == .at(5))
  }

  @Test func `a false of one device does not move the begin`() {
    #expect(apply(Self.report(true, at: 10), now: 10))
    #expect(apply(Self.report(false, of: laptop, at: 5), now: 20))
    #expect(ledger.focusSince == .at(10))
  }

  @Test func `a Focus never begins in the future`() {
    #expect(apply(Self.report(true, at: 30_000), now: 0))
    #expect(ledger.focusSince == .at(0))
  }

  @Test func `a record without a begin uses the time of its report`() {
    let records = [
      Self.record(phone, true, at: 8), Self.record(laptop, true, at: 6),
      Self.record(DeviceID(unchecked: "watch"), false, at: 2),
    ]
    let ledger = FocusLedger(records)
    #expect(ledger.focusSince == .at(6))
    #expect(ledger.count == 3)
    #expect(ledger[laptop]?.since == .at(6))
    #expect(ledger.records.map(\.device.rawValue) == ["laptop", "phone", "watch"])
  }
}
