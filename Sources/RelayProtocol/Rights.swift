// SPDX-License-Identifier: Apache-2.0

/// The rights of a user in a room: the `can` of tokens and of room patterns.
public struct Rights: OptionSet, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let join = Rights(rawValue: 1)
  public static let send = Rights(rawValue: 2)
  /// Choose the texts, sounds and badges of a push.
  public static let push = Rights(rawValue: 4)
  /// Use levels above active, and calls.
  public static let urgent = Rights(rawValue: 8)
  public static let history = Rights(rawValue: 16)
  /// See the members and whether they are online.
  public static let presence = Rights(rawValue: 32)
  /// Make a room that keeps messages, by the first join.
  public static let create = Rights(rawValue: 64)
  /// Delete messages of other users, and moderate their senders.
  public static let moderate = Rights(rawValue: 128)
  /// Mention all members, or all who are online.
  public static let mentionAll = Rights(rawValue: 256)

  /// All rights but ``moderate`` and ``mentionAll``. In open mode everybody has them, unless others are configured.
  public static let standard: Rights = [.join, .send, .push, .urgent, .history, .presence, .create]
  /// The rights of a member whose token does not list rights, unless others are configured.
  public static let member = standard.subtracting(.urgent)

  /// The rights and their names on the wire.
  public static let named: [(name: String, right: Rights)] = [
    ("join", .join), ("send", .send), ("push", .push), ("urgent", .urgent), ("history", .history),
    ("presence", .presence), ("create", .create), ("moderate", .moderate), ("mentionAll", .mentionAll),
  ]

  /// Returns `nil` if no right has this name.
  public init?(name: String) {
    guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
    self = found.right
  }

  /// The names of the rights in the set.
  public var names: [String] { Self.named.filter { contains($0.right) }.map(\.name) }
}

/// Rights for all rooms whose names match a pattern.
public struct Grant: Hashable, Sendable {
  public let match: Glob
  public let can: Rights

  public init(match: Glob, can: Rights) {
    self.match = match
    self.can = can
  }
}

extension [Grant] {
  /// The rights of the first grant that matches the room, or no rights.
  public func rights(in room: RoomID) -> Rights { first { $0.match.matches(room.rawValue) }?.can ?? [] }
}
