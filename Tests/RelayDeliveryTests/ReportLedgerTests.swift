// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayDelivery

/// Reports that count for several accounts, and the limit of a ledger.
@Suite struct ReportLedgerTests {
  private let phone = DeviceID(unchecked: "phone")
  private let other = DeviceID(unchecked: "other")

  private func report(_ isFocused: Bool?, _ device: DeviceID, number: Int64? = nil, at: Int64 = 5) -> FocusReport {
    FocusReport(device: device, isFocused: isFocused, at: .at(at), number: number)
  }

  @Test func `a report for another account has no number, because each account counts its own`() {
    #expect(report(true, phone, number: 3).shared(with: other) == report(true, other))
    let filter = FilterReport(device: phone, isActive: true, allow: ["work"], at: .at(5), number: 3)
    #expect(
      filter.shared(with: other) == FilterReport(device: other, isActive: true, allow: ["work"], at: .at(5)))
  }

  @Test func `the times order the reports of several accounts, and the own number stays`() throws {
    var ledger = FocusLedger()
    _ = ledger.take(report(false, phone, number: 9, at: 5), maxDevices: 0, now: .at(10))
    let late = ledger.take(report(true, phone, at: 4), maxDevices: 0, now: .at(10))
    #expect(late?.isApplied == false)
    #expect(ledger.isFocused == false)
    let next = ledger.take(report(true, phone, at: 6), maxDevices: 0, now: .at(10))
    #expect(next?.isApplied == true)
    #expect(ledger.isFocused == true)
    #expect(next?.record?.number == 9)
  }

  /// A time in milliseconds, and reports around it.
  private static let noon: Int64 = 1_800_000_000_000
  private static let month: Int64 = 30 * 86_400_000

  /// The number of the last report and the number of this one, both sent at noon.
  struct Numbers: Sendable, CustomTestStringConvertible {
    let last, next: Int64
    let isApplied: Bool
    var testDescription: String { "\(last), \(next)" }
  }

  @Test(arguments: [
    Numbers(last: 7, next: 8, isApplied: true), Numbers(last: 7, next: 7, isApplied: false),
    Numbers(last: 8, next: 7, isApplied: false),
    // A counter may count as it likes.
    Numbers(last: 7, next: 999_999_999_999, isApplied: true),
    Numbers(last: 7, next: noon, isApplied: true), Numbers(last: noon, next: noon + 60_000, isApplied: true),
    Numbers(last: noon + 60_000, next: noon + 59_999, isApplied: false),
    // The device's clock is ahead. Its numbers keep their order.
    Numbers(last: 7, next: noon + 60_001, isApplied: true),
    Numbers(last: noon - 1, next: noon + month, isApplied: true),
    Numbers(last: noon + month, next: noon + month + 1, isApplied: true),
    Numbers(last: noon + month, next: noon + month, isApplied: false),
    Numbers(last: noon + month + 1, next: noon + month, isApplied: false),
    Numbers(last: noon + month, next: noon + 60_001, isApplied: false),
    // The device's clock was ahead, and is right now.
    Numbers(last: noon + month, next: noon + 60_000, isApplied: true),
    Numbers(last: noon + 60_001, next: noon + 60_000, isApplied: true),
    Numbers(last: noon + month, next: noon, isApplied: true), Numbers(last: noon + month, next: 7, isApplied: true),
    // A counter in microseconds is no time.
    Numbers(last: noon * 1_000, next: noon * 2_000, isApplied: true),
    Numbers(last: noon * 1_000, next: noon, isApplied: false),
    Numbers(last: 9_999, next: 10_000_000_000_000, isApplied: true),
    Numbers(last: 10_000_000_000_000, next: noon, isApplied: false),
  ]) func `a number that is a time more than a minute ahead gives way to one that is not`(row: Numbers) {
    let now = Moment(now: Timestamp(rawValue: Self.noon))
    func check<Ledger: ReportLedger>(_ ledger: Ledger, _ report: (Int64) -> Ledger.Report) {
      var ledger = ledger
      _ = ledger.take(report(row.last), maxDevices: 0, now: now)
      let change = ledger.take(report(row.next), maxDevices: 0, now: now)
      #expect(change?.isApplied == row.isApplied)
      #expect(change?.record?.number == (row.isApplied ? row.next : row.last))
      #expect(change?.newestNumber == (row.isApplied ? nil : row.last))
    }
    check(FocusLedger()) { FocusReport(device: phone, isFocused: true, number: $0) }
    check(FilterLedger()) { FilterReport(device: phone, isActive: true, allow: ["work"], number: $0) }
  }

  @Test func `a report without a number gets none when the times refuse it`() {
    var ledger = FocusLedger()
    _ = ledger.take(report(true, phone, number: 9, at: 5), maxDevices: 0, now: .at(10))
    let change = ledger.take(report(false, phone, at: 4), maxDevices: 0, now: .at(10))
    #expect(change?.isApplied == false && change?.newestNumber == nil)
  }

  @Test func `a number from before the relay's clock was set back does not block the device`() {
    var (focus, filters) = (FocusLedger(), FilterLedger())
    for (number, isApplied) in [(Self.noon, true), (Self.noon - 3_500_000, true)] {
      let now = Moment(now: Timestamp(rawValue: number - 1))
      #expect(focus.apply(FocusReport(device: phone, isFocused: true, number: number), now: now) == isApplied)
      let report = FilterReport(device: phone, isActive: true, allow: ["work"], number: number)
      #expect(filters.apply(report, now: now) == isApplied)
    }
  }

  @Test func `a device without a state makes way for a new one`() {
    var ledger = FocusLedger()
    func take(_ isFocused: Bool?, _ device: DeviceID) -> LedgerChange<FocusRecord>? {
      ledger.take(report(isFocused, device), maxDevices: 1, now: .at(10))
    }
    for isFocused in [nil, true] {
      let change = take(isFocused, phone)
      #expect(change != nil && change?.silent == nil)
    }
    #expect(take(true, other) == nil)
    #expect(ledger.records.map(\.device) == [phone])
    _ = take(nil, phone)
    let change = take(true, other)
    #expect(change?.silent == phone)
    #expect(change?.record?.isFocused == true)
    #expect(ledger.records.map(\.device) == [other])
  }
}
