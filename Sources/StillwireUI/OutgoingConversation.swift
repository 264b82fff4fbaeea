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
  /// The group of the interaction, which incoming messages of the room also have.
  public var donationGroup: DonationGroup

  /// Maximum number of recipients. The system suggests conversations, not crowds.
  public static let maxRecipients = 32

  /// - Parameters:
  ///   - people: The people of the room.
  ///   - me: The app's own user. Is not a recipient.
  ///   - groupName: The title of the room, if it is a group.
  ///   - book: The people of incoming messages: `people` of the `AppGroup`. With it an outgoing message names a person as
  ///     the service extension does for an incoming one. Without it the handle is the user's id.
  public init(
    _ room: RoomID, people: People, without me: UserID, groupName: String? = nil, book: PersonBook? = nil
  ) {
    let others = people.entries.values.filter { $0.user != me }.sorted { $0.user < $1.user }
    recipients = others.count > Self.maxRecipients ? [] : others.map { IntentPerson($0, book?.person($0.user)) }
    self.groupName = groupName
    identifier = room.rawValue
    donationGroup = DonationGroup(account: me, conversation: room.rawValue)
  }
}

extension IntentPerson {
  /// The person of a presence, with the handle of an incoming message.
  fileprivate init(_ presence: Presence, _ known: IntentPerson?) {
    let id = presence.user.rawValue
    self.init(PayloadPerson(id: id, name: presence.name ?? known?.displayName ?? id, avatar: presence.avatar))
    guard let known else { return }
    (handle, handleType) = (known.handle, known.handleType)
  }
}
