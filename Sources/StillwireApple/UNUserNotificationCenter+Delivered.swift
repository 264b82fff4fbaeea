// SPDX-License-Identifier: Apache-2.0
// Removes the notifications of messages that the person has read, of messages that are deleted, and of users who are not
// signed in.
#if canImport(UserNotifications) && !os(tvOS)
  public import StillwireExtension
  public import UserNotifications

  extension UNUserNotificationCenter {
    /// Removes the notifications that a push withdraws. Returns false if the phone shows none of them.
    @discardableResult
    public func removeDelivered(by withdrawal: Withdrawal) async -> Bool {
      guard !withdrawal.isEmpty else { return false }
      return await removeDelivered { withdrawal.identifiers(in: $0) }
    }

    /// Removes the delivered notifications of a room's messages up to this one. Notifications without a message stay.
    /// - Parameter user: The user who has read the messages, or `nil` in an app with a single account. Notifications of
    ///   other accounts stay.
    public func removeDelivered(in room: RoomID, upTo seq: Int64, of user: UserID? = nil) async {
      let read = [MessageReference(room: room, seq: seq)]
      await removeDelivered { delivered in
        delivered.flatMap { notification in
          let origin = user.map { .relay($0) } ?? notification.origin
          return Withdrawal(origin: origin, read: read).identifiers(in: [notification])
        }
      }
    }

    /// Removes the notifications of users who are not signed in. Returns false if the phone shows none.
    @discardableResult
    public func removeDelivered(hiddenBy accounts: AccountStore) async -> Bool {
      guard let accounts = try? accounts.accounts else { return false }
      return await removeDelivered { accounts.identifiersToHide(in: $0) }
    }

    @discardableResult
    private func removeDelivered(_ select: ([DeliveredNotification]) -> [String]) async -> Bool {
      let identifiers = select(await deliveredNotifications().map { DeliveredNotification($0) })
      guard !identifiers.isEmpty else { return false }
      removeDeliveredNotifications(withIdentifiers: identifiers)
      // The system removes them on another thread, and may suspend an extension after its delivery. It answers this read
      // after the removal.
      _ = await deliveredNotifications()
      return true
    }
  }
#endif
