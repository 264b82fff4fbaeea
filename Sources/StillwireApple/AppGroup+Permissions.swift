// SPDX-License-Identifier: Apache-2.0
// The permissions of an app, in the order that the system needs.
#if canImport(Intents) && canImport(Security) && canImport(UserNotifications) && !os(tvOS) && !os(watchOS)
  public import StillwireExtension
  public import UserNotifications

  extension AppGroup {
    /// Asks for notifications, and then for the Focus status, and declares the categories in the person's language. The
    /// system asks once, so that the app calls this method at each launch.
    ///
    /// Throws the system's error, or ``StillwireExtension/StillwireError`` if the categories cannot be loaded.
    /// - Parameters:
    ///   - user: The user who is signed in.
    ///   - options: The types of notifications.
    ///   - identity: Returns the user's token.
    ///   - register: Registers for remote notifications: `application.registerForRemoteNotifications()`. The method
    ///     calls it after the answer about notifications, because the registration states if alerts are allowed.
    /// - Returns: True if the app may show notifications.
    @discardableResult
    public func requestPermissions(
      for user: UserID, options: UNAuthorizationOptions = [.alert, .badge, .sound],
      as identity: @escaping @Sendable () async throws -> Identity, register: @MainActor @Sendable () -> Void
    ) async throws -> Bool {
      let center = UNUserNotificationCenter.current()
      let isAllowed = try await center.requestAuthorization(options: options)
      await register()
      guard isAllowed else { return false }
      // The system asks for the Focus status only after it may show notifications. The app works without the report. At
      // the first launch the device has no report key yet: the registration may follow this answer.
      if let device = try? accounts.device(of: user) {
        let reporter = FocusReporter(relay, device: device, numberFile: numberFile) { [accounts] in
          if let key = try? accounts.identity(of: user) { return key }
          return try await identity()
        }
        _ = try? await reporter.requestAuthorization()
      }
      try await center.declareCategories(of: RelayAPI(relay, as: identity))
      return true
    }
  }
#endif
