// SPDX-License-Identifier: Apache-2.0
// The people of donated interactions, and the deletion of the donations at a sign-out.
#if canImport(Intents) && canImport(Security) && canImport(UserNotifications) && !os(tvOS)
  import Foundation
  import Intents
  public import StillwireExtension

  extension AppGroup {
    /// The people whose messages or calls have reached this phone, for ``StillwireUI/OutgoingConversation``.
    public var people: PersonBook { PersonBook(folder: folder.appendingPathComponent("stillwire-people")) }

    /// Deletes all donated interactions of the app and its extensions, and the people in ``people``. The next messages
    /// of other accounts donate again. Throws the system's error.
    public func deleteDonations() async throws {
      people.removeAll()
      try await INInteraction.deleteAllDonations()
    }
  }
#endif
