// SPDX-License-Identifier: Apache-2.0

/// How a user wants to be told, and what they share: `preferences` of the protocol, which is also how it is coded. What
/// is absent there is as in ``init()``.
public struct Preferences: Equatable, Sendable {
  /// Rooms that are not as all others; an entry that is default is dropped.
  public private(set) var rooms: [RoomID: RoomPreference]
  /// What becomes of pushes to a device on which a Focus silences, or filters them out.
  public var onFocus: SilenceMode
  public var quietHours: QuietHours?
  /// Who may see that a Focus is on.
  public var shareFocus: Audience
  /// Who may see whether the user is there.
  public var shareOnline: Audience

  /// What holds for a user who has said nothing.
  public init() {
    rooms = [:]
    onFocus = .deliver
    shareFocus = .rooms
    shareOnline = .watchers
  }

  /// What holds for a room, named or not.
  public subscript(room: RoomID) -> RoomPreference {
    get { rooms[room] ?? RoomPreference() }
    set { rooms[room] = newValue.isDefault ? nil : newValue }
  }
}

extension Preferences: Codable {
  private enum Key: String, CodingKey {
    case rooms, onFocus, quietHours, shareFocus, shareOnline
  }

  public init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    self.init()
    // Here the observer is not called.
    rooms =
      try object.decodeIfPresent([RoomID: RoomPreference].self, forKey: .rooms)?.filter { !$0.value.isDefault } ?? [:]
    onFocus = try object.decodeIfPresent(SilenceMode.self, forKey: .onFocus) ?? onFocus
    quietHours = try object.decodeIfPresent(QuietHours.self, forKey: .quietHours)
    shareFocus = try object.decodeIfPresent(Audience.self, forKey: .shareFocus) ?? shareFocus
    shareOnline = try object.decodeIfPresent(Audience.self, forKey: .shareOnline) ?? shareOnline
  }

  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(rooms, forKey: .rooms)
    try object.encode(onFocus, forKey: .onFocus)
    try object.encodeIfPresent(quietHours, forKey: .quietHours)
    try object.encode(shareFocus, forKey: .shareFocus)
    try object.encode(shareOnline, forKey: .shareOnline)
  }
}

/// Who is shown something of a user.
public enum Audience: String, Sendable, CaseIterable, Codable {
  case none
  /// Who shares a room with the user.
  case rooms
  /// These, and who watches the user.
  case watchers
}

/// What becomes of a push that would disturb: each mode wins over those before it.
public enum SilenceMode: String, Sendable, CaseIterable, Codable, Comparable {
  /// It goes out as it is: the phone decides.
  case deliver
  /// It goes out without a sound and without lighting up the screen.
  case passive
  /// It waits for the end of the silence.
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

/// Which messages of a room are pushed to a user.
public enum RoomLevel: String, Sendable, CaseIterable, Codable {
  case all, mentions, none
}

/// What a user wants of one room.
public struct RoomPreference: Equatable, Sendable {
  public var level: RoomLevel
  /// When ``level`` is `all` again; nil: never.
  public var until: Timestamp?
  /// The user's own label of the room, by which a Focus filter tells pushes apart.
  public var criteria: String?

  public init(level: RoomLevel = .all, until: Timestamp? = nil, criteria: String? = nil) {
    self.level = level
    self.until = until
    self.criteria = criteria
  }

  /// Whether it says no more than nothing would.
  public var isDefault: Bool { level == .all && criteria == nil }

  /// The level at a time.
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
