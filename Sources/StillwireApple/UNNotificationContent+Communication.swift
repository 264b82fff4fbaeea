// SPDX-License-Identifier: Apache-2.0
// Updates a notification with an intent, for a notification service extension.
#if canImport(Intents) && canImport(UserNotifications) && !os(tvOS)
  public import Intents
  public import StillwireExtension
  public import UserNotifications

  extension UNNotificationContent {
    /// Returns the notification as a communication notification, with the sender's picture and the group. The system
    /// applies the Focus settings for people to such a notification.
    ///
    /// The method donates the intent first, so that the system knows the sender next time. It throws the system's error
    /// if the system rejects the intent. Show the original content then: it has a complete text.
    /// - Parameters:
    ///   - senderImage: The sender's picture.
    ///   - groupImage: The group's picture.
    ///   - capability: The type of a call, audio or video. Is that of the payload if it is `nil`.
    ///   - callRecordToCallBack: The record of a missed call that this call answers.
    ///   - contactIdentifier: Returns `CNContact.identifier` of a person whose contact the app knows. Allowed People of
    ///     a Focus are contacts: with the identifier iOS need not match the handle.
    public func updating(
      from payload: CommunicationPayload, senderImage: INImage? = nil, groupImage: INImage? = nil,
      capability: INCallCapability? = nil, callRecordToCallBack: INCallRecord? = nil,
      contactIdentifier: (IntentPerson) -> String? = { _ in nil }
    ) async throws -> UNNotificationContent {
      switch IntentFields(payload) {
      case .sendMessage(let fields):
        let intent = INSendMessageIntent(
          fields, senderImage: senderImage, groupImage: groupImage, contactIdentifier: contactIdentifier(fields.sender))
        try await INInteraction(intent, .incoming, in: payload.donationGroup).donate()
        return try updating(from: intent)
      case .startCall(let fields):
        let intent = INStartCallIntent(
          fields, capability: capability, callRecordToCallBack: callRecordToCallBack, image: senderImage,
          contactIdentifier: fields.contacts.first.flatMap(contactIdentifier))
        try await INInteraction(intent, .incoming, in: payload.donationGroup).donate()
        return try updating(from: intent)
      }
    }
  }
#endif
