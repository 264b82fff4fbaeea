// SPDX-License-Identifier: Apache-2.0
// The settings of a service extension from the App Group.
#if canImport(Intents) && canImport(Security) && canImport(UserNotifications) && !os(tvOS)

  public import StillwireExtension

  extension NotificationServiceSettings {
    /// Makes settings with the addresses, the picture cache, the accounts and the book of people of the App Group.
    public init(
      _ group: AppGroup, contactIdentifier: @escaping @Sendable (IntentPerson) -> String? = { _ in nil }
    ) {
      self.init(
        addresses: group.relay, pictures: group.pictures, accounts: group.accounts, people: group.people,
        contactIdentifier: contactIdentifier)
    }
  }
#endif
