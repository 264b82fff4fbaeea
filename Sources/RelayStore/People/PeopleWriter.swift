// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
public import RelayProtocol

/// Changes the profiles, preferences, blocks and reports of users.
public struct PeopleWriter: TransactionPart {
  let transaction: Transaction

  /// Creates a row for an unknown user.
  public func add(_ user: UserID) throws { _ = try needRow(of: user) }

  /// Stores the user's preferences. They replace the earlier ones.
  public func save(_ preferences: Preferences, of user: UserID) throws {
    let text = preferences == Preferences() ? nil : StoredJSON.text(of: preferences)
    try db.run("UPDATE users SET preferences = ? WHERE id = ?", [text, needRow(of: user)])
    try transaction.updates.badgesChanged(of: user)
  }

  /// The maximum number of users that one user can block.
  public static let maxBlocked = 1_000

  /// Blocks a user name for the user. The store keeps only the name, so an unknown user gets no row.
  ///
  /// Throws ``StoreError/tooMany(_:)`` if the user exceeds ``maxBlocked``.
  /// - Returns: False if the name was blocked already.
  @discardableResult
  public func block(_ other: UserID, by user: UserID) throws -> Bool {
    let id = try needRow(of: user)
    try transaction.checkIsNotErased(other)
    try db.run("INSERT INTO blocks (user, other) VALUES (?, ?) ON CONFLICT DO NOTHING", [id, other.rawValue])
    guard db.changesCount == 1 else { return false }
    let count: Int = try db.first("SELECT count(*) FROM blocks WHERE user = ?", [id])?[0] ?? 0
    if count > Self.maxBlocked { throw StoreError.tooMany(.blockedUsers) }
    if let sender = try row(of: other) { try transaction.updates.blocked(sender, by: id) }
    return true
  }

  /// Ends a block.
  /// - Returns: False if the name was not blocked.
  @discardableResult
  public func unblock(_ other: UserID, by user: UserID) throws -> Bool {
    guard let id = try row(of: user) else { return false }
    try db.run("DELETE FROM blocks WHERE user = ? AND other = ?", [id, other.rawValue])
    guard db.changesCount == 1 else { return false }
    try transaction.updates.badgesChanged(of: id)
    return true
  }

  /// Stores the restrictions of a user in place of the earlier ones. The user need not have a row.
  public func save(_ access: UserAccess, of user: UserID) throws {
    guard !access.isEmpty else { return try db.run("DELETE FROM access WHERE user = ?", [user.rawValue]) }
    try db.run(
      """
      INSERT INTO access (user, is_suspended, until, reason, not_before) VALUES (?1, ?2, ?3, ?4, ?5)
      ON CONFLICT (user) DO UPDATE SET is_suspended = ?2, until = ?3, reason = ?4, not_before = ?5
      """,
      [
        user.rawValue, access.suspension != nil, access.suspension?.until?.rawValue, access.suspension?.reason,
        access.notBefore?.rawValue,
      ])
  }

  /// Changes the stored profile of a user. Creates a row for an unknown user.
  /// - Returns: The profile as stored now.
  public func changeProfile(of user: UserID, _ change: (inout User) throws -> Void) throws -> User {
    _ = try needRow(of: user)
    guard var person = cache[user] else { return User(id: user) }
    var profile = person.profile
    try change(&profile)
    if profile != person.profile { try transaction.write(profile, to: &person) }
    return profile
  }

  /// Stores a user's new name, avatar and handle. A `nil` value keeps the stored one. Does nothing for an unknown user
  /// without a handle.
  public func rename(_ user: User) throws {
    guard try user.handle != nil || row(of: user.id) != nil else { return }
    _ = try needRow(of: user)
  }

  /// Raises the time at which the user was last seen. A stored time in the future gives way, because the wall clock was
  /// set back since then.
  public func touch(_ user: UserID, lastSeen: Timestamp) throws {
    try db.run(
      "UPDATE users SET last_seen = ?2 WHERE id = ?1 AND NOT coalesce(last_seen BETWEEN ?2 AND ?3, 0)",
      [needRow(of: user), lastSeen.rawValue, now.rawValue])
  }

  /// Stores the online state of a user.
  /// - Parameters:
  ///   - lastSeen: As in ``touch(_:lastSeen:)``.
  ///   - activity: Is `nil` if the user is offline.
  public func savePresence(of user: UserID, lastSeen: Timestamp, activity: Activity?) throws {
    try db.run(
      """
      UPDATE users SET last_seen = CASE WHEN last_seen BETWEEN ?2 AND ?4 THEN last_seen ELSE ?2 END, activity = ?3
      WHERE id = ?1 AND (activity IS NOT ?3 OR NOT coalesce(last_seen BETWEEN ?2 AND ?4, 0))
      """,
      [needRow(of: user), lastSeen.rawValue, activity?.rawValue, now.rawValue])
  }

  /// Stores that the users are offline. Does not change the times at which they were last seen.
  public func saveOffline(_ users: [UserID]) throws {
    for user in users { try db.run("UPDATE users SET activity = NULL WHERE name = ?", [user.rawValue]) }
  }

  /// Stores the rooms of the user in which the newest token does not give the right `join`. It gives this right in all
  /// other rooms of the user.
  public func withdraw(from rooms: Set<RoomID>, _ user: UserID) throws {
    guard let id = try row(of: user) else { return }
    let changed = try db.all(
      """
      UPDATE members SET is_withdrawn = NOT is_withdrawn
      WHERE user = ?1 AND is_withdrawn <> EXISTS (
        SELECT 1 FROM rooms WHERE rooms.id = members.room AND rooms.name IN (SELECT value FROM json_each(?2)))
      RETURNING room, is_withdrawn
      """,
      [id, rooms.sorted().asJSON])
    // The list of the user loses rooms or gets them back.
    guard !changed.isEmpty else { return }
    try transaction.inbox.departed(id)
    try transaction.updates.left(changed.filter { $0["is_withdrawn"] }.map { $0["room"] }, id)
  }

  /// Stores the claim `rooms` of the newest token of the user. Is `nil` when the token has no such claim.
  public func save(grants: [UInt8]?, of user: UserID) throws {
    let grants = grants.map { Data($0) }
    try db.run(
      "UPDATE users SET grants = ?2 WHERE id = ?1 AND grants IS NOT ?2", [needRow(of: user), grants])
  }

  /// Records the time at which a fact changed that the relay uses to decide the user's pushes. Writes nothing if no push
  /// of the user is unfinished. Otherwise the caller then decides these pushes again. If the relay is killed before that,
  /// the next start decides them: see ``QueueReader/changedUsers(after:limit:)``.
  ///
  /// The time is that of the stepless clock. The number of the newest job is no substitute: a job may have a higher
  /// number, and an earlier decision.
  /// - Returns: True if the change may decide a job of the user, see ``QueueReader/hasOpenDecisions(of:)``.
  @discardableResult
  public func noteChange(of user: UserID) throws -> Bool {
    let id = try needRow(of: user)
    guard try transaction.reader.queue.hasOpenDecisions(of: id) else { return false }
    try db.run("UPDATE users SET changed = ? WHERE id = ?", [transaction.steplessNow.rawValue, id])
    return true
  }
}

extension PeopleWriter {
  /// Stores the status of a user in place of the earlier one. Is `nil` to delete it.
  public func save(_ status: UserStatus?, of user: UserID) throws {
    let text = status.map(StoredJSON.text)
    try db.run("UPDATE users SET status = ? WHERE id = ?", [text, needRow(of: user)])
  }
}
