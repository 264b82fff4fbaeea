// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import SeededRandom
import Testing

/// The changes that time makes to Focus reports: the settle window of 3 s, the expiry of a true after 12 h, and the end
/// of all reports after 7 days without another one.
@Suite final class FocusDecayTests {
  private var ledger = FocusLedger()

  private func apply(
    _ isFocused: Bool?, of device: DeviceID = phone, at: Int64? = nil, number: Int64? = nil,
    _ authorization: FocusAuthorization = .authorized, now: Int64, steps: Int64 = 0
  ) -> Bool {
    let report = FocusReport(
      device: device, isFocused: isFocused, authorization: authorization, at: at.map(Timestamp.at), number: number)
    return ledger.apply(report, now: .at(now, steps: steps))
  }

  private func advance(_ now: Int64, steps: Int64 = 0) -> [DeviceID] {
    ledger.advance(to: .at(now, steps: steps)).map(\.device)
  }

  // MARK: The settle window

  @Test func `a true counts at once, and a false after 3 s`() {
    #expect(apply(true, now: 0))
    #expect(ledger.isFocused == true)
    #expect(apply(false, now: 10_000))
    #expect(ledger.isFocused == true)
    #expect(ledger[phone]?.isFocused == false)
    #expect(ledger.focusSince == .at(0))
    #expect(ledger.nextChange == .at(13_000))
    #expect(ledger.focusedUntil(phone) == .at(13_000))
    #expect(advance(12_999) == [])
    #expect(ledger.isFocused == true)
    #expect(advance(13_000) == [phone])
    #expect(ledger.isFocused == false)
    #expect(ledger.focusSince == nil)
    #expect(ledger.focusedUntil(phone) == nil)
    #expect(ledger[phone]?.since == nil)
    #expect(ledger[phone]?.settles == nil)
    #expect(advance(13_001) == [])
  }

  @Test func `a true within the settle window cancels the false`() {
    #expect(apply(true, now: 0))
    #expect(apply(false, now: 10_000))
    #expect(apply(true, now: 12_999))
    #expect(ledger[phone]?.settles == nil)
    #expect(advance(20_000) == [])
    #expect(ledger.isFocused == true)
    #expect(ledger.focusSince == .at(0))
  }

  @Test func `a true right after the window begins a new Focus`() {
    #expect(apply(true, now: 0))
    #expect(apply(false, now: 10_000))
    #expect(apply(true, now: 13_000))
    #expect(ledger.focusSince == .at(13_000))
  }

  @Test func `another false does not lengthen the window`() {
    #expect(apply(true, now: 0))
    #expect(apply(false, now: 10_000))
    #expect(apply(false, now: 12_000))
    #expect(ledger.nextChange == .at(13_000))
    #expect(advance(13_000) == [phone])
    #expect(ledger.isFocused == false)
  }

  @Test func `a false of a device that was not focused has no window`() {
    #expect(apply(false, now: 0))
    #expect(ledger.isFocused == false)
    #expect(apply(true, of: laptop, now: 0))
    #expect(apply(false, now: 1))
    #expect(ledger[phone]?.settles == nil)
    #expect(ledger.focusedUntil(phone) == nil)
  }

  @Test func `a null counts at once and ends a window`() {
    #expect(apply(true, now: 0))
    #expect(apply(nil, now: 1))
    #expect(ledger.isFocused == nil)
    #expect(apply(true, now: 2))
    #expect(apply(false, now: 3))
    #expect(apply(nil, now: 4))
    #expect(ledger.isFocused == nil)
    #expect(ledger.focusSince == nil)
    #expect(ledger.nextChange == nil)
  }

