// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import RelayProtocol

/// Reports the Focus of this device from an Intents extension, with one HTTP request and without a socket.
///
/// Each report has a number, and the relay keeps the report with the highest number. So two reports may arrive in any
/// order.
///
/// An extension may run days after the app, when the app's token has expired. Use ``Identity/reportKey(_:)``: the app
/// registers its device, reads `reportKey` from the reply, and saves it in the shared Keychain.
public struct FocusReporter: Sendable {
  private let api: RelayAPI
  private let device: DeviceID
  private let reports: NumberedReports

  /// - Parameters:
  ///   - address: The URL of the relay.
  ///   - device: The device of ``Stillwire/Configuration/device``, which the app also registers for pushes.
  ///   - numberFile: The file with the number of the last report, in the app group's container. The app and its
  ///     extensions share it. If the file cannot be used, the number is the time in milliseconds since 1970. The system
  ///     locks the file before the first unlock, for example.
  ///   - patience: Timeout of the answer.
  ///   - identity: Called at each report: the device's report key, or a token.
  public init(
    _ address: RelayAddress, device: DeviceID = .default, numberFile: URL, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    self.init([address], device: device, numberFile: numberFile, patience: patience, as: identity)
  }

  /// Makes a reporter for a cluster, with the URLs of its nodes.
  public init(
    _ addresses: [RelayAddress], device: DeviceID = .default, numberFile: URL, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    api = RelayAPI(addresses, patience: patience, as: identity)
    self.device = device
    reports = NumberedReports(ReportNumber(file: numberFile))
  }

  /// Sends a report. Throws ``StillwireError``: `replaced` if the relay has a newer report of this device.
  /// - Parameters:
  ///   - isFocused: `INFocusStatus.isFocused`. Use `nil` if the system does not state it.
  ///   - authorization: `INFocusStatusCenter.authorizationStatus`. The device's state becomes unknown unless it is
  ///     `authorized`.
  ///   - source: The origin of the report, which explanations of deliveries show.
  @discardableResult
  public func report(
    isFocused: Bool?, authorization: FocusAuthorization = .authorized, source: FocusSource = .intent
  ) async throws -> FocusOutcome {
    let reply = try await reports.report { number in
      try await api.put(
        focus: FocusReport(
          device: device, isFocused: isFocused, authorization: authorization, number: number, source: source))
    }
    return FocusOutcome(reply)
  }
}
