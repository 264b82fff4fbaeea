// SPDX-License-Identifier: Apache-2.0
// Makes the intents of the Intents framework, a message or a call, from the fields of StillwireExtension.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireExtension

  extension INSendMessageIntent {
    /// Makes the intent of an incoming message, with its donation metadata.
    /// - Parameters:
    ///   - senderImage: The sender's picture.
    ///   - groupImage: The group's picture. Is not used if the group has no name.
    ///   - contactIdentifier: `CNContact.identifier` of the sender, if the app knows the contact.
    public convenience init(
      _ fields: SendMessageFields, senderImage: INImage? = nil, groupImage: INImage? = nil,
      contactIdentifier: String? = nil
    ) {
      self.init(
        recipients: fields.recipients.isEmpty ? nil : fields.recipients.map { INPerson($0) },
        outgoingMessageType: .outgoingMessageText, content: fields.content,
        speakableGroupName: fields.speakableGroupName.map { INSpeakableString(spokenPhrase: $0) },
        conversationIdentifier: fields.conversationIdentifier, serviceName: nil,
        sender: INPerson(fields.sender, image: senderImage, contactIdentifier: contactIdentifier), attachments: nil)
      if let groupImage, fields.speakableGroupName != nil {
        setImage(groupImage, forParameterNamed: \.speakableGroupName)
      }
      let metadata = INSendMessageIntentDonationMetadata()
      metadata.mentionsCurrentUser = fields.mentionsCurrentUser
      metadata.isReplyToCurrentUser = fields.isReplyToCurrentUser
      metadata.notifyRecipientAnyway = fields.notifyRecipientAnyway
      if let count = fields.recipientCount { metadata.recipientCount = count }
      donationMetadata = metadata
    }
  }

  extension INStartCallIntent {
    /// Makes the intent of an incoming call.
    /// - Parameters:
    ///   - capability: The type of the call, audio or video. Is that of the payload if it is `nil`.
    ///   - callRecordToCallBack: The record of a missed call that this call answers.
    ///   - image: The caller's picture.
    ///   - contactIdentifier: `CNContact.identifier` of the caller, if the app knows the contact.
    public convenience init(
      _ fields: StartCallFields, capability: INCallCapability? = nil, callRecordToCallBack: INCallRecord? = nil,
      image: INImage? = nil, contactIdentifier: String? = nil
    ) {
      self.init(
        callRecordFilter: nil, callRecordToCallBack: callRecordToCallBack, audioRoute: .unknown,
        destinationType: .normal,
        contacts: fields.contacts.map { INPerson($0, image: image, contactIdentifier: contactIdentifier) },
        callCapability: capability ?? INCallCapability(fields.media))
    }
  }

  extension INCallCapability {
    fileprivate init(_ media: Call.Media) {
      switch media {
      case .audio: self = .audioCall
      case .video: self = .videoCall
      }
    }
  }
#endif
