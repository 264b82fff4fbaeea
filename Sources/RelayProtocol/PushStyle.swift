// SPDX-License-Identifier: Apache-2.0

// The look and sound that a sender requests for a push, with the limits of its texts. Imports nothing; `RelayJSON`
// parses and writes it, and `RelayDelivery` makes the payload from it.

/// The requested look and sound of a push: the fields of `push` that need the right `push`.
public struct PushStyle: Hashable, Sendable {
  /// Is `nil` for the sender's name.
  public var title: PushText?
  /// Is `nil` for the room's title, if it has one.
  public var subtitle: PushText?
  /// Is `nil` for the text of the message.
  public var body: PushText?
  /// The relevance score, 0 to 1.
  public var relevance: Double?
  public var sound = PushSound.standard
  public var badge = PushBadge.unread
  public var category: CategoryID?
  public var thread = PushThread.room
  /// A content id, which selects one of the app's windows.
  public var target: String?
  /// An https URL.
  public var image: String?
  /// The custom keys beside `aps`, as the text of a JSON object with sorted keys. It is empty if there are none. No key
  /// may satisfy ``isReserved(_:)``.
  public var data: [UInt8] = []
  public var collapse = CollapseScope.message
  /// True for a communication notification, false for a plain one. Is `nil` if the sender leaves the choice to the
  /// relay, which makes a message of a room a communication notification.
  public var isCommunication: Bool?

  public init() {}

  /// The maximum length of a title in bytes of UTF-8. The next limits of lengths are in bytes, too.
  public static let maxTitleLength = 1_024
  public static let maxBody = 4_096
  public static let maxKeyLength = 256
  public static let maxArguments = 16
  public static let maxArgumentLength = 512
  public static let maxSoundLength = 128
  public static let maxThreadLength = 255
  public static let maxTargetLength = 1_024
  public static let maxImageLength = 2_048
  /// The maximum length of the JSON of all custom keys, in bytes.
  public static let maxData = 3_072
  /// The maximum depth of arrays and objects in the custom keys, including the outermost object.
  public static let maxDataDepth = 16
  public static let maxBadge: Int64 = 1_000_000

  /// True if Apple or the relay defines a key of this name.
  public static func isReserved(_ key: String) -> Bool {
    ownKeys.contains(key) || AppleKeys.aps[key] != nil || AppleKeys.alert[key] != nil && key.contains("-")
  }

  /// The name of the first member of `push` that contains a text of the sender, and not only a key. Is `nil` if there
  /// is none.
  public var firstText: String? {
    let parts = [("title", title), ("subtitle", subtitle), ("body", body)]
    return parts.lazy.compactMap { name, text in
      switch text {
      case .text: name
      case .localized(_, let arguments) where !arguments.isEmpty: "\(name)Args"
      default: nil
      }
    }.first
  }

  private static let ownKeys: Set<String> = [
    "aps", "communication", "message", "image", "digest", "call", "ringUntil", "ringFor", "push", "read", "removed",
    "tag", "invitation",
  ]
}

/// A text of a push.
public enum PushText: Hashable, Sendable {
  case text(String)
  /// A key of the app's own translations, and the arguments for its `%@`.
  case localized(key: String, arguments: [String] = [])
}

/// The requested sound of a push.
public enum PushSound: Hashable, Sendable {
  /// `default` for a message, and the app's ringtone for a call.
  case standard
  /// The push makes no sound.
  case none
  case file(SoundFile)
}

/// A sound that an app plays.
public struct SoundFile: Hashable, Sendable {
  /// A file of the app, or `default`.
  public var name: String
  /// The volume, 0 to 1.
  public var volume: Double?
  /// True if a muted phone plays the sound. It requires the level `critical`.
  public var isCritical: Bool

  public init(name: String, volume: Double? = nil, isCritical: Bool = false) {
    self.name = name
    self.volume = volume
    self.isCritical = isCritical
  }
}

/// The effect of a push on the badge of the app's icon.
public enum PushBadge: Hashable, Sendable {
  /// The number of unread messages.
  case unread
  /// From 0, which removes the badge, to ``PushStyle/maxBadge``.
  case number(Int64)
  /// The badge stays as it is.
  case unchanged
}

/// The group that a push belongs to on a phone.
public enum PushThread: Hashable, Sendable {
  /// One group for the pushes of the room.
  case room
  case own(String)
  /// One group for all pushes of the app that have no thread.
  case app
}

/// The earlier pushes that a push replaces.
public enum CollapseScope: String, Sendable, CaseIterable {
  /// A push of the same message.
  case message
  /// A push of any message of the room that has this scope, too.
  case room
}
