// SPDX-License-Identifier: Apache-2.0

/// The users whom a message mentions.
///
/// On the wire the value is a JSON array of names and reserved words. The store appends a nested array with the
/// answered user and the users who were online: `["*online","ann",[["bob"],["carol","dave"]]]`. A search for a name in
/// quotes therefore finds all mentioned users, and the erasure of a user replaces the name in one place.
public struct Mentions: Hashable, Sendable {
  /// The users who are mentioned by name, each once.
  public var names: [UserID]
  /// True if the message mentions all members of the room.
  public var all: Bool
  /// True if the message mentions the members who are online.
  public var online: Bool
  /// The members who were online when the message was sent, if it mentions them. At most ``maxOnline``.
  public var present: [UserID]
  /// The sender of the message that this one answers. An answer counts as a mention by name.
  public var answered: UserID?

  public init(
    _ names: [UserID] = [], all: Bool = false, online: Bool = false, present: [UserID] = [], answered: UserID? = nil
  ) {
    self.names = names
    self.all = all
    self.online = online
    self.present = present
    self.answered = answered
  }

  /// The reserved word for all members. No user can have this name.
  public static let allWord = "*"
  /// The reserved word for the members who are online. No user can have this name.
  public static let onlineWord = "*online"
  /// The maximum number of names and words in a message.
  public static let maxNames = 256
  /// The maximum number of online members that one message can mention with ``onlineWord``.
  public static let maxOnline = 1_000

  public var isEmpty: Bool { !isBroad && names.isEmpty && answered == nil }
  /// True if the message mentions many members by a reserved word, which needs the right `mentionAll`.
  public var isBroad: Bool { all || online }

  /// The names and the reserved words, as clients see them.
  public var words: [String] {
    (all ? [Self.allWord] : []) + (online ? [Self.onlineWord] : []) + names.map(\.rawValue)
  }

  /// True if the message mentions a member of the room: by name, by a reserved word, or by an answer.
  public func contains(_ user: UserID) -> Bool { all || isNamed(user) || online && present.contains(user) }

  /// True if the message mentions the user by name, or answers a message of the user.
  public func isNamed(_ user: UserID) -> Bool { answered == user || names.contains(user) }

  /// Everybody whom the message mentions by name, or by an answer.
  public var named: [UserID] { names + (answered.map { names.contains($0) ? [] : [$0] } ?? []) }
}

extension Mentions: ExpressibleByArrayLiteral {
  public init(arrayLiteral names: UserID...) { self.init(names, all: false) }
}

extension Mentions: Codable {
  public init(from decoder: any Decoder) throws {
    self.init([UserID]())
    var list = try decoder.unkeyedContainer()
    while !list.isAtEnd {
      if var implied = try? list.nestedUnkeyedContainer() {
        answered = try implied.decode([UserID].self).first
        present = try implied.decode([UserID].self)
      } else {
        guard add(try list.decode(String.self)) else {
          throw DecodingError.dataCorruptedError(in: list, debugDescription: "neither a name nor a reserved word")
        }
      }
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var list = encoder.unkeyedContainer()
    for word in words { try list.encode(word) }
    guard answered != nil || !present.isEmpty else { return }
    var implied = list.nestedUnkeyedContainer()
    try implied.encode(answered.map { [$0] } ?? [])
    try implied.encode(present)
  }

  /// Adds a name or a reserved word. Returns false if the text is neither.
  @discardableResult
  public mutating func add(_ word: String) -> Bool {
    switch word {
    case Self.allWord: all = true
    case Self.onlineWord: online = true
    default:
      guard let name = UserID(rawValue: word) else { return false }
      if !names.contains(name) { names.append(name) }
    }
    return true
  }
}