  @Test(arguments: FocusAuthorization.allCases.filter { $0 != .authorized })
  func `a lost authorization counts at once and ends a window`(authorization: FocusAuthorization) {
    #expect(apply(true, now: 0))
    #expect(apply(false, now: 1))
    #expect(apply(true, authorization, now: 2))
    #expect(ledger.isFocused == nil)
    #expect(ledger[phone]?.since == nil)
    #expect(ledger[phone]?.settles == nil)
    #expect(apply(false, now: 3))
    #expect(ledger.isFocused == false)
  }

  @Test func `a device in its window still counts as focused`() {
    #expect(apply(true, at: 10, now: 10))
    #expect(apply(false, of: laptop, now: 10))
    #expect(apply(false, now: 20))
    #expect(ledger.isFocused == true)
    #expect(apply(true, of: laptop, now: 30))
    #expect(ledger.focusSince == .at(10))
    #expect(advance(3_020) == [phone])
    #expect(ledger.isFocused == true)
    #expect(ledger.focusSince == .at(10))
    #expect(ledger.focusedUntil(phone) == nil)
    #expect(ledger.focusedUntil(laptop) != nil)
  }

  @Test func `a window ends at the latest with its true`() {
    #expect(apply(true, at: 0, now: 0))
    #expect(apply(false, now: 12 * hour - 1_000))
    #expect(ledger.nextChange == .at(12 * hour))
    #expect(advance(12 * hour) == [phone])
    #expect(ledger.isFocused == false)
  }

  @Test func `a policy without a window has none`() {
    ledger = FocusLedger(policy: FocusPolicy(settle: .zero))
    #expect(apply(true, now: 0))
    #expect(apply(false, now: 1))
    #expect(ledger.isFocused == false)
  }

  // MARK: Expiry

  @Test func `a true ends 12 h after the device's time unless it is renewed`() {
    #expect(apply(true, at: 5_000, number: 7, now: 9_000))
    #expect(ledger.nextChange == .at(12 * hour + 5_000))
    #expect(ledger.focusedUntil(phone) == .at(12 * hour + 5_000))
    #expect(advance(12 * hour + 4_999) == [])
    #expect(advance(12 * hour + 5_000) == [phone])
    #expect(ledger.isFocused == nil)
    #expect(ledger.focusSince == nil)
    #expect(ledger.focusedUntil(phone) == nil)
    #expect(ledger.nextChange == nil)
    #expect(ledger[phone]?.isFocused == nil)
    #expect(ledger[phone]?.since == nil)
  }

  @Test func `a renewed true keeps its begin`() {
    #expect(apply(true, at: 0, now: 0))
    #expect(apply(true, at: 11 * hour, now: 11 * hour))
    #expect(advance(23 * hour - 1) == [])
    #expect(ledger.focusSince == .at(0))
    #expect(advance(23 * hour) == [phone])
    #expect(ledger.isFocused == nil)
  }

  @Test func `a true that is reported after its end does not count`() {
    #expect(apply(true, at: -12 * hour, number: 5, now: 0))
    #expect(ledger.isFocused == nil)
    #expect(ledger.focusSince == nil)
    #expect(ledger[phone]?.number == nil)
    #expect(apply(true, at: 1 - 12 * hour, now: 0))
    #expect(ledger.isFocused == true)
    #expect(ledger.focusSince == .at(1 - 12 * hour))
    #expect(ledger.nextChange == .at(1))
  }

  @Test func `a false lasts longer than a true`() {
    #expect(apply(false, at: -day, now: 0))
    #expect(ledger.isFocused == false)
    #expect(ledger.nextChange == .at(7 * day))
    #expect(advance(7 * day - 1) == [])
    #expect(advance(7 * day) == [phone])
    #expect(ledger.isFocused == nil)
    #expect(ledger.nextChange == nil)
  }

  @Test func `any report keeps the state of its device, even an ignored one`() {
    #expect(apply(false, number: 5, now: 0))
    #expect(!apply(true, number: 5, now: day))
    #expect(ledger.nextChange == .at(8 * day))
    #expect(advance(8 * day - 1) == [])
    #expect(ledger.isFocused == false)
  }

