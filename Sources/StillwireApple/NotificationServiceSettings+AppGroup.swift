// SPDX-License-Identifier: Apache-2.0
// The settings of a service extension from the App Group.
#if canImport(Intents) && canImport(Security) && canImport(UserNotifications) && !os(tvOS)

  public import StillwireExtension

  extension NotificationServiceSettings {
    /// Makes settings with the addresses, the picture cache, the book of people and the report key of the App Group.
    public init(
      _ group: AppGroup, contactIdentifier: @escaping @Sendable (IntentPerson) -> String? = { _ in nil }
    ) {
      self.init(
        addresses: group.relay, pictures: group.pictures, identity: { try group.keychain.identity() },
        people: group.people, contactIdentifier: contactIdentifier)
    }
  }
#endif
