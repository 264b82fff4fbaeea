// SPDX-License-Identifier: Apache-2.0
// Sends a message and donates its intent to the system.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  import StillwireApple
  public import StillwireClient

  extension Room {
    /// Sends `{"text": …}` and donates the message as outgoing, so that the system suggests and ranks the conversation.
    /// The message counts as sent even if the system rejects the donation.
    /// - Parameter contactIdentifier: Returns `CNContact.identifier` of a person whose contact the app knows, as in
    ///   `NotificationServiceSettings`.
    @discardableResult
    public func send(
      text: String, donating conversation: OutgoingConversation,
      contactIdentifier: (IntentPerson) -> String? = { _ in nil }
    ) async throws -> Sent {
      let intent = INSendMessageIntent(outgoing: conversation, contactIdentifier: contactIdentifier)
      let interaction = INInteraction(intent, .outgoing, in: conversation.donationGroup)
      let sent = try await send(text: text)
      try? await interaction.donate()
      return sent
    }
  }

  extension INSendMessageIntent {
    /// Makes the intent of an outgoing message. It has no text: the system stores donations.
    public convenience init(
      outgoing conversation: OutgoingConversation, contactIdentifier: (IntentPerson) -> String? = { _ in nil }
    ) {
      let recipients = conversation.recipients.map { INPerson($0, contactIdentifier: contactIdentifier($0)) }
      self.init(
        recipients: recipients.isEmpty ? nil : recipients,
        outgoingMessageType: .outgoingMessageText, content: nil,
        speakableGroupName: conversation.groupName.map { INSpeakableString(spokenPhrase: $0) },
        conversationIdentifier: conversation.identifier, serviceName: nil, sender: nil, attachments: nil)
    }
  }
#endif
