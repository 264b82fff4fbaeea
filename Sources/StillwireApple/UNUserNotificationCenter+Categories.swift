// SPDX-License-Identifier: Apache-2.0
// Declares the categories of the relay to the system.
#if canImport(UserNotifications) && !os(tvOS) && !os(watchOS)
  public import Foundation
  public import StillwireExtension
  public import UserNotifications

  extension UNUserNotificationCenter {
    /// Loads the category registry, and declares it in place of all earlier categories. Call it at every launch, because
    /// the person may have chosen another language. Throws ``StillwireExtension/StillwireError``: the system keeps the
    /// earlier categories then.
    /// - Parameter languages: The person's languages, the preferred one first.
    public func declareCategories(
      of api: RelayAPI, for languages: [String] = Locale.preferredLanguages
    ) async throws {
      guard let (registry, _) = try await api.categories() else { return }
      let categories = registry.declarations(for: languages).map { UNNotificationCategory($0) }
      setNotificationCategories(Set(categories))
    }
  }
#endif
