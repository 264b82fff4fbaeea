// SPDX-License-Identifier: Apache-2.0
public import Foundation
import RelayJSON
public import RelayProtocol

/// Reports the Focus filter of this device with one HTTP request, for `SetFocusFilterIntent.perform()`.
///
/// The system may run `perform()` without a connection, and after the app's token has expired. Use
/// ``Identity/reportKey(_:)``. Each report has a number, and the relay keeps the report with the highest number.
public struct FilterReporter: Sendable {
  private let api: RelayAPI
  private let device: DeviceID
  private let reports: NumberedReports

  /// - Parameters:
  ///   - addresses: The URLs of the relay, or of all nodes of a cluster.
  ///   - device: The device that the app also registers for pushes.
  ///   - numberFile: The file with the number of the last report, in the app group's container. The file of
  ///     ``FocusReporter`` also serves: the relay compares only numbers of reports of the same type.
  ///   - patience: Timeout of the answer.
  ///   - identity: Called at each report: the device's report key, or a token.
  public init(
    _ addresses: [RelayAddress], device: DeviceID = .default, numberFile: URL, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    api = RelayAPI(addresses, patience: patience, as: identity)
    self.device = device
    reports = NumberedReports(ReportNumber(file: numberFile))
  }

  /// Makes a reporter for one relay.
  public init(
    _ address: RelayAddress, device: DeviceID = .default, numberFile: URL, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    self.init([address], device: device, numberFile: numberFile, patience: patience, as: identity)
  }

  /// Sends a report. Throws ``StillwireError``: `replaced` if the relay has a newer report of this device.
  /// - Parameter labels: The labels that the filter lets pass, at most 64 of at most 128 bytes each. Is `nil` if no
  ///   filter is active, so that all pushes pass.
  public func report(allowing labels: [String]?) async throws {
    let labels = labels.map { Array(Set($0)).sorted() }
    if let labels { try check(labels) }
    _ = try await reports.report { number in
      try await api.put(
        filter: FilterReport(device: device, isActive: labels != nil, allow: labels ?? [], number: number))
    }
  }

  /// Reports the filter that the system applies now. Throws ``StillwireError``, or the error of `read`.
  /// - Parameters:
  ///   - read: Returns the labels that the filter lets pass, or `nil` if all pushes pass.
  ///   - isNoFilter: True if an error of `read` states that no filter is active. All pushes pass then.
  package func report(
    current read: @Sendable () async throws -> [String]?, unless isNoFilter: @Sendable (any Error) -> Bool
  ) async throws {
    let labels: [String]?
    do {
      labels = try await read()
    } catch  where isNoFilter(error) {
      labels = nil
    }
    try await report(allowing: labels)
  }

  private func check(_ labels: [String]) throws {
    guard labels.count <= FilterReport.maxCriteria else {
      throw StillwireError(.badRequest, "a filter has at most \(FilterReport.maxCriteria) labels")
    }
    guard labels.allSatisfy({ $0.utf8.count <= FilterReport.maxCriteriaLength }) else {
      throw StillwireError(.badRequest, "a label has at most \(FilterReport.maxCriteriaLength) bytes")
    }
  }
}

extension JSONWriter.Object {
  mutating func filter(_ report: FilterReport) {
    bool("active", report.isActive)
    if report.isActive {
      array("allow") { items in
        for label in report.allow { items.string(label) }
      }
    }
    self["device"] = report.device.rawValue
    integer("number", report.number)
  }
}
