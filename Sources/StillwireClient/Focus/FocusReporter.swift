// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import RelayProtocol

/// Tells the relay whether a Focus silences notifications here, from an Intents extension: one request, no socket.
///
/// Two reports that overtake each other do no harm: each has a number, and the relay keeps the newest.
///
/// An extension runs days after the app, when the app's token has expired. Give it ``Identity/reportKey(_:)``: the app
/// registers its device, reads `reportKey` from the reply, and saves it in the shared Keychain.
public struct FocusReporter: Sendable {
  private let api: RelayAPI
  private let device: DeviceID
  private let number: ReportNumber

  /// - Parameters:
  ///   - device: The same that the app names in ``Stillwire/Configuration/device`` and registers for pushes.
  ///   - numberFile: Where the number of the last report is kept: a file in the app group's container, shared by the
  ///     app and its extensions. If the file cannot be used (it is locked before the first unlock), the number is the
  ///     time in milliseconds since 1970, and the report is sent all the same.
  ///   - patience: How long an answer may take.
  ///   - identity: Called at each report: the device's report key, or a token.
  public init(
    _ address: RelayAddress, device: DeviceID = .default, numberFile: URL, patience: Duration = .seconds(5),
    as identity: @escaping @Sendable () async throws -> Identity
  ) {
    api = RelayAPI(address, patience: patience, as: identity)
    self.device = device
    number = ReportNumber(file: numberFile)
  }

  /// - Parameters:
  ///   - isFocused: `INFocusStatus.isFocused`; nil: not told.
  ///   - authorization: `INFocusStatusCenter.authorizationStatus`. Any but `authorized` makes the device's state unknown.
  ///   - source: Who found out.
  @discardableResult
  public func report(
    isFocused: Bool?, authorization: FocusAuthorization = .authorized, source: FocusSource = .intent
  ) async throws -> FocusOutcome {
    try await api.put(
      focus: FocusReport(
        device: device, isFocused: isFocused, authorization: authorization, number: number.nextOrTime(), source: source)
    )
  }
}
