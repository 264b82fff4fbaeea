// SPDX-License-Identifier: Apache-2.0
import RelayHub

/// The users in memory who are known to have no open invitation, so that no query has to count them.
///
/// The state is private. The relay creates one object, and the methods run on the hub's thread.
package final class Uninvited {
  private var users: Set<UserHandle> = []
  /// The number of invitations made so far: a read compares it before and after.
  private(set) var madeCount = 0

  package init() {}

  func contains(_ user: UserHandle) -> Bool { users.contains(user) }

  /// Adds a user for whom a read has found no invitation, unless somebody was invited since.
  /// - Parameter madeCount: ``madeCount`` before the read.
  func insert(_ user: UserHandle, readAt madeCount: Int) { if madeCount == self.madeCount { users.insert(user) } }

  /// Removes a user whom somebody has invited. Is called with `nil` for a user who is not in memory.
  func invited(_ user: UserHandle?) {
    madeCount += 1
    if let user { forget(user) }
  }

  func forget(_ user: UserHandle) { users.remove(user) }
}
