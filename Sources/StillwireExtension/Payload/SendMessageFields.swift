// SPDX-License-Identifier: Apache-2.0
// The values of the intents that a notification service extension donates. Has no dependency on Apple's frameworks.

/// The values of the `INSendMessageIntent` of an incoming message, and of its donation metadata.
public struct SendMessageFields: Equatable, Sendable {
  public var sender: IntentPerson
  /// Is always empty. The user and the sender may not be recipients, and the payload names no other member.
  public var recipients: [IntentPerson]
  /// `INSendMessageIntentDonationMetadata.recipientCount`. The system shows a group without it as a direct message.
  public var recipientCount: Int?
  public var content: String?
  /// The name of a group. Is `nil` for direct messages and for groups without a name.
  public var speakableGroupName: String?
  public var conversationIdentifier: String
  /// The URL of the group's picture, for `setImage(_:forParameterNamed:)` with `speakableGroupName`.
  public var groupImage: String?
  public var mentionsCurrentUser: Bool
  public var isReplyToCurrentUser: Bool
  /// True if the sender chose Notify Anyway. The message then breaks through a Focus whose settings allow that.
  public var notifyRecipientAnyway: Bool
}

/// The values of the `INStartCallIntent` of an incoming call.
public struct StartCallFields: Equatable, Sendable {
  /// Contains only the caller.
  public var contacts: [IntentPerson]
  public var media = Call.Media.audio
}

/// The values of the intent for a payload.
public enum IntentFields: Equatable, Sendable {
  case sendMessage(SendMessageFields)
  case startCall(StartCallFields)

  public init(_ payload: CommunicationPayload) {
    let sender = IntentPerson(payload.sender)
    switch payload.kind {
    case .call: self = .startCall(StartCallFields(contacts: [sender], media: payload.media))
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
