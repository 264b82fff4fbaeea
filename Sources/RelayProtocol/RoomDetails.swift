// SPDX-License-Identifier: Apache-2.0

// The record of a room that people created: its kind, title and picture, and the way to become a member.

/// The kind of a room.
public enum RoomKind: String, Sendable, CaseIterable {
  /// A room with a title, owners and any number of members.
  case group
  /// The one room of two people.
  case direct
}

/// The users who may become members of a room by themselves.
public enum RoomJoin: String, Sendable, CaseIterable {
  /// All users whose rights permit it.
  case open
  /// Only users whom a moderator or a backend adds.
  case invited
}

/// The role of a member. A higher role includes the lower ones.
public enum RoomRole: Int64, Sendable, CaseIterable, Comparable {
  case member = 0
  case moderator = 1
  case owner = 2

  /// The names on the wire.
  public enum Name: String, Sendable, CaseIterable {
    case member, moderator, owner

    public var role: RoomRole {
      switch self {
      case .member: .member
      case .moderator: .moderator
      case .owner: .owner
      }
    }
  }

  /// The name on the wire.
  public var name: String {
    switch self {
    case .member: Name.member.rawValue
    case .moderator: Name.moderator.rawValue
    case .owner: Name.owner.rawValue
    }
  }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The record of a room.
public struct RoomDetails: Equatable, Sendable {
  public var kind: RoomKind
  public var join: RoomJoin
  /// One line of 1 to ``maxTitleLength`` bytes, see ``Swift/String/isLine``.
  public var title: String?
  /// An https URL of at most ``maxAvatarLength`` bytes.
  public var avatar: String?
  /// A JSON object of at most ``maxMetadataLength`` bytes.
  public var metadata: [UInt8]?
  /// True if only moderators and owners send.
  public var isReadOnly: Bool
  /// The number of changes. 0 if the room has no stored record, because its first join created it.
  public var version: Int64
  /// The time of the creation. Is `nil` if the room has no stored record.
  public var created: Timestamp?

  public init(
    kind: RoomKind = .group, join: RoomJoin = .open, title: String? = nil, avatar: String? = nil,
    metadata: [UInt8]? = nil, isReadOnly: Bool = false, version: Int64 = 0, created: Timestamp? = nil
  ) {
    self.kind = kind
    self.join = join
    self.title = title
    self.avatar = avatar
    self.metadata = metadata
    self.isReadOnly = isReadOnly
    self.version = version
    self.created = created
  }

  public static let maxTitleLength = 256
  public static let maxAvatarLength = 2048
  public static let maxMetadataLength = 4096
  /// The maximum number of members that one request adds.
  public static let maxMembersAtOnce = 100
}

/// A change of a room's record. `nil` keeps a value, and a `nil` inside removes it.
public struct RoomChange: Equatable, Sendable {
  public var title: String??
  public var avatar: String??
  public var metadata: [UInt8]??
  public var isReadOnly: Bool?

  public init(
    title: String?? = nil, avatar: String?? = nil, metadata: [UInt8]?? = nil, isReadOnly: Bool? = nil
  ) {
    self.title = title
    self.avatar = avatar
    self.metadata = metadata
    self.isReadOnly = isReadOnly
  }

  /// True if the change concerns more than the metadata.
  public var isVisible: Bool { title != nil || avatar != nil || isReadOnly == true }

  public func applied(to details: RoomDetails) -> RoomDetails {
    var details = details
    if let title { details.title = title }
    if let avatar { details.avatar = avatar }
    if let metadata { details.metadata = metadata }
    if let isReadOnly { details.isReadOnly = isReadOnly }
    return details
  }
}
