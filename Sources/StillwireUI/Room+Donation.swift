// SPDX-License-Identifier: Apache-2.0
// Sends a message and donates its intent to the system.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  import StillwireApple
  public import StillwireClient

  extension Room {
    /// Sends `{"text": …}` and donates the message as outgoing, so that the system suggests and ranks the conversation.
    /// The message counts as sent even if the system rejects the donation.
    @discardableResult
    public func send(text: String, donating conversation: OutgoingConversation) async throws -> Sent {
      let sent = try await send(text: text)
      let interaction = INInteraction(intent: INSendMessageIntent(outgoing: conversation), response: nil)
      interaction.direction = .outgoing
      try? await interaction.donate()
      return sent
    }
  }

  extension INSendMessageIntent {
    /// Makes the intent of an outgoing message. It has no text: the system stores donations.
    public convenience init(outgoing conversation: OutgoingConversation) {
      self.init(
        recipients: conversation.recipients.isEmpty ? nil : conversation.recipients.map { INPerson($0) },
        outgoingMessageType: .outgoingMessageText, content: nil,
        speakableGroupName: conversation.groupName.map { INSpeakableString(spokenPhrase: $0) },
        conversationIdentifier: conversation.identifier, serviceName: nil, sender: nil, attachments: nil)
    }
  }
#endif
