// SPDX-License-Identifier: Apache-2.0
// Removes the notifications of messages that the person has read in the app.
#if canImport(UserNotifications) && !os(tvOS)
  public import StillwireExtension
  public import UserNotifications

  extension UNUserNotificationCenter {
    /// Removes the delivered notifications of a room's messages up to this one. Notifications without a message stay:
    /// calls, digests and notifications of a backend.
    public func removeDelivered(in room: RoomID, upTo seq: Int64) async {
      let read = await deliveredNotifications().filter { notification in
        guard let message = CommunicationPayload(notification.request.content)?.message else { return false }
        return message.room == room && message.seq <= seq
      }
      removeDeliveredNotifications(withIdentifiers: read.map(\.request.identifier))
    }
  }
#endif
