// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What a user's devices say about the filters of their Focus. It is its records and nothing else.
public struct FilterLedger: Equatable, Sendable {
  private var states: [DeviceID: FilterRecord] = [:]
  private let policy: FocusPolicy

  public init(_ records: some Sequence<FilterRecord> = [], policy: FocusPolicy = FocusPolicy()) {
    self.policy = policy
    for record in records { states[record.device] = record }
  }

  /// What the device said last; nil when it never did.
  public subscript(device: DeviceID) -> FilterRecord? { states[device] }

  /// How many devices have said anything.
  public var count: Int { states.count }

  /// All that there is to store, by device.
  public var records: [FilterRecord] { states.values.sorted { $0.device < $1.device } }

  /// Takes a report, unless the device has made a newer one.
  /// - Returns: True if the report was applied. If it was not, only ``FilterRecord/received`` is new.
  public mutating func apply(_ report: FilterReport, now: Timestamp) -> Bool {
    advance(to: now)
    defer { advance(to: now) }
    let at = policy.time(of: report.at, now: now)
    let former = states[report.device]
    if let former, !former.precedes(number: report.number, at: at) {
      states[report.device]?.received = now
      return false
    }
    states[report.device] = FilterRecord(
      device: report.device, isActive: report.isActive, allow: report.isActive ? report.allow : [], at: at,
      number: report.number ?? former?.number, received: now)
    return true
  }

  /// Forgets all that a device has said.
  public mutating func deviceForgotten(_ device: DeviceID) {
    states[device] = nil
  }

  /// The device's next report is compared by its time, whatever its number.
  public mutating func forgetNumber(of device: DeviceID) { states[device]?.number = nil }

  /// Forgets the device that has no active filter and reported longest ago.
  /// - Returns: Which it was; nil: every device has a filter.
  public mutating func forgetSilent() -> DeviceID? {
    let silent = states.values.filter { !$0.isActive }
    guard let device = silent.min(by: { ($0.received, $0.device) < ($1.received, $1.device) })?.device else {
      return nil
    }
    states[device] = nil
    return device
  }

  /// What has decayed by `now` is so.
  /// - Returns: The records that are not as before, by device.
  @discardableResult
  public mutating func advance(to now: Timestamp) -> [FilterRecord] {
    let changed = records.compactMap { record in
      let advanced = record.advanced(to: now, policy)
      return advanced == record ? nil : advanced
    }
    for record in changed { states[record.device] = record }
    return changed
  }

  /// When ``advance(to:)`` has something to do that is decided by; nil: never, if nothing more is said.
  public var nextChange: Timestamp? {
    states.values.lazy.filter(\.isActive).map { $0.end(policy) }.min()
  }

  /// The device's filter; nil: it lets all through.
  public func filter(of device: DeviceID) -> FilterFacts? {
    guard let record = states[device], record.isActive else { return nil }
    return FilterFacts(allow: record.allow, until: record.end(policy))
  }
}

extension FilterRecord {
  fileprivate func advanced(to now: Timestamp, _ policy: FocusPolicy) -> FilterRecord {
    var record = self
    // Times in the future were recorded before the relay's clock was set back. They count as now.
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
