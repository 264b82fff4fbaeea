// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

/// Numbers the changes that the users' lists of rooms show.
///
/// Each method writes a number of rows that does not depend on the number of members.
struct InboxWriter: TransactionPart {
  let transaction: Transaction

  static let updateNewest = "UPDATE inbox SET newest = ?1 WHERE id = 1"

  /// The positions of one millisecond. Positions begin with the time, so that they also increase after a loss of
  /// commits.
  private static let perMillisecond: Int64 = 1000

  /// A position above all others. The caller stores it as the newest one, with ``updateNewest``.
  func nextPosition() throws -> Int64 {
    let newest = try cache.newestPosition ?? storedNewest()
    let next = max(newest + 1, now.rawValue * Self.perMillisecond)
    cache.newestPosition = next
    return next
  }

  private func storedNewest() throws -> Int64 { try db.first("SELECT newest FROM inbox WHERE id = 1")?[0] ?? 0 }

  /// A position above all others, which is stored as the newest one.
  func newPosition() throws -> Int64 {
    let position = try nextPosition()
    try db.run(Self.updateNewest, [position])
    return position
  }

  func created(_ room: Int64) throws {
    try db.run("INSERT INTO activity (room, position, changed) VALUES (?1, ?2, ?2)", [room, newPosition()])
  }

  /// The room has a new title, or an edited message.
  func changed(_ room: Int64) throws {
    try db.run("UPDATE activity SET changed = ? WHERE room = ?", [newPosition(), room])
  }

  /// Counts a new member. Returns the position of the membership.
  func added(to room: Int64) throws -> Int64 {
    try db.run("UPDATE activity SET members = members + 1 WHERE room = ?", [room])
    return try newPosition()
  }

  func removed(_ user: Int64, from room: Int64) throws {
    try db.run("UPDATE activity SET members = members - 1 WHERE room = ?", [room])
    try departed(user)
  }

  /// The list of a user has lost a room, so that the changes since an earlier position are incomplete.
  func departed(_ user: Int64) throws {
    try db.run("UPDATE users SET departed = ? WHERE id = ?", [newPosition(), user])
  }

  /// The room disappears from all lists. ``RoomWriter/sweepDeleted(max:)`` then deletes the memberships.
  func deleted(_ room: Int64) throws { try db.run("DELETE FROM activity WHERE room = ?", [room]) }
}
