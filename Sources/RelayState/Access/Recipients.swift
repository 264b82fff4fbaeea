// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayHub

/// The users in memory as recipients: the facts that are the same for every message. ``People`` changes them.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Recipients {
  /// Contains only users with facts that the hub does not hold.
  private var known: [UserHandle: Recipient] = [:]

  package init() {}

  package internal(set) subscript(user: UserHandle) -> Recipient {
    get { known[user] ?? Recipient() }
    set { known[user] = newValue.isEmpty ? nil : newValue }
  }

  /// The users whose reports end by time.
  var withPassingReports: [UserHandle: Recipient] { known.filter(\.value.hasPassingReports) }

  /// Forgets a user that the hub has removed from memory.
  func forget(_ user: UserHandle) { known[user] = nil }
}
