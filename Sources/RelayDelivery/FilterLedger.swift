// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// The reports of a user's devices about the filters of their Focus. The records are the whole state of a ledger.
public struct FilterLedger: Equatable, Sendable {
  private var states: [DeviceID: FilterRecord] = [:]
  /// The steps of the wall clock up to the last call with a time.
  private var steps = Duration.zero
  private let policy: FocusPolicy

  public init(_ records: some Sequence<FilterRecord> = [], policy: FocusPolicy = FocusPolicy()) {
    self.policy = policy
    for record in records { states[record.device] = record }
  }

  /// The last report of a device. Is `nil` when the device has not reported.
  public subscript(device: DeviceID) -> FilterRecord? { states[device] }

  /// The number of devices with a record.
  public var count: Int { states.count }

  /// All records to store, sorted by device.
  public var records: [FilterRecord] { states.values.sorted { $0.device < $1.device } }

  /// Applies a report, unless the device has already sent a newer one.
  /// - Returns: True if the report was applied. If it was not, only ``FilterRecord/received`` changes.
  public mutating func apply(_ report: FilterReport, now moment: Moment) -> Bool {
    advance(to: moment)
    defer { advance(to: moment) }
    let at = policy.time(of: report.at, now: moment.now)
    let former = states[report.device]
    if let former, !former.precedes(number: report.number, at: at, moment, policy) {
      states[report.device]?.received = former.now(moment)
      return false
    }
    states[report.device] = FilterRecord(
      device: report.device, isActive: report.isActive, allow: report.isActive ? report.allow : [], at: at,
      number: report.number ?? former?.number, received: moment.now, steps: steps)
    return true
  }

  /// Deletes the record of a device.
  public mutating func deviceForgotten(_ device: DeviceID) {
    states[device] = nil
  }

  /// Deletes the report number of a device, so that its next report is compared by its time.
  public mutating func forgetNumber(of device: DeviceID) { states[device]?.number = nil }

  /// Deletes the record of the device that has no active filter and whose last report is the oldest.
  /// - Returns: The device. Is `nil` when every device has an active filter.
  public mutating func forgetSilent() -> DeviceID? {
    let silent = states.values.filter { !$0.isActive }
    guard
      let device = silent.min(by: { ($0.received - $0.steps, $0.device) < ($1.received - $1.steps, $1.device) })?.device
    else {
      return nil
    }
    states[device] = nil
    return device
  }

  /// Expires the filters that are too old at `now`.
  /// - Returns: The changed records, sorted by device.
  @discardableResult
  public mutating func advance(to moment: Moment) -> [FilterRecord] {
    steps = moment.steps
    let changed = records.compactMap { record in
      let advanced = record.advanced(to: moment, policy)
      return advanced == record ? nil : advanced
    }
    for record in changed { states[record.device] = record }
    return changed
  }

  /// The time of the next expiry of an active filter. Is `nil` when no filter is active.
  public var nextChange: Timestamp? {
    states.values.lazy.filter(\.isActive).map(end(of:)).min()
  }

  /// The active filter of a device. Is `nil` when there is none, so that every push passes.
  public func filter(of device: DeviceID) -> FilterFacts? {
    guard let record = states[device], record.isActive else { return nil }
    return FilterFacts(allow: record.allow, until: end(of: record))
  }

  /// The end of an active filter by the wall clock.
  private func end(of record: FilterRecord) -> Timestamp { record.end(policy) + (steps - record.steps) }
}

extension FilterRecord {
  fileprivate func advanced(to moment: Moment, _ policy: FocusPolicy) -> FilterRecord {
    let now = self.now(moment)
    var record = self
    // Times in the future were recorded before the relay's clock was set back while the relay was stopped.
    record.at = policy.time(of: at, now: now)
    record.received = policy.time(of: received, now: now)
    let isExpired = isActive && record.at + policy.lifetime <= now
    guard isExpired || record.received + policy.silence <= now else { return record }
    record.isActive = false
    record.allow = []
    record.number = nil
    return record
  }
}
