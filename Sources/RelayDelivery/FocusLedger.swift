// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What a user's devices say about their Focus, and what it comes to.
///
/// It is its records and nothing else: one that is made from the records of another, by the same policy, is equal to it.
/// So a restart changes nothing but the time, to which a new ledger has to be advanced.
public struct FocusLedger: Equatable, Sendable {
  /// true when any device says so, or said so until a moment ago; else false when any does, else nil. As of the last
  /// change or ``advance(to:)``.
  public private(set) var isFocused: Bool?
  /// Since when ``isFocused`` is true without a break; nil when it is not.
  public private(set) var focusSince: Timestamp?
  private var states: [DeviceID: FocusRecord] = [:]
  private let policy: FocusPolicy

  public init(_ records: some Sequence<FocusRecord> = [], policy: FocusPolicy = FocusPolicy()) {
    self.policy = policy
    for var record in records {
      if record.countsAsTrue { record.since = record.since ?? record.at }
      states[record.device] = record
    }
    merge()
  }

  /// What the device said last; nil when it never did.
  public subscript(device: DeviceID) -> FocusRecord? { states[device] }

  /// How many devices have said anything.
  public var count: Int { states.count }

  /// All that there is to store, by device.
  public var records: [FocusRecord] { states.values.sorted { $0.device < $1.device } }

  /// Takes a report, unless the device has made a newer one.
  /// - Returns: True if the report was applied. If it was not, only ``FocusRecord/received`` is new.
  public mutating func apply(_ report: FocusReport, now: Timestamp) -> Bool {
    advance(to: now)
    defer { advance(to: now) }
    let at = policy.time(of: report.at, now: now)
    let former = states[report.device]
    if let former, !former.precedes(number: report.number, at: at) {
      states[report.device]?.received = now
      return false
    }
    var record = FocusRecord(
      device: report.device, isFocused: report.authorization == .authorized ? report.isFocused : nil,
      authorization: report.authorization, at: at, number: report.number ?? former?.number, source: report.source,
      received: now)
    switch record.isFocused {
    case true?:
      // Who is focused on one device already stays so on the next.
      record.since = min(focusSince ?? now, at)
    case false?:
      guard let former, former.countsAsTrue else { break }
      record.since = former.since
      record.settles = former.settles ?? min(now + policy.settle, former.end(policy))
    case nil: break
    }
    states[report.device] = record
    return true
  }

  /// Forgets all that a device has said.
  public mutating func deviceForgotten(_ device: DeviceID) {
    states[device] = nil
    merge()
  }

  /// The device's next report is compared by its time, whatever its number.
  public mutating func forgetNumber(of device: DeviceID) { states[device]?.number = nil }

  /// Forgets the device that says neither true nor false and reported longest ago.
  /// - Returns: Which it was; nil: every device says something.
  public mutating func forgetSilent() -> DeviceID? {
    let silent = states.values.filter { $0.isFocused == nil && !$0.countsAsTrue }
    guard let device = silent.min(by: { ($0.received, $0.device) < ($1.received, $1.device) })?.device else {
      return nil
    }
    states[device] = nil
    return device
  }

  /// What has settled or decayed by `now` is so.
  /// - Returns: The records that are not as before, by device.
  @discardableResult
  public mutating func advance(to now: Timestamp) -> [FocusRecord] {
    let changed = records.compactMap { record in
      let advanced = record.advanced(to: now, policy)
      return advanced == record ? nil : advanced
    }
    for record in changed { states[record.device] = record }
    merge()
    return changed
  }

  /// When ``advance(to:)`` has something to do that is shown or decided by; nil: never, if nothing more is said.
  public var nextChange: Timestamp? {
    states.values.compactMap { $0.nextChange(policy) }.min()
  }

  /// When the device's own true counts no more by itself; nil: it does not count as true.
  public func focusedUntil(_ device: DeviceID) -> Timestamp? {
    guard let record = states[device], record.countsAsTrue else { return nil }
    return record.nextChange(policy)
  }

  private mutating func merge() {
    let told = states.values.filter { $0.isFocused != nil }
    let focused = told.filter(\.countsAsTrue)
    isFocused = told.isEmpty ? nil : !focused.isEmpty
    focusSince = focused.compactMap(\.since).min()
  }
}

extension FocusRecord {
  /// A false that has not settled is still a true.
  fileprivate var countsAsTrue: Bool { isFocused == true || settles != nil }

  fileprivate func nextChange(_ policy: FocusPolicy) -> Timestamp? {
    if let settles { return settles }
    switch isFocused {
    case true?: return end(policy)
    case false?: return received + policy.silence
    case nil: return nil
    }
  }

  /// Times in the future were recorded before the relay's clock was set back. They count as now.
  private func believed(at now: Timestamp, _ policy: FocusPolicy) -> FocusRecord {
    var record = self
    record.at = policy.time(of: at, now: now)
    record.received = policy.time(of: received, now: now)
    record.since = since.map { policy.time(of: $0, now: now) }
    record.settles = settles.map { min($0, now + policy.settle) }
    return record
  }

  fileprivate func advanced(to now: Timestamp, _ policy: FocusPolicy) -> FocusRecord {
    var record = believed(at: now, policy)
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
