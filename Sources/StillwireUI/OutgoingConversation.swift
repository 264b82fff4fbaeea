// SPDX-License-Identifier: Apache-2.0
// The values of the intent for a message that the user sends. Has no dependency on Apple's frameworks.
public import StillwireClient

/// The conversation of a message that the user sends, as the app donates it to the system.
public struct OutgoingConversation: Equatable, Sendable {
  /// The other members. The system suggests them to the user. Is empty for a room with more than ``maxRecipients``.
  public var recipients: [IntentPerson]
  /// The name of a group. Is `nil` for a conversation of two people.
  public var groupName: String?
  /// The id of the room, which incoming messages also have.
  public var identifier: String

  /// Maximum number of recipients. The system suggests conversations, not crowds.
  public static let maxRecipients = 32

  /// - Parameters:
  ///   - people: The people of the room.
  ///   - me: The app's own user. Is not a recipient.
  ///   - groupName: The title of the room, if it is a group.
  public init(_ room: RoomID, people: People, without me: UserID, groupName: String? = nil) {
    let others = people.entries.values.filter { $0.user != me }.sorted { $0.user < $1.user }
    recipients = others.count > Self.maxRecipients ? [] : others.map { IntentPerson($0) }
    self.groupName = groupName
    identifier = room.rawValue
  }
}

extension IntentPerson {
  /// The person of a presence, with the user's id as the handle.
  fileprivate init(_ presence: Presence) {
    self.init(
      PayloadPerson(
        id: presence.user.rawValue, name: presence.name ?? presence.user.rawValue, avatar: presence.avatar))
  }
}
