// SPDX-License-Identifier: Apache-2.0

/// A name that a client chose: letters and digits of ASCII and `-_.:@!|+=~`, but not `.` or `..`.
///
/// The set needs no escape in JSON, in a URL path or in a file name, so a name is written as it is. A dictionary by names
/// is coded as an object.
public protocol Name: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible, Codable,
  CodingKeyRepresentable
where RawValue == String {
  /// The length in bytes at most.
  static var longest: Int { get }
  /// What an error calls it.
  static var noun: String { get }
  init(unchecked text: String)
}

extension Name {
  /// nil when `rawValue` is empty, too long, or has another character.
  public init?(rawValue: String) {
    guard Self.isValid(rawValue) else { return nil }
    self.init(unchecked: rawValue)
  }

  public var description: String { rawValue }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  static func isValid(_ text: String) -> Bool {
    let bytes = text.utf8
    guard !bytes.isEmpty, bytes.count <= longest, text != ".", text != ".." else { return false }
    return bytes.allSatisfy(isNameByte)
  }
}

/// What names are made of.
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
  public static let longest = 255
  public static let noun = "room"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }
}

/// A user's name, 1–128 bytes; `me` is kept for paths of the HTTP API.
public struct UserID: Name {
  public static let longest = 128
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
  public static let longest = 128
  public static let noun = "device"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }

  /// The device of reports that name none.
  public static let `default` = DeviceID(unchecked: "default")
}

/// What an app declares actions under, 1–128 bytes: `aps.category`.
public struct CategoryID: Name {
  public static let longest = 128
  public static let noun = "category"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }
}

/// What a person can do with a notification, 1–128 bytes: `UNNotificationResponse.actionIdentifier`.
public struct ActionID: Name {
  public static let longest = 128
  public static let noun = "action"
  public let rawValue: String
  public init(unchecked text: String) { rawValue = text }

  /// The notification was opened: `UNNotificationDefaultActionIdentifier`.
  public static let open = ActionID(unchecked: "com.apple.UNNotificationDefaultActionIdentifier")
  /// It was taken away: `UNNotificationDismissActionIdentifier`.
  public static let dismiss = ActionID(unchecked: "com.apple.UNNotificationDismissActionIdentifier")

  /// Every notification has it, whatever its category.
  public var isSystem: Bool { self == .open || self == .dismiss }
}
