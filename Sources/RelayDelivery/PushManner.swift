// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// How a push is to look and sound, where its sender says so: the fields of `push` that need the right `push`.
public struct PushManner: Equatable, Sendable {
  /// nil: the sender's name.
  public var title: PushText?
  /// nil: the room's title, where it has one.
  public var subtitle: PushText?
  /// nil: the text of the message.
  public var body: PushText?
  /// 0 to 1.
  public var relevance: Double?
  public var sound = PushSound.standard
  public var badge = PushBadge.unread
  public var category: CategoryID?
  public var thread = PushThread.room
  /// A content id: which of the app's windows it is for.
  public var target: String?
  /// An https URL.
  public var image: String?
  /// Custom keys, which stand beside `aps`; none that ``isReserved(_:)``.
  public var data: [String: JSON] = [:]
  public var collapse = CollapseScope.message
  /// True if the push is a communication notification, false if it is a plain one. Is `nil` when the sender leaves the
  /// choice to the relay: a message of a room is a communication.
  public var isCommunication: Bool?

  public init() {}

  /// Bytes at most, of UTF-8.
  public static let longestTitle = 1_024
  public static let longestBody = 4_096
  public static let longestKey = 256
  public static let mostArguments = 16
  public static let longestArgument = 512
  public static let longestSound = 128
  public static let longestThread = 255
  public static let longestTarget = 1_024
  public static let longestImage = 2_048
  /// The JSON of all custom keys.
  public static let longestData = 3_072
  /// Arrays and objects inside each other, that of the keys included.
  public static let deepestData = 16
  public static let largestBadge: Int64 = 1_000_000

  /// Whether a custom key would be taken for one of Apple's or of the relay's own.
  public static func isReserved(_ key: String) -> Bool {
    ownKeys.contains(key) || AppleKeys.aps[key] != nil || AppleKeys.alert[key] != nil && key.contains("-")
  }

  private static let ownKeys: Set<String> = [
    "aps", "communication", "message", "image", "digest", "call", "ringUntil", "push",
  ]
}

/// A text of a push.
public enum PushText: Equatable, Sendable {
  case text(String)
  /// A key of the app's own translations, and what stands in for its `%@`.
  case localized(key: String, arguments: [String] = [])
}

/// The sound of a push, as its sender chooses it.
public enum PushSound: Equatable, Sendable {
  /// `default` for a message, and the app's ringtone for a call.
  case standard
  /// The push makes no sound.
  case none
  case file(SoundFile)
}

/// A sound that an app plays.
public struct SoundFile: Equatable, Sendable {
  /// A file of the app, or `default`.
  public var name: String
  /// 0 to 1.
  public var volume: Double?
  /// Whether it is heard although the phone is muted; only at the level critical.
  public var isCritical: Bool

  public init(name: String, volume: Double? = nil, isCritical: Bool = false) {
    self.name = name
    self.volume = volume
    self.isCritical = isCritical
  }
}

/// What a push writes onto the app's icon.
public enum PushBadge: Equatable, Sendable {
  /// How many messages are unread.
  case unread
  /// From 0, which takes the badge away, to ``PushManner/largestBadge``.
  case number(Int64)
  /// It stays as it is.
  case unchanged
}

/// What a push stacks with.
public enum PushThread: Equatable, Sendable {
  /// The others of its room.
  case room
  case own(String)
  /// All of the app that has no thread.
  case app
}

/// What a push replaces.
public enum CollapseScope: String, Sendable, CaseIterable {
  /// The same message's.
  case message
  /// That of any message of the room that asks for the same.
  case room
}
