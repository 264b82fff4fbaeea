// SPDX-License-Identifier: Apache-2.0
// Deletes the interactions that the app and its service extension have donated.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireExtension

  extension INInteraction {
    /// Deletes the donated interactions of a conversation. Call it when the person leaves the room or deletes the
    /// conversation. Throws the system's error.
    public static func deleteDonations(of group: DonationGroup) async throws {
      try await delete(with: group.identifier)
    }

    /// Deletes all interactions of the app, also those of other accounts and those that the app itself has donated. Call
    /// it at a sign-out: the system must not suggest people of a person who has signed out. The next messages of the
    /// other accounts donate again. Throws the system's error.
    public static func deleteAllDonations() async throws { try await deleteAll() }
  }
#endif
