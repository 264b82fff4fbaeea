// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Detects that a user has changed while the store was read. The reader then reads again.
struct ChangeOrder {
  /// The number of reads in progress.
  private var reads = 0
  /// The number of the newest change.
  private(set) var newest = 0
  /// The newest change of each user, while a read is in progress.
  private var changed: [UserID: Int] = [:]
  /// For changes up to this number, the changed users are no longer known.
  private var forgotten = 0

  /// The maximum number of users in ``changed``. Beyond it, all users count as changed.
  static let maxChanged = 10_000

  var isRead: Bool { reads > 0 }

  mutating func beginReading() { reads += 1 }

  mutating func endReading() {
    reads -= 1
    if reads == 0 { changed = [:] }
  }

  mutating func note(_ user: UserID) {
    newest += 1
    guard reads > 0 else { return }
    if changed.count >= Self.maxChanged {
      changed = [:]
      forgotten = newest
    }
    changed[user] = newest
  }

  /// True if the user may have changed. Valid only during a read. After ``maxChanged`` changed users it is true for all
  /// users.
  func hasChanged(_ user: UserID, since: Int) -> Bool {
    changed[user].map { $0 > since } ?? false || since < forgotten
  }
}