  @Test func `an ignored report does not renew a true`() {
    #expect(apply(true, at: 0, number: 5, now: 0))
    #expect(!apply(true, at: 11 * hour, number: 5, now: 11 * hour))
    #expect(advance(12 * hour) == [phone])
  }

  @Test(arguments: [(true, 12 * hour), (false, 7 * day), (nil, 7 * day)] as [(Bool?, Int64)])
  func `a report loses its number when it ends`(isFocused: Bool?, end: Int64) {
    #expect(apply(isFocused, number: 9, now: 0))
    #expect(advance(end - 1) == [])
    #expect(!apply(isFocused, number: 1, now: 0))
    #expect(advance(end) == [phone])
    #expect(ledger[phone]?.number == nil)
    #expect(apply(true, number: 1, now: end))
    #expect(ledger.isFocused == true)
  }

  @Test func `after the end of a report, an older number is accepted`() {
    #expect(apply(true, number: 9, now: 0))
    #expect(apply(true, number: 1, now: 12 * hour))
    #expect(ledger.focusSince == .at(12 * hour))
  }

  @Test func `a report of one device expires the old reports of others`() {
    #expect(apply(true, now: 0))
    #expect(apply(false, of: laptop, now: 12 * hour))
    #expect(ledger.isFocused == false)
    #expect(ledger[phone]?.isFocused == nil)
  }

  @Test func `the next change is the earliest of several`() {
    #expect(apply(false, now: 0))
    #expect(apply(true, of: laptop, at: hour, now: hour))
    #expect(ledger.nextChange == .at(13 * hour))
    #expect(advance(13 * hour) == [laptop])
    #expect(ledger.isFocused == false)
    #expect(ledger.nextChange == .at(7 * day))
    #expect(advance(30 * day) == [phone])
    #expect(ledger.isFocused == nil)
  }

  @Test func `a ledger without a state has no next change`() {
    #expect(ledger.nextChange == nil)
    #expect(apply(nil, now: 0))
    #expect(ledger.nextChange == nil)
    #expect(ledger.focusedUntil(phone) == nil)
    #expect(ledger.focusedUntil(laptop) == nil)
  }

  @Test func `the policy sets all lifetimes`() {
    ledger = FocusLedger(
      policy: FocusPolicy(
        settle: .milliseconds(1), lifetime: .milliseconds(20), silence: .milliseconds(300),
        clockSkew: .milliseconds(4_000)))
    #expect(apply(true, at: 4_001, now: 0))
    #expect(ledger.nextChange == .at(20))
    #expect(apply(false, at: 2, now: 2))
    #expect(ledger.nextChange == .at(3))
    #expect(advance(3) == [phone])
    #expect(ledger.nextChange == .at(302))
  }

  // MARK: Steps of the wall clock

  private static let steps = [600_000, 40 * day, -600_000, -40 * day]

  @Test(arguments: steps, [true, false])
  func `a true ends 12 h after its report, also if the wall clock is set`(step: Int64, restarts: Bool) {
    #expect(apply(true, at: 0, now: 0))
    #expect(advance(hour) == [])
    if restarts { ledger = FocusLedger(ledger.records) }
    _ = advance(hour + step, steps: step)
    #expect(ledger.isFocused == true)
    #expect(ledger.focusedUntil(phone) == .at(12 * hour + step))
    #expect(ledger.nextChange == .at(12 * hour + step))
    #expect(ledger[phone]?.at == .at(0))
    _ = advance(12 * hour - 1 + step, steps: step)
    #expect(ledger.isFocused == true)
    #expect(advance(12 * hour + step, steps: step) == [phone])
    #expect(ledger.isFocused == nil)
  }

