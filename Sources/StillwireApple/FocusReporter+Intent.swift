// SPDX-License-Identifier: Apache-2.0
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireClient

  extension FocusReporter {
    /// What the handler of `INShareFocusStatusIntent` says; the system calls it when the Focus changes.
    @discardableResult
    public func report(_ intent: INShareFocusStatusIntent) async throws -> FocusOutcome {
      try await report(
        isFocused: intent.focusStatus?.isFocused,
        authorization: FocusAuthorization(INFocusStatusCenter.default.authorizationStatus), source: .intent)
    }

    /// What the app reads when it comes to the front.
    @discardableResult
    public func reportCenter() async throws -> FocusOutcome {
      let center = INFocusStatusCenter.default
      return try await report(
        isFocused: center.focusStatus.isFocused, authorization: FocusAuthorization(center.authorizationStatus),
        source: .center)
    }
  }

  extension FocusAuthorization {
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
