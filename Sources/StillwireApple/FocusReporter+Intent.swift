// SPDX-License-Identifier: Apache-2.0
// Reports the values of Apple's Intents framework with `FocusReporter`.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireExtension

  extension FocusReporter {
    /// Reports the Focus status of an intent. Call it in the handler of `INShareFocusStatusIntent`, which
    /// the system calls when the Focus changes.
    @discardableResult
    public func report(_ intent: INShareFocusStatusIntent) async throws -> FocusOutcome {
      try await report(
        isFocused: intent.focusStatus?.isFocused,
        authorization: FocusAuthorization(INFocusStatusCenter.default.authorizationStatus), source: .intent)
    }

    /// Reports the status that `INFocusStatusCenter` has now. Call it when the app becomes active.
    @discardableResult
    public func reportCenter() async throws -> FocusOutcome {
      let center = INFocusStatusCenter.default
      return try await report(
        isFocused: center.focusStatus.isFocused, authorization: FocusAuthorization(center.authorizationStatus),
        source: .center)
    }

    /// Asks the person for the Focus status, and reports the answer. The system asks once: later calls only report.
    /// Ask for notifications first, because the system does not ask without that permission.
    @discardableResult
    public func requestAuthorization() async throws -> FocusOutcome {
      await withCheckedContinuation { answered in
        INFocusStatusCenter.default.requestAuthorization { _ in answered.resume() }
      }
      return try await reportCenter()
    }
  }

  extension FocusAuthorization {
    /// Converts the status of the system. A status that is newer than this client is `notSupported`.
    public init(_ status: INFocusStatusAuthorizationStatus) {
      switch status {
      case .authorized: self = .authorized
      case .denied: self = .denied
      case .restricted: self = .restricted
      case .notDetermined: self = .notDetermined
      @unknown default: self = .notSupported
      }
    }
  }
#endif
