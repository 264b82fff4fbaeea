// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Stores the entries of the audit log, and deletes the old ones.
public struct AuditWriter: TransactionPart {
  let transaction: Transaction

  /// The maximum number of entries that one call deletes. Each one has at most ``AuditEntry/maxUsers`` users.
  public static let maxPurged = 100
  /// The maximum number of old entries that a new one replaces. More are left only after the maximum was lowered.
  static let maxReplaced = 2

  /// Adds an entry, and deletes the oldest entries above the maximum.
  ///
  /// The pseudonym replaces the name of a user who is being erased, so that no entry brings the name back.
  /// - Parameters:
  ///   - erased: Users whose erasure has begun after the request. An erasure that has ended leaves nothing of them.
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
    _ = try delete(upTo: id - Int64(max), limit: Self.maxReplaced)
  }

  private func pseudonym(of user: UserID) throws -> String? {
    try db.first("SELECT pseudonym FROM erasures WHERE finished IS NULL AND name = ?", [user.rawValue])?[0]
  }

  /// Deletes entries that are older than `age`, and the oldest ones above the maximum.
  /// - Returns: True if more may remain.
  public func purge(olderThan age: Duration, max: Int) throws -> Bool {
    let old = try db.all(
      "SELECT id FROM audit WHERE time < ? ORDER BY time LIMIT ?", [(now - age).rawValue, Self.maxPurged]
    ) { $0[0] as Int64 }
    for id in old { try delete(id) }
    guard old.count < Self.maxPurged else { return true }
    return try delete(upTo: reader.audit.newest() - Int64(max), limit: Self.maxPurged) == Self.maxPurged
  }

  /// Deletes the oldest entries with at most this id, and returns their number. The ids have no gaps but those of
  /// deleted entries, so at most `max` entries have a higher id than the newest one minus `max`.
  private func delete(upTo id: Int64, limit: Int) throws -> Int {
    guard id > 0 else { return 0 }
    let old = try db.all("SELECT id FROM audit WHERE id <= ? ORDER BY id LIMIT ?", [id, limit]) { $0[0] as Int64 }
    for id in old { try delete(id) }
    return old.count
  }

  private func delete(_ id: Int64) throws {
    try db.run("DELETE FROM audit_users WHERE entry = ?", [id])
    try db.run("DELETE FROM audit WHERE id = ?", [id])
  }

  /// Replaces the name of an erased user in some entries. Also deletes what may contain the name: the idempotency key
  /// and the name of a device.
  /// - Returns: True if no entry has the name any more.
  func replace(_ user: UserID, by pseudonym: UserID, limit: Int) throws -> Bool {
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
