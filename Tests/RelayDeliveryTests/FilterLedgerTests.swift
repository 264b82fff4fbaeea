// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import SeededRandom
import Testing

@testable import RelayDelivery

/// The reports of devices about their filters, and the times at which they expire.
@Suite final class FilterLedgerTests {
  private var ledger = FilterLedger()

  private func apply(
    _ allow: [String]?, of device: DeviceID = phone, at: Int64? = nil, number: Int64? = nil, now: Int64,
    steps: Int64 = 0
  ) -> Bool {
    let report = FilterReport(
      device: device, isActive: allow != nil, allow: allow ?? [], at: at.map(Timestamp.at), number: number)
    return ledger.apply(report, now: .at(now, steps: steps))
  }

  private func advance(_ now: Int64, steps: Int64 = 0) -> [DeviceID] {
    ledger.advance(to: .at(now, steps: steps)).map(\.device)
  }

  @Test func `an active filter is stored as reported`() {
    #expect(apply(["home", "x"], at: 5, number: 3, now: 10))
    #expect(
      ledger[phone]
        == FilterRecord(
          device: phone, isActive: true, allow: ["home", "x"], at: .at(5), number: 3, received: .at(10)))
    #expect(ledger.filter(of: phone) == FilterFacts(allow: ["home", "x"], until: .at(5 + 12 * hour)))
    #expect(ledger.filter(of: laptop) == nil)
    #expect(ledger.count == 1)
    #expect(ledger.records == [ledger[phone]])
  }

  @Test func `an inactive filter passes every push, whatever its labels`() {
    let isApplied = ledger.apply(FilterReport(device: phone, isActive: false, allow: ["home"]), now: .at(0))
    #expect(isApplied)
    #expect(ledger.filter(of: phone) == nil)
    #expect(ledger[phone]?.allow == [])
    #expect(ledger.nextChange == nil)
  }

  @Test func `a device registers again, and another one is deleted`() {
    #expect(apply(["a"], number: 9, now: 0))
    #expect(apply(["b"], of: laptop, number: 9, now: 0))
    ledger.forgetNumber(of: phone)
    #expect(apply(["c"], number: 1, now: 0))
    #expect(!apply(["c"], of: laptop, number: 1, now: 0))
    ledger.deviceForgotten(laptop)
    #expect(ledger.filter(of: laptop) == nil)
    #expect(ledger.records.map(\.device) == [phone])
  }

  @Test func `the device without a filter and with the oldest report is forgotten first`() {
    #expect(apply(["a"], now: 0))
    #expect(ledger.forgetSilent() == nil)
    #expect(apply(nil, of: laptop, now: 2))
    #expect(apply(nil, of: DeviceID(unchecked: "tablet"), now: 1))
    #expect(ledger.forgetSilent() == DeviceID(unchecked: "tablet"))
    #expect(ledger.forgetSilent() == laptop)
    #expect(ledger.records.map(\.device) == [phone])
  }

  @Test func `a filter can refuse every label`() {
    #expect(apply([], now: 0))
    #expect(ledger.filter(of: phone)?.allow == [])
  }

  @Test func `a newer report replaces an older one`() {
    #expect(apply(["a"], at: 1, number: 4, now: 1))
    #expect(!apply(["b"], at: 2, number: 4, now: 2))
    #expect(!apply(["b"], at: 0, now: 3))
    #expect(ledger[phone]?.received == .at(3))
    #expect(ledger.filter(of: phone)?.allow == ["a"])
    #expect(apply(["b"], at: 1, now: 4))
    #expect(ledger[phone]?.number == 4)
    #expect(!apply(nil, number: 4, now: 5))
    #expect(apply(nil, at: 0, number: 5, now: 5))
    #expect(ledger.filter(of: phone) == nil)
  }

  @Test func `a report from the far future gets the time of its arrival`() {
    #expect(apply(["a"], at: 60_001, now: 0))
    #expect(ledger[phone]?.at == .at(0))
    #expect(apply(["a"], of: laptop, at: 60_000, now: 0))
    #expect(ledger[laptop]?.at == .at(60_000))
  }

  @Test func `an active filter ends after 12 h unless it is renewed`() {
    #expect(apply(["a"], at: 5, number: 9, now: 10))
    #expect(apply(["b"], of: laptop, at: hour, now: hour))
    #expect(ledger.nextChange == .at(5 + 12 * hour))
    #expect(advance(4 + 12 * hour) == [])
    #expect(advance(5 + 12 * hour) == [phone])
    #expect(ledger.filter(of: phone) == nil)
    #expect(ledger[phone]?.allow == [])
    #expect(ledger[phone]?.number == nil)
    #expect(ledger.filter(of: laptop)?.allow == ["b"])
    #expect(ledger.nextChange == .at(13 * hour))
    #expect(apply(["c"], number: 1, now: 12 * hour + 6))
    #expect(ledger.filter(of: phone)?.allow == ["c"])
  }

  @Test func `a filter that is reported after its end is not active`() {
    #expect(apply(["a"], at: -12 * hour, now: 0))
    #expect(ledger.filter(of: phone) == nil)
    #expect(apply(["a"], at: 1 - 12 * hour, now: 0))
    #expect(ledger.filter(of: phone)?.until == .at(1))
  }

  @Test(arguments: [600_000, 40 * day, -600_000, -40 * day])
  func `only the steps after a report move the end of its filter`(step: Int64) {
    #expect(apply(["a"], at: 0, now: 0, steps: step))
    _ = advance(hour + step, steps: 2 * step)
    #expect(ledger.filter(of: phone)?.until == .at(12 * hour + step))
    #expect(ledger.nextChange == .at(12 * hour + step))
  }

  @Test(arguments: [600_000, 40 * day, -600_000, -40 * day], [true, false])
  func `a filter ends after 12 h, also if the wall clock is set`(step: Int64, restarts: Bool) {
    #expect(apply(["a"], at: 0, number: 9, now: 0))
    if restarts { ledger = FilterLedger(ledger.records) }
    _ = advance(hour + step, steps: step)
    #expect(ledger.filter(of: phone)?.until == .at(12 * hour + step))
    #expect(ledger.nextChange == .at(12 * hour + step))
    // An ignored report does not lengthen it.
    #expect(!apply(["b"], number: 9, now: 11 * hour + step, steps: step))
    #expect(advance(12 * hour - 1 + step, steps: step) == [])
    #expect(ledger.filter(of: phone)?.allow == ["a"])
    #expect(advance(12 * hour + step, steps: step) == [phone])
    #expect(ledger.filter(of: phone) == nil)
    // After 7 days without a report the device may start its numbers again.
    #expect(apply(nil, number: 20, now: 0))
    #expect(!apply(nil, number: 3, now: 6 * day + step, steps: step))
    #expect(advance(13 * day - 1) == [])
    #expect(advance(13 * day) == [phone])
  }

  @Test func `the device that reported longest ago is forgotten first, also if the wall clock is set`() {
    #expect(apply(nil, now: hour))
    #expect(apply(nil, of: laptop, now: 1, steps: -hour))
    #expect(ledger.forgetSilent() == phone)
  }

  @Test func `after the end of a report, an older number is accepted`() {
    #expect(apply(["a"], number: 9, now: 0))
    #expect(apply(["b"], number: 1, now: 12 * hour))
    #expect(ledger.filter(of: phone)?.allow == ["b"])
  }

  @Test func `a device may restart its numbers after 7 days without a report`() {
    #expect(apply(nil, number: 9, now: 0))
    #expect(advance(7 * day - 1) == [])
    #expect(advance(7 * day) == [phone])
    #expect(ledger[phone]?.number == nil)
    #expect(advance(8 * day) == [])
  }

  @Test func `a filter ends early if the device stops reporting`() {
    ledger = FilterLedger(policy: FocusPolicy(lifetime: .milliseconds(100), silence: .milliseconds(10)))
    #expect(apply(["a"], now: 0))
    #expect(ledger.filter(of: phone)?.until == .at(10))
    #expect(ledger.nextChange == .at(10))
    #expect(advance(10) == [phone])
    #expect(ledger.filter(of: phone) == nil)
  }

  @Test(arguments: 0..<20)
  func `a history keeps the promises of the ledger`(seed: Int) {
    var dice = SeededGenerator(seed: seed)
    var now: Int64 = 0
    for _ in 0..<200 {
      now += dice.one(of: [0, 1, 60_000, hour, 12 * hour, 3 * day, 8 * day])
      if dice.hits(oneIn: 3) {
        ledger.advance(to: .at(now))
      } else {
        _ = apply(
          dice.one(of: [nil, [], ["a"]]), of: dice.one(of: [phone, laptop]),
          at: dice.hits(oneIn: 3) ? nil : now - dice.one(of: [-70_000, -60_000, 0, 5_000, hour, 12 * hour]),
          number: dice.hits(oneIn: 2) ? Int64.random(in: 0..<10, using: &dice) : nil, now: now)
      }
      #expect(FilterLedger(ledger.records) == ledger)
      let filters = [phone, laptop].compactMap { ledger.filter(of: $0) }
      #expect(filters.map(\.until).min() == ledger.nextChange)
      for filter in filters { #expect(.at(now) < filter.until && filter.until <= .at(now + 12 * hour + 60_000)) }
    }
  }
}