  @Test(arguments: steps) func `a step and its correction change nothing`(step: Int64) {
    #expect(apply(true, now: 0))
    _ = advance(1_000 + step, steps: step)
    #expect(apply(true, of: laptop, now: 2_000 + step, steps: step))
    _ = advance(3_000)
    #expect(ledger.focusedUntil(phone) == .at(12 * hour))
    #expect(ledger.focusedUntil(laptop) == .at(12 * hour + 2_000))
  }

  @Test(arguments: steps) func `a false settles after 3 s, also if the wall clock is set`(step: Int64) {
    #expect(apply(true, now: 0))
    #expect(ledger.settles(phone) == nil)
    #expect(apply(false, now: hour))
    _ = advance(hour + 1_000 + step, steps: step)
    #expect(ledger.settles(phone) == .at(hour + 3_000 + step))
    // A second false does not lengthen the window.
    #expect(apply(false, now: hour + 2_000 + step, steps: step))
    #expect(ledger.settles(phone) == .at(hour + 3_000 + step))
    #expect(ledger.focusedUntil(phone) == .at(hour + 3_000 + step))
    _ = advance(hour + 2_999 + step, steps: step)
    #expect(ledger.isFocused == true)
    _ = advance(hour + 3_000 + step, steps: step)
    #expect(ledger.isFocused == false)
  }

  @Test(arguments: steps) func `a false after a step settles at the latest with its true`(step: Int64) {
    #expect(apply(true, now: 0))
    #expect(apply(false, now: 12 * hour - 1_000 + step, steps: step))
    #expect(ledger.nextChange == .at(12 * hour + step))
  }

  @Test(arguments: steps) func `any report keeps the state of its device, also if the wall clock is set`(step: Int64) {
    #expect(apply(false, number: 5, now: 0))
    #expect(!apply(true, number: 5, now: day + step, steps: step))
    #expect(ledger.nextChange == .at(8 * day + step))
    #expect(advance(8 * day) == [phone])
  }

  @Test func `the times of a device keep their order when the relay's clock jumps ahead`() {
    #expect(apply(true, at: 0, now: 0))
    #expect(!apply(false, at: -1, now: 10 + 40 * day, steps: 40 * day))
    #expect(apply(false, at: 5, now: 10 + 40 * day, steps: 40 * day))
  }

  @Test(arguments: [1, 599_000] as [Int64])
  func `a report without a time is newer, also after the relay's clock was set back`(later: Int64) {
    #expect(apply(true, now: 0))
    #expect(apply(false, now: later - 600_000, steps: -600_000))
    #expect(apply(true, now: later + 1))
  }

  @Test func `the begin of a Focus is never later than the wall clock`() {
    #expect(apply(true, now: 0))
    _ = advance(1_000 + hour, steps: hour)
    #expect(ledger.focusSince == .at(0))
    _ = advance(2_000 - hour, steps: -hour)
    #expect(ledger.focusSince == .at(2_000 - hour))
  }

  @Test func `the device that reported longest ago is forgotten first, also if the wall clock is set`() {
    #expect(apply(nil, now: hour))
    #expect(apply(nil, of: laptop, now: hour + 1 - hour, steps: -hour))
    #expect(ledger.forgetSilent() == phone)
  }

  /// Two ledgers get the same reports. The wall clock of one of them is set.
  @Test(arguments: 0..<30) func `a ledger changes at the same moments, whatever happens to the wall clock`(seed: Int) {
    var dice = SeededGenerator(seed: seed)
    var (now, steps): (Int64, Int64) = (0, 0)
    var steady = FocusLedger()
    for _ in 0..<200 {
      now += dice.one(of: [0, 1, 2_999, 3_000, 60_000, hour, 6 * hour, 12 * hour, 4 * day])
      if dice.hits(oneIn: 4) { steps += dice.one(of: Self.steps) }
      if dice.hits(oneIn: 4) { ledger = FocusLedger(ledger.records) }
      steady.advance(to: .at(now))
      _ = advance(now + steps, steps: steps)
      let report = FocusReport(
        device: dice.one(of: [phone, laptop]), isFocused: dice.one(of: [true, true, false, nil]),
        number: dice.hits(oneIn: 2) ? Int64.random(in: 0..<10, using: &dice) : nil)
      if dice.hits(oneIn: 2) {
        let isApplied = ledger.apply(report, now: .at(now + steps, steps: steps))
        let isExpected = steady.apply(report, now: .at(now))
        #expect(isApplied == isExpected)
      }
      #expect(ledger.isFocused == steady.isFocused)
      #expect(ledger.nextChange == steady.nextChange.map { $0 + .milliseconds(steps) })
      for device in [phone, laptop] {
        #expect(ledger.focusedUntil(device) == steady.focusedUntil(device).map { $0 + .milliseconds(steps) })
        #expect(ledger[device]?.number == steady[device]?.number)
      }
    }
  }

