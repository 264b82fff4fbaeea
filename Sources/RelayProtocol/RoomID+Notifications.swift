// SPDX-License-Identifier: Apache-2.0

/// What is pushed to a user without a message of a room is kept like messages of a room that nobody can name or join.
extension RoomID {
  /// Where the notifications of a user are kept. No name of a room has a `/`.
  public static func notifications(of user: UserID) -> RoomID { RoomID(unchecked: notificationsPrefix + user.rawValue) }

  /// Whether it is no room of anybody's.
  public var isNotifications: Bool { rawValue.utf8.first == UInt8(ascii: "/") }

  private static let notificationsPrefix = "/user/"
}
