// SPDX-License-Identifier: Apache-2.0
// Shows each message and each call with its sender, so that Allowed People break through a Focus.
import StillwireApple

nonisolated final class NotificationService: StillwireNotificationService {
  override var settings: NotificationServiceSettings { NotificationServiceSettings(chat) }
}
