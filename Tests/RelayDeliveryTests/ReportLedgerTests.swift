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
