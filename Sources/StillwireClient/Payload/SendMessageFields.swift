// SPDX-License-Identifier: Apache-2.0

/// What the `INSendMessageIntent` of a message that arrived is made of, and its donation metadata.
public struct SendMessageFields: Equatable, Sendable {
  public var sender: IntentPerson
  /// Neither the user nor the sender is a recipient, and the payload names nobody else: none.
  public var recipients: [IntentPerson]
  /// `INSendMessageIntentDonationMetadata.recipientCount`. A group without it is shown as a direct message.
  public var recipientCount: Int?
  public var content: String?
  /// Of a group that has a name.
  public var speakableGroupName: String?
  public var conversationIdentifier: String
  /// Of the group, for `setImage(_:forParameterNamed:)` of `speakableGroupName`.
  public var groupImage: String?
  public var mentionsCurrentUser: Bool
  public var isReplyToCurrentUser: Bool
  /// The sender chose Notify Anyway: lets it break through a Focus whose settings allow that.
  public var notifyRecipientAnyway: Bool
}

/// What the `INStartCallIntent` of a call that arrived is made of.
public struct StartCallFields: Equatable, Sendable {
  /// The caller, and nobody else.
  public var contacts: [IntentPerson]
}

/// What a notification service extension makes of a payload.
public enum IntentFields: Equatable, Sendable {
  case sendMessage(SendMessageFields)
  case startCall(StartCallFields)

  public init(_ payload: CommunicationPayload) {
    let sender = IntentPerson(payload.sender)
    switch payload.kind {
    case .call: self = .startCall(StartCallFields(contacts: [sender]))
    case .message:
      let conversation = payload.conversation
      self = .sendMessage(
        SendMessageFields(
          sender: sender, recipients: [], recipientCount: conversation.isGroup ? conversation.recipientCount : nil,
          content: payload.text, speakableGroupName: conversation.isGroup ? conversation.name : nil,
          conversationIdentifier: conversation.id, groupImage: conversation.isGroup ? conversation.avatar : nil,
          mentionsCurrentUser: payload.mentionsMe, isReplyToCurrentUser: payload.repliesToMe,
          notifyRecipientAnyway: payload.isNotifyAnyway))
    }
  }
}
