// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// What a user's devices say about their Focus, and what it comes to.
public struct FocusLedger: Equatable, Sendable {
  /// true when any device says so, else false when any does, else nil.
  public private(set) var isFocused: Bool?
  /// Since when ``isFocused`` is true; nil when it is not.
  ///
  /// A ledger made from records takes the oldest of the reports that say so, which is later than the truth when a
  /// device has renewed its report.
  public private(set) var focusSince: Timestamp?
  private var states: [DeviceID: FocusRecord] = [:]

  /// How far ahead of the relay's a device's clock may be before its time is not believed.
  public static let clockSkew: Duration = .seconds(60)

  public init(_ records: some Sequence<FocusRecord> = []) {
    for record in records { states[record.device] = record }
    isFocused = merged
    if isFocused == true { focusSince = states.values.filter { $0.isFocused == true }.map(\.at).min() }
  }

  /// What the device said last; nil when it never did.
  public subscript(device: DeviceID) -> FocusRecord? { states[device] }

  /// How many devices have said anything.
  public var count: Int { states.count }

  /// Takes a report, unless the device has made a newer one.
  /// - Returns: Whether it was applied. When it was not, only ``FocusRecord/heard`` is new.
  public mutating func apply(_ report: FocusReport, now: Timestamp) -> Bool {
    let at = report.at.flatMap { $0 > now + Self.clockSkew ? nil : $0 } ?? now
    let former = states[report.device]
    if let former, !isNewer(report, at: at, than: former) {
      states[report.device]?.heard = now
      return false
    }
    states[report.device] = FocusRecord(
      device: report.device,
      isFocused: report.authorization == .authorized ? report.isFocused : nil,
      authorization: report.authorization,
      at: at,
      number: report.number ?? former?.number,
      source: report.source,
      heard: now)
    isFocused = merged
    if isFocused != true {
      focusSince = nil
    } else if states[report.device]?.isFocused == true {
      focusSince = min(focusSince ?? now, at)
    }
    return true
  }

  /// Forgets all that a device has said.
  public mutating func deviceForgotten(_ device: DeviceID) {
    guard states.removeValue(forKey: device) != nil else { return }
    isFocused = merged
    if isFocused != true { focusSince = nil }
  }

  /// Forgets the number of the device's newest report: an app that was installed anew counts from the start.
  public mutating func deviceRegistered(_ device: DeviceID) {
    states[device]?.number = nil
  }

  private func isNewer(_ report: FocusReport, at: Timestamp, than former: FocusRecord) -> Bool {
    if let number = report.number, let newest = former.number { return number > newest }
    return at >= former.at
  }

  private var merged: Bool? {
    let told = states.values.compactMap(\.isFocused)
    return told.isEmpty ? nil : told.contains(true)
  }
}
