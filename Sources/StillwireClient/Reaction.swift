// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// The reactions with one key to a message.
public struct Reaction: Equatable, Sendable {
  /// An emoji, or another text that the app chose.
  public var key: String
  /// The number of users.
  public var count: Int
  /// The first users, at most 5.
  public var users: [UserID]

  public init(key: String, count: Int, users: [UserID]) {
    self.key = key
    self.count = count
    self.users = users
  }

  /// Parses the `reactions` of a message, of an event or of a reply. Ignores invalid entries.
  public static func list(_ json: JSON?) -> [Reaction] {
    (json?.items ?? []).compactMap { entry in
      guard let key = entry["key"]?.text, let count = entry["count"]?.integer, count > 0 else { return nil }
      let users = entry["users"]?.items?.compactMap { $0.text.flatMap(UserID.init(rawValue:)) } ?? []
      return Reaction(key: key, count: Int(count), users: users)
    }
  }
}
