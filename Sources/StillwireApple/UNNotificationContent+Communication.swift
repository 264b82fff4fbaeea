// SPDX-License-Identifier: Apache-2.0
#if canImport(Intents) && canImport(UserNotifications) && !os(macOS) && !os(tvOS)
  public import Intents
  public import StillwireClient
  public import UserNotifications

  extension UNNotificationContent {
    /// The notification as a communication: with its sender's face, its group, and what of a Focus lets it through. The
    /// intent is donated first, so that the system knows the sender next time. Throws what the system refuses; then the
    /// content is shown as it came, which reads well.
    /// - Parameter contactIdentifier: Returns `CNContact.identifier` of a person whose contact the app knows. Allowed
    ///   People of a Focus are contacts: with the identifier iOS need not match the handle.
    public func updating(
      from payload: CommunicationPayload, senderImage: INImage? = nil, groupImage: INImage? = nil,
      capability: INCallCapability = .audioCall, contactIdentifier: (IntentPerson) -> String? = { _ in nil }
    ) async throws -> UNNotificationContent {
      switch IntentFields(payload) {
      case .sendMessage(let fields):
        let intent = INSendMessageIntent(
          fields, senderImage: senderImage, groupImage: groupImage, contactIdentifier: contactIdentifier(fields.sender))
        try await donate(intent)
        return try updating(from: intent)
      case .startCall(let fields):
        let intent = INStartCallIntent(
          fields, capability: capability, image: senderImage,
          contactIdentifier: fields.contacts.first.flatMap(contactIdentifier))
        try await donate(intent)
        return try updating(from: intent)
      }
    }

    private func donate(_ intent: INIntent) async throws {
      let interaction = INInteraction(intent: intent, response: nil)
      interaction.direction = .incoming
      try await interaction.donate()
    }
  }
#endif
