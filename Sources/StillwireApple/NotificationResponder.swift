// SPDX-License-Identifier: Apache-2.0
// The delegate of the notification center: presents notifications in the foreground, and reports responses.
#if canImport(Security) && canImport(UserNotifications) && !os(tvOS)
  public import Foundation
  public import StillwireExtension
  public import UserNotifications
  import os

  /// A delegate that shows notifications while the app is in the foreground, and reports the person's responses to the
  /// relay.
  ///
  /// Make it before the app has finished launching, keep it, and set it as the delegate of the notification center. It has
  /// the forms of the methods with a completion handler. The system expects the completion on the main thread, and an
  /// `async` method of a delegate that is not on the main actor completes on another one: UIKit then ends the app.
  public final class NotificationResponder: NSObject, UNUserNotificationCenterDelegate, Sendable {
    private let group: AppGroup
    private let isOnScreen: @MainActor @Sendable (MessageReference) -> Bool
    private let openSettings: @MainActor @Sendable () -> Void
    private let handle: @MainActor @Sendable (NotificationResponse) -> Void

    /// - Parameters:
    ///   - group: The App Group, whose report key of the recipient authenticates the responses.
    ///   - isOnScreen: Returns true if the person sees this message now. Its notification is not presented.
    ///   - openSettings: Is called if the person selects the app's button in the settings of notifications. The system
    ///     shows the button only with the option `providesAppNotificationSettings` of the permission.
    ///   - handle: Receives each response to a push of the relay, for example to open its room.
    public init(
      _ group: AppGroup, isOnScreen: @escaping @MainActor @Sendable (MessageReference) -> Bool = { _ in false },
      openSettings: @escaping @MainActor @Sendable () -> Void = {},
      handle: @escaping @MainActor @Sendable (NotificationResponse) -> Void = { _ in }
    ) {
      self.group = group
      self.isOnScreen = isOnScreen
      self.openSettings = openSettings
      self.handle = handle
    }

    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
      withCompletionHandler completionHandler: @escaping @Sendable (UNNotificationPresentationOptions) -> Void
    ) {
      let message = CommunicationPayload(notification.request.content)?.message
      onMainThread { [isOnScreen] in
        completionHandler(message.map(isOnScreen) == true ? [] : [.banner, .list, .sound, .badge])
      }
    }

    public func userNotificationCenter(
      _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
      withCompletionHandler completionHandler: @escaping @Sendable () -> Void
    ) {
      guard let response = NotificationResponse(response) else { return onMainThread(completionHandler) }
      onMainThread { [handle] in handle(response) }
      Task { [group] in
        do {
          try await group.accounts.api(of: response.recipient).respond(response)
        } catch {
          Logger(subsystem: group.app, category: "stillwire").error(
            "the response did not reach the relay: \(String(describing: error), privacy: .public)")
        }
        await MainActor.run(body: completionHandler)
      }
    }

    #if !os(watchOS)
      public func userNotificationCenter(
        _ center: UNUserNotificationCenter, openSettingsFor notification: UNNotification?
      ) { onMainThread(openSettings) }
    #endif

    /// Performs work on the main thread, immediately if this is the main thread.
    private func onMainThread(_ work: @escaping @MainActor @Sendable () -> Void) {
      if Thread.isMainThread { MainActor.assumeIsolated(work) } else { Task { @MainActor in work() } }
    }
  }
#endif
