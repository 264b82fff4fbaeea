// SPDX-License-Identifier: Apache-2.0
// The base class of an Intents extension that shares the Focus status.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireExtension

  /// An Intents extension that reports each change of the Focus status to the relay.
  ///
  /// Make the principal class of the extension a subclass, and override ``makeReporter()``.
  open class FocusStatusHandler: INExtension, INShareFocusStatusIntentHandling {
    /// Returns the reporter of this device. The extension calls it once for each change of the Focus.
    ///
    /// The inherited method throws ``StillwireExtension/StillwireError``, so that the extension responds `failure`.
    open func makeReporter() throws -> FocusReporter {
      throw StillwireError(.closed, "the subclass of FocusStatusHandler has no makeReporter()")
    }

    /// Sends the report, and responds `success` if the relay has accepted it or already had a newer one.
    open func handle(
      intent: INShareFocusStatusIntent, completion: @escaping @Sendable (INShareFocusStatusIntentResponse) -> Void
    ) {
      // The intent is not Sendable, so the task gets only its values.
      let isFocused = intent.focusStatus?.isFocused
      let authorization = FocusAuthorization(INFocusStatusCenter.default.authorizationStatus)
      let reporter = Result { try makeReporter() }
      Task {
        let code: INShareFocusStatusIntentResponseCode
        do {
          try await reporter.get().report(isFocused: isFocused, authorization: authorization, source: .intent)
          code = .success
        } catch {
          code = .failure
        }
        completion(INShareFocusStatusIntentResponse(code: code, userActivity: nil))
      }
    }
  }
#endif
