// SPDX-License-Identifier: Apache-2.0
// Reports the Focus filter of Apple's App Intents with `FilterReporter`.
#if canImport(AppIntents)
  public import AppIntents
  public import StillwireExtension

  extension FilterReporter {
    /// Reports the filter that the system applies now. If no filter is active, it reports that all pushes pass. Call it
    /// when the app becomes active, because the system may have ended `perform()` before the report arrived. Throws
    /// ``StillwireExtension/StillwireError``, or the error of the system.
    /// - Parameters:
    ///   - filter: The app's filter.
    ///   - labels: Returns the labels that the filter lets pass, or `nil` if all pushes pass.
    public func reportCurrent<Filter: SetFocusFilterIntent>(
      _ filter: Filter.Type, labels: @Sendable (Filter) -> [String]?
    ) async throws {
      try await report(
        current: { labels(try await Filter.current) },
        unless: { error in
          // Without an active filter, `current` throws this error.
          if case SetFocusFilterIntentError.notFound = error { true } else { false }
        })
    }
  }
#endif
