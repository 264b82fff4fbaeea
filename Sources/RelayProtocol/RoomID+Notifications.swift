// SPDX-License-Identifier: Apache-2.0

/// The relay stores notifications that belong to no room in a room for each user. Clients cannot name or join it.
extension RoomID {
  /// The room that holds the notifications of a user. Names of real rooms contain no `/`.
  public static func notifications(of user: UserID) -> RoomID { RoomID(unchecked: notificationsPrefix + user.rawValue) }

  /// True if this room holds the notifications of a user.
  public var isNotifications: Bool { rawValue.utf8.first == UInt8(ascii: "/") }

  private static let notificationsPrefix = "/user/"
}
