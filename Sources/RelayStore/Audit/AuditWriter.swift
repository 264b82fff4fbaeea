// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Stores the entries of the audit log, and deletes the old ones.
public struct AuditWriter: TransactionPart {
  let transaction: Transaction

  /// The maximum number of entries that one call deletes.
  public static let maxPurged = 100
  /// A call deletes no further entry after this number of rows: an entry has a row for each user.
  static let maxPurgedRows = 1_000
  /// The maximum number of old entries that an addition deletes.
  static let maxTrimmed = 2
  /// The number of deleted rows after which the additions of a transaction delete no further entry: many small entries
  /// could otherwise delete many large ones in one transaction. Later additions delete the rest.
  static let maxTrimmedRows = 1_000
  /// The number of rows that ``replace(_:by:rows:)`` changes for an entry.
  static let rowsPerPseudonym = 3

  /// An estimate of the rows that ``add(_:erased:max:)`` writes: those of the entry, and those of an old entry of the
  /// same size, which it deletes.
  public static func rows(toAdd entry: AuditEntry) -> Int { 2 * (1 + min(entry.users.count, AuditEntry.maxUsers)) }

  /// Adds an entry, and deletes the oldest entries above the maximum.
  ///
  /// The pseudonym replaces the name of a user who is being erased, so that no entry brings the name back.
  /// - Parameters:
  ///   - erased: The users who have been erased since the begin of the request. After the end of the erasure, the entry
  ///     omits them.
  ///   - max: The maximum number of entries.
  public func add(_ entry: AuditEntry, erased: Set<UserID> = [], max: Int) throws {
    var names: Set<String> = []
    var isErased = false
    for user in entry.users.prefix(AuditEntry.maxUsers) {
      if let pseudonym = try pseudonym(of: user) {
        names.insert(pseudonym)
        isErased = true
      } else if erased.contains(user) {
        isErased = true
      } else {
        names.insert(user.rawValue)
      }
    }
    try db.run(
      """
      INSERT INTO audit (time, key, operation, room, target, error, request, address, skipped)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        entry.time.rawValue, entry.key, entry.operation, entry.room?.rawValue, isErased ? nil : entry.target,
        entry.error?.rawValue, isErased ? nil : entry.request, entry.address, entry.skipped,
      ])
    let id = db.lastInsertedRowID
    for name in names.sorted() { try db.run("INSERT INTO audit_users (user, entry) VALUES (?, ?)", [name, id]) }
    guard cache.trimmedAuditRows < Self.maxTrimmedRows else { return }
    let trimmed = try delete(ids(upTo: id - Int64(max), limit: Self.maxTrimmed))
    cache.trimmedAuditRows += trimmed.rows
  }

  private func pseudonym(of user: UserID) throws -> String? {
    try db.first("SELECT pseudonym FROM erasures WHERE finished IS NULL AND name = ?", [user.rawValue])?[0]
  }

  /// Deletes entries that are older than `age`, and the oldest ones above the maximum.
  /// - Returns: True if more may remain.
  public func purge(olderThan age: Duration, max: Int) throws -> Bool {
    let old = try db.all(
      "SELECT id FROM audit WHERE time < ? ORDER BY time LIMIT ?", [time(before: age).rawValue, Self.maxPurged]
    ) { $0[0] as Int64 }
    guard try delete(old).isComplete, old.count < Self.maxPurged else { return true }
    let surplus = try ids(upTo: reader.audit.newest() - Int64(max), limit: Self.maxPurged)
    return try !delete(surplus).isComplete || surplus.count == Self.maxPurged
  }

  /// The oldest entries with at most this id. The ids have no gaps but those of deleted entries, so at most `max`
  /// entries have a higher id than the newest one minus `max`.
  private func ids(upTo id: Int64, limit: Int) throws -> [Int64] {
    guard id > 0 else { return [] }
    return try db.all("SELECT id FROM audit WHERE id <= ? ORDER BY id LIMIT ?", [id, limit]) { $0[0] as Int64 }
  }

  /// Deletes entries, in order, until their rows are enough for one transaction.
  /// - Returns: The number of deleted rows. `isComplete` is false if some of the entries are left.
  private func delete(_ ids: [Int64]) throws -> (rows: Int, isComplete: Bool) {
    var rows = 0
    for id in ids {
      guard rows < Self.maxPurgedRows else { return (rows, false) }
      try db.run("DELETE FROM audit_users WHERE entry = ?", [id])
      rows += db.changesCount + 1
      try db.run("DELETE FROM audit WHERE id = ?", [id])
    }
    return (rows, true)
  }

  /// Replaces the name of an erased user in some entries. Also deletes the idempotency key and the name of a device,
  /// because they may contain the name.
  /// - Parameter rows: The maximum number of changed rows.
  /// - Returns: True if no entry has the name any more.
  func replace(_ user: UserID, by pseudonym: UserID, rows: Int) throws -> Bool {
    let limit = rows / Self.rowsPerPseudonym
    let entries = try db.all("SELECT entry FROM audit_users WHERE user = ? LIMIT ?", [user.rawValue, limit]) {
      $0[0] as Int64
    }
    for entry in entries {
      try db.run("UPDATE audit SET target = NULL, request = NULL WHERE id = ?", [entry])
      try db.run("DELETE FROM audit_users WHERE user = ? AND entry = ?", [user.rawValue, entry])
      try db.run(
        "INSERT INTO audit_users (user, entry) VALUES (?, ?) ON CONFLICT DO NOTHING", [pseudonym.rawValue, entry])
    }
    return entries.count < limit
  }
}
