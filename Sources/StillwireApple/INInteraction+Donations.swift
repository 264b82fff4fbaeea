// SPDX-License-Identifier: Apache-2.0
// Makes and deletes the interactions that the app and its service extension donate.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireExtension

  extension INInteraction {
    /// Makes an interaction of a conversation, for a donation.
    package convenience init(_ intent: INIntent, _ direction: INInteractionDirection, in group: DonationGroup) {
      self.init(intent: intent, response: nil)
      self.direction = direction
      groupIdentifier = group.identifier
    }

    /// Deletes the donated interactions of a conversation. Call it when the person leaves the room or deletes the
    /// conversation. Throws the system's error.
    public static func deleteDonations(of group: DonationGroup) async throws {
      try await delete(with: group.identifier)
    }

    /// Deletes all donated interactions of the app and its extensions, also those of other accounts. Call it at a
    /// sign-out, so that the system no longer suggests the contacts of this user. The next messages of the other
    /// accounts donate again. Throws the system's error.
    public static func deleteAllDonations() async throws { try await deleteAll() }
  }
#endif
