// SPDX-License-Identifier: Apache-2.0

/// What a user may do in a room: the `can` of tokens and of room patterns.
public struct Rights: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let join = Rights(rawValue: 1)
  public static let send = Rights(rawValue: 2)
  /// Own texts, sounds and badges in `push`.
  public static let push = Rights(rawValue: 4)
  /// Levels above active, and calls.
  public static let urgent = Rights(rawValue: 8)
  public static let history = Rights(rawValue: 16)
  /// Seeing who the members are and whether they are there.
  public static let presence = Rights(rawValue: 32)
  /// Making a room that keeps messages, by the first join.
  public static let create = Rights(rawValue: 64)
  public static let moderate = Rights(rawValue: 128)

  /// What everybody may where nothing else is said: all but ``moderate``.
  public static let standard: Rights = [.join, .send, .push, .urgent, .history, .presence, .create]

  /// The rights and how they are spelled.
  public static let named: [(name: String, right: Rights)] = [
    ("join", .join), ("send", .send), ("push", .push), ("urgent", .urgent), ("history", .history),
    ("presence", .presence), ("create", .create), ("moderate", .moderate),
  ]

  /// nil: there is no such right.
  public init?(name: String) {
    guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
    self = found.right
  }

  /// How the rights in it are spelled.
  public var names: [String] { Self.named.filter { contains($0.right) }.map(\.name) }
}

/// What somebody may do in the rooms whose names fit a pattern.
public struct Grant: Hashable, Sendable {
  public let match: Glob
  public let can: Rights

  public init(match: Glob, can: Rights) {
    self.match = match
    self.can = can
  }
}

extension [Grant] {
  /// What the first grant that fits gives; nothing where none does.
  public func rights(in room: RoomID) -> Rights { first { $0.match.matches(room.rawValue) }?.can ?? [] }
}
