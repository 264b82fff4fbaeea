// SPDX-License-Identifier: Apache-2.0

// The preferences of a user: the member `preferences` of the protocol. The store keeps them in the same JSON form.

/// The preferences of a user for notifications, and for the information that other users see.
///
/// A member that is absent in the JSON has the default of ``init()``.
public struct Preferences: Equatable, Sendable {
  /// The rooms with preferences of their own. A default entry is removed.
  public private(set) var rooms: [RoomID: RoomPreference]
  /// The handling of pushes to a device whose Focus silences them or filters them out.
  public var onFocus: SilenceMode
  public var quietHours: QuietHours?
  /// The messages that break through quiet hours.
  public var breakThrough = BreakThrough()
  /// True if calls do not break through quiet hours. The relay reports a missed call at their end.
  public var quietCalls = false
  /// True if time-sensitive messages do not break through quiet hours.
  public var quietTimeSensitive = false
  /// The seconds after which a message is pushed that an active session has received, but that the user has not read.
  /// Is `nil` if it is not pushed.
  public var pushUnreadAfter: Int?
  /// The users who see that a Focus is on.
  public var shareFocus: Audience
  /// The users who see whether this user is online.
  public var shareOnline: Audience

  /// The bounds of ``pushUnreadAfter``.
  public static let pushUnreadTimes: ClosedRange<Int64> = 10...43_200
  /// The names of all preferences, as `welcome` reports them.
  public static let names = Key.allCases.map(\.rawValue)

  /// The defaults.
  public init() {
    rooms = [:]
    onFocus = .deliver
    shareFocus = .rooms
    shareOnline = .watchers
  }

  /// The preferences for a room: its own, or the defaults.
  public subscript(room: RoomID) -> RoomPreference {
    get { rooms[room] ?? RoomPreference() }
    set { rooms[room] = newValue.isDefault ? nil : newValue }
  }
}

extension Preferences: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case rooms, onFocus, quietHours, breakThrough, quietCalls, quietTimeSensitive, pushUnreadAfter, shareFocus,
      shareOnline
  }

  public init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    self.init()
    // The assignment does not use the subscript, so default entries are removed here.
    rooms =
      try object.decodeIfPresent([RoomID: RoomPreference].self, forKey: .rooms)?.filter { !$0.value.isDefault } ?? [:]
    onFocus = try object.decodeIfPresent(SilenceMode.self, forKey: .onFocus) ?? onFocus
    quietHours = try object.decodeIfPresent(QuietHours.self, forKey: .quietHours)
    breakThrough = try object.decodeIfPresent(BreakThrough.self, forKey: .breakThrough) ?? breakThrough
    quietCalls = try object.decodeIfPresent(Bool.self, forKey: .quietCalls) ?? quietCalls
    quietTimeSensitive = try object.decodeIfPresent(Bool.self, forKey: .quietTimeSensitive) ?? quietTimeSensitive
    pushUnreadAfter = try object.decodeIfPresent(Int.self, forKey: .pushUnreadAfter)
    shareFocus = try object.decodeIfPresent(Audience.self, forKey: .shareFocus) ?? shareFocus
    shareOnline = try object.decodeIfPresent(Audience.self, forKey: .shareOnline) ?? shareOnline
  }

  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(rooms, forKey: .rooms)
    try object.encode(onFocus, forKey: .onFocus)
    try object.encodeIfPresent(quietHours, forKey: .quietHours)
    if breakThrough != BreakThrough() { try object.encode(breakThrough, forKey: .breakThrough) }
    if quietCalls { try object.encode(quietCalls, forKey: .quietCalls) }
    if quietTimeSensitive { try object.encode(quietTimeSensitive, forKey: .quietTimeSensitive) }
    try object.encodeIfPresent(pushUnreadAfter, forKey: .pushUnreadAfter)
    try object.encode(shareFocus, forKey: .shareFocus)
    try object.encode(shareOnline, forKey: .shareOnline)
  }
}

/// The messages that break through quiet hours, because the recipient wants them to.
public struct BreakThrough: Equatable, Sendable, Codable {
  /// The users whose messages break through, sorted and each once. At most ``maxUsers``.
  public private(set) var users: [UserID]
  /// True if messages break through that mention the recipient or answer a message of the recipient.
  public var mentions: Bool

  public init(users: some Sequence<UserID> = [], mentions: Bool = false) {
    self.users = Set(users).sorted()
    self.mentions = mentions
  }

  /// The maximum number of users.
  public static let maxUsers = 64
}

/// A group of users who see a property of a user.
public enum Audience: String, Sendable, CaseIterable, Codable {
  case none
  /// The users who share a room with the user.
  case rooms
  /// The users of ``rooms``, and the users who watch the user.
  case watchers
}

/// The handling of a push that arrives in a silence. A later mode overrides an earlier one.
public enum SilenceMode: String, Sendable, CaseIterable, Codable, Comparable {
  /// The push is sent unchanged, and the phone decides.
  case deliver
  /// The push makes no sound and does not light up the screen.
  case passive
  /// The push is sent at the end of the silence.
  case hold

  public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

  private var rank: Int {
    switch self {
    case .deliver: 0
    case .passive: 1
    case .hold: 2
    }
  }
}

/// The messages of a room that are pushed to a user.
public enum RoomLevel: String, Sendable, CaseIterable, Codable {
  case all, mentions, none
}

/// The preferences of a user for one room.
public struct RoomPreference: Equatable, Sendable {
  public var level: RoomLevel
  /// The time from which ``level`` counts as `all`. Is `nil` if it never does.
  public var until: Timestamp?
  /// The user's own label of the room, by which a Focus filter selects pushes.
  public var criteria: String?

  public init(level: RoomLevel = .all, until: Timestamp? = nil, criteria: String? = nil) {
    self.level = level
    self.until = until
    self.criteria = criteria
  }

  /// True if all messages are pushed and the room has no label of its own.
  public var isDefault: Bool { level == .all && criteria == nil }

  /// The level that applies at this time.
  public func level(at now: Timestamp) -> RoomLevel {
    if let until, now >= until { return .all }
    return level
  }
}

extension RoomPreference: Codable {
  private enum Key: String, CodingKey {
    case level, until, criteria
  }

  public init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    self.init(
      level: try object.decodeIfPresent(RoomLevel.self, forKey: .level) ?? .all,
      until: try object.decodeIfPresent(Timestamp.self, forKey: .until),
      criteria: try object.decodeIfPresent(String.self, forKey: .criteria))
  }
}