  // MARK: Restarts and chance

  @Test func `a window continues after a restart`() {
    #expect(apply(true, at: 0, now: 0))
    #expect(apply(false, now: 10_000))
    ledger = FocusLedger(ledger.records)
    #expect(ledger.isFocused == true)
    #expect(ledger.focusSince == .at(0))
    #expect(ledger.nextChange == .at(13_000))
    #expect(advance(13_000) == [phone])
    #expect(ledger.isFocused == false)
  }

  /// Random histories of reports, restarts and lapses of time.
  @Test(arguments: 0..<50)
  func `a random history keeps the promises of the ledger`(seed: Int) {
    var dice = SeededGenerator(seed: seed)
    var now: Int64 = 0
    for _ in 0..<200 {
      now += dice.one(of: [0, 1, 999, 2_999, 3_000, 3_001, 60_000, hour, 12 * hour, 3 * day, 8 * day])
      var looked = ledger
      looked.advance(to: .at(now))
      // Nothing changes before the announced time.
      if let next = ledger.nextChange, .at(now) < next {
        #expect(looked.isFocused == ledger.isFocused)
        #expect(looked.focusSince == ledger.focusSince)
      }
      switch dice.one(of: [0, 0, 0, 1, 2, 3, 4]) {
      case 0:
        let at =
          dice.hits(oneIn: 3) ? nil : now - dice.one(of: [-70_000, -60_000, 0, 1, 5_000, hour, 11 * hour, 12 * hour])
        _ = apply(
          dice.one(of: [true, true, false, nil]), of: dice.one(of: [phone, laptop]), at: at,
          number: dice.hits(oneIn: 2) ? Int64.random(in: 0..<10, using: &dice) : nil,
          dice.hits(oneIn: 8) ? .denied : .authorized, now: now)
      case 1: ledger.advance(to: .at(now))
      case 2: ledger.deviceForgotten(dice.one(of: [phone, laptop]))
      case 3: ledger.forgetNumber(of: dice.one(of: [phone, laptop]))
      default: #expect(FocusLedger(ledger.records) == ledger)
      }
      check(now, looked: ledger)
    }
  }

  private func check(_ now: Int64, looked: FocusLedger) {
    var ledger = looked
    ledger.advance(to: .at(now))
    var again = ledger
    let changed = again.advance(to: .at(now))
    #expect(changed == [])
    #expect(again == ledger)
    #expect((ledger.focusSince != nil) == (ledger.isFocused == true))
    if let since = ledger.focusSince { #expect(since <= .at(now)) }
    if let next = ledger.nextChange { #expect(.at(now) < next) }
    let ends = ledger.records.compactMap { ledger.focusedUntil($0.device) }
    #expect(ends.isEmpty == (ledger.isFocused != true))
    for end in ends { #expect(.at(now) < end && end <= .at(now + 12 * hour + 60_000)) }
    // After 7 days without reports nothing is known.
    again.advance(to: .at(now + 7 * day))
    #expect(again.isFocused == nil)
    #expect(again.records.allSatisfy { $0.number == nil && $0.since == nil && $0.settles == nil })
  }
}
