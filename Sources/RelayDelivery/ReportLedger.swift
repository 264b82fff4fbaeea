// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A report of a device about its Focus or its filter.
public protocol DeviceReport: Sendable {
  var device: DeviceID { get set }
  /// A counter of the device, which orders its reports. Is `nil` if the report has none.
  var number: Int64? { get set }
}

extension FocusReport: DeviceReport {}
extension FilterReport: DeviceReport {}

extension DeviceReport {
  /// The same report for another account of the phone. Each account counts its own reports, so that the times order
  /// this one.
  public func shared(with device: DeviceID) -> Self {
    var report = self
    report.device = device
    report.number = nil
    return report
  }
}

/// The reports of a user's devices about their Focus, or about their filters.
public protocol ReportLedger: Sendable {
  associatedtype Report: DeviceReport
  associatedtype Record: DeviceRecord

  var count: Int { get }
  subscript(device: DeviceID) -> Record? { get }
  mutating func apply(_ report: Report, now: Moment) -> Bool
  mutating func forgetSilent() -> DeviceID?
}

extension FocusLedger: ReportLedger {}
extension FilterLedger: ReportLedger {}

/// The result of a report to a ledger.
public struct LedgerChange<Record: Sendable>: Sendable {
  /// True if the report was the newest of its device.
  public let isApplied: Bool
  /// The record of the device to store.
  public let record: Record?
  /// The device whose record makes way. Is `nil` when all records stay.
  public let silent: DeviceID?

  /// The number that the next report must exceed, because this one's number is too low. Is `nil` if the report was
  /// applied, or if the times decided.
  public let newestNumber: Int64?
}

extension ReportLedger {
  /// Applies a report, unless the user has too many devices.
  ///
  /// A deleted app does not unregister its device, so a device without a state makes way for a new one.
  /// - Parameter maxDevices: The maximum number of records. 0 allows any number.
  /// - Returns: `nil` when every device has a state and there are too many.
  public mutating func take(_ report: Report, maxDevices: Int, now: Moment) -> LedgerChange<Record>? {
    var silent: DeviceID?
    if maxDevices > 0, count >= maxDevices, self[report.device] == nil {
      silent = forgetSilent()
      if silent == nil { return nil }
    }
    let isApplied = apply(report, now: now)
    let record = self[report.device]
    return LedgerChange(
      isApplied: isApplied, record: record, silent: silent,
      newestNumber: isApplied || report.number == nil ? nil : record?.number)
  }
}
