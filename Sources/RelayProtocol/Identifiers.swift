// SPDX-License-Identifier: Apache-2.0

// The names of rooms, users, devices, categories and actions: one type each, with a common set of characters.

/// A name that a client has chosen: ASCII letters and digits and `-_.:@!|+=~`, but not `.` or `..`.
///
/// These characters need no escape in JSON, in a URL path or in a file name. A dictionary whose keys are names is
/// encoded as a JSON object.
public protocol Name: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible, Codable,
  CodingKeyRepresentable
where RawValue == String {
  /// The maximum length, in bytes.
  static var maxLength: Int { get }
  /// The word for this type of name in error messages.
  static var noun: String { get }
  init(unchecked text: String)
}

extension Name {
  /// Returns `nil` if `rawValue` is empty, too long, `.` or `..`, or if it contains a character that names may not have.
  public init?(rawValue: String) {
    guard Self.isValid(rawValue) else { return nil }
    self.init(unchecked: rawValue)
  }

  public var description: String { rawValue }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  static func isValid(_ text: String) -> Bool {
    let bytes = text.utf8
    guard !bytes.isEmpty, bytes.count <= maxLength, text != ".", text != ".." else { return false }
    return bytes.allSatisfy(isNameByte)
  }
}

/// True if names may have this byte.
func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"):
    true
  default:
    "-_.:@!|+=~".utf8.contains(byte)
  }
}

/// A room's name, 1–255 bytes.
public struct RoomID: Name {
  public static let maxLength = 255
  public static let noun = "room"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }
}

/// A user's name, 1–128 bytes. It cannot be `me`, because paths of the HTTP API use this word for the caller.
public struct UserID: Name {
  public static let maxLength = 128
  public static let noun = "user"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }

  public init?(rawValue: String) {
    guard Self.isValid(rawValue), rawValue != "me" else { return nil }
    self.init(unchecked: rawValue)
  }
}

/// The stable name of one installation of an app, 1–128 bytes.
public struct DeviceID: Name {
  public static let maxLength = 128
  public static let noun = "device"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }

  /// The device of a report that names no device.
  public static let `default` = DeviceID(unchecked: "default")
}

/// The name of a notification category, 1–128 bytes: `aps.category`.
public struct CategoryID: Name {
  public static let maxLength = 128
  public static let noun = "category"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }
}

/// The name of an action of a notification, 1–128 bytes: `UNNotificationResponse.actionIdentifier`.
public struct ActionID: Name {
  public static let maxLength = 128
  public static let noun = "action"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }

  /// The user opened the notification: `UNNotificationDefaultActionIdentifier`.
  public static let open = ActionID(unchecked: "com.apple.UNNotificationDefaultActionIdentifier")
  /// The user dismissed the notification: `UNNotificationDismissActionIdentifier`.
  public static let dismiss = ActionID(unchecked: "com.apple.UNNotificationDismissActionIdentifier")

  /// True if every notification has this action, whatever its category.
  public var isSystem: Bool { self == .open || self == .dismiss }
}

/// The relay stores notifications that belong to no room in a room for each user. Clients cannot name or join it.
extension RoomID {
  /// The room that holds the notifications of a user. Names of real rooms contain no `/`.
  public static func notifications(of user: UserID) -> RoomID { RoomID(unchecked: notificationsPrefix + user.rawValue) }

  /// True if this room holds the notifications of a user.
  public var isNotifications: Bool { rawValue.utf8.first == UInt8(ascii: "/") }

  private static let notificationsPrefix = "/user/"
}
