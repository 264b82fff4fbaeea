// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The reports of a user's devices about their Focus, and the state of the user that follows from them.
///
/// The records are the whole state of a ledger: a ledger that is made from the records of another one with the same
/// policy equals it, once both are advanced to the same time. The caller advances a new ledger to the present time, and
/// each ledger after a step of the wall clock.
public struct FocusLedger: Equatable, Sendable {
  /// True if at least one device reports a Focus, or reported one until a moment ago (``FocusPolicy/settle``).
  /// Otherwise false if at least one device reports none, and `nil` if no device reports either. Changes with
  /// ``advance(to:)`` and the other functions that mutate.
  public private(set) var isFocused: Bool?
  /// The time since which ``isFocused`` has been true without a break. Is `nil` when it is not true.
  public private(set) var focusSince: Timestamp?
  private var states: [DeviceID: FocusRecord] = [:]
  /// The steps of the wall clock up to the last call with a time.
  private var steps = Duration.zero
  private let policy: FocusPolicy

  public init(_ records: some Sequence<FocusRecord> = [], policy: FocusPolicy = FocusPolicy()) {
    self.policy = policy
    for var record in records {
      if record.countsAsTrue { record.since = record.since ?? record.at }
      states[record.device] = record
    }
    merge()
  }

  /// The last report of a device. Is `nil` when the device has not reported.
  public subscript(device: DeviceID) -> FocusRecord? { states[device] }

  /// The number of devices with a record.
  public var count: Int { states.count }

  /// All records to store, sorted by device.
  public var records: [FocusRecord] { states.values.sorted { $0.device < $1.device } }

  /// Applies a report, unless the device has already sent a newer one.
  /// - Returns: True if the report was applied. If it was not, only ``FocusRecord/received`` changes.
  public mutating func apply(_ report: FocusReport, now moment: Moment) -> Bool {
    advance(to: moment)
    defer { advance(to: moment) }
    let at = policy.time(of: report.at, now: moment.now)
    let former = states[report.device]
    if let former, !former.precedes(number: report.number, at: at, moment, policy) {
      states[report.device]?.received = former.now(moment)
      return false
    }
    var record = FocusRecord(
      device: report.device, isFocused: report.authorization == .authorized ? report.isFocused : nil,
      authorization: report.authorization, at: at, number: report.number ?? former?.number, source: report.source,
      received: moment.now, steps: steps)
    switch record.isFocused {
    case true?:
      // A user who is already focused on one device stays focused since then.
      record.since = min(focusSince ?? moment.now, at)
    case false?:
      guard let former, former.countsAsTrue else { break }
      record.since = former.since
      let end = former.settles ?? min(former.now(moment) + policy.settle, former.end(policy))
      record.settles = end + steps(since: former)
    case nil: break
    }
    states[report.device] = record
    return true
  }

  /// Deletes the record of a device.
  public mutating func deviceForgotten(_ device: DeviceID) {
    states[device] = nil
    merge()
  }

  /// Deletes the report number of a device, so that its next report is compared by its time.
  public mutating func forgetNumber(of device: DeviceID) { states[device]?.number = nil }

  /// Deletes the record of the device that reports neither true nor false and whose last report is the oldest.
  /// - Returns: The device. Is `nil` when every device reports one of them.
  public mutating func forgetSilent() -> DeviceID? {
    let silent = states.values.filter { $0.isFocused == nil && !$0.countsAsTrue }
    guard
      let device = silent.min(by: { ($0.received - $0.steps, $0.device) < ($1.received - $1.steps, $1.device) })?.device
    else {
      return nil
    }
    states[device] = nil
    return device
  }

  /// Settles and expires the records whose time is over at `now`.
  /// - Returns: The changed records, sorted by device.
  @discardableResult
  public mutating func advance(to moment: Moment) -> [FocusRecord] {
    steps = moment.steps
    let changed = records.compactMap { record in
      let advanced = record.advanced(to: moment, policy)
      return advanced == record ? nil : advanced
    }
    for record in changed { states[record.device] = record }
    merge()
    return changed
  }

  /// The time of the next change that ``advance(to:)`` makes to a Focus. Is `nil` when nothing changes without a new
  /// report.
  public var nextChange: Timestamp? {
    states.values.compactMap { record in record.nextChange(policy).map { $0 + steps(since: record) } }.min()
  }

  /// The time at which a device's own true expires or settles. Is `nil` when the device does not count as focused.
  public func focusedUntil(_ device: DeviceID) -> Timestamp? {
    guard let record = states[device], record.countsAsTrue else { return nil }
    return record.nextChange(policy).map { $0 + steps(since: record) }
  }

  /// The time at which a device's false settles. Is `nil` if the newest report of the device counts as it is.
  public func settles(_ device: DeviceID) -> Timestamp? {
    states[device].flatMap { record in record.settles.map { $0 + steps(since: record) } }
  }

  /// The difference between the wall clock and the clock of a record.
  private func steps(since record: FocusRecord) -> Duration { steps - record.steps }

  private mutating func merge() {
    let reported = states.values.filter { $0.isFocused != nil }
    let focused = reported.filter(\.countsAsTrue)
    isFocused = reported.isEmpty ? nil : !focused.isEmpty
    focusSince = focused.compactMap(\.since).min()
  }
}

extension FocusRecord {
  /// True if the record counts as focused. A false that has not settled still counts as true.
  fileprivate var countsAsTrue: Bool { isFocused == true || settles != nil }

  fileprivate func nextChange(_ policy: FocusPolicy) -> Timestamp? {
    if let settles { return settles }
    switch isFocused {
    case true?: return end(policy)
    case false?: return received + policy.silence
    case nil: return nil
    }
  }

  /// Replaces times in the future. They were recorded before the relay's clock was set back while the relay was stopped.
  /// ``since`` is a time for people, which is not moved by a step, so any step back may leave it in the future.
  private func believed(at moment: Moment, _ policy: FocusPolicy) -> FocusRecord {
    let now = self.now(moment)
    var record = self
    record.at = policy.time(of: at, now: now)
    record.received = policy.time(of: received, now: now)
    record.since = since.map { policy.time(of: $0, now: moment.now) }
    record.settles = settles.map { min($0, now + policy.settle) }
    return record
  }

  fileprivate func advanced(to moment: Moment, _ policy: FocusPolicy) -> FocusRecord {
    let now = self.now(moment)
    var record = believed(at: moment, policy)
    if let settles = record.settles, settles <= now {
      record.settles = nil
      record.since = nil
    }
    let isExpired = record.isFocused == true && record.at + policy.lifetime <= now
    if isExpired || record.received + policy.silence <= now {
      record.isFocused = nil
      record.number = nil
      record.since = nil
    }
    return record
  }
}
