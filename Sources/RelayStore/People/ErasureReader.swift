// SPDX-License-Identifier: Apache-2.0
import GRDB
public import RelayProtocol

/// Reads erasures.
public struct ErasureReader {
  let db: Database

  /// Returns `nil` if there is no such erasure, or if it is no longer kept.
  public func erasure(_ id: String) throws -> ErasureRecord? {
    try db.first(
      """
      SELECT id, messages, left_rooms, changed_messages, started, finished FROM erasures WHERE id = ?
      """,
      [id]
    ) { row in
      ErasureRecord(
        id: row["id"], messages: try row.choice("messages"), rooms: row["left_rooms"], changed: row["changed_messages"],
        started: row.timestamp("started"), finished: row.time("finished"))
    }
  }

  /// The erasure of a user while rows may have the name.
  func open(of user: UserID) throws -> ErasureRecord? {
    let found = try db.first("SELECT id FROM erasures WHERE finished IS NULL AND name = ?", [user.rawValue])
    return try found.flatMap { try erasure($0["id"]) }
  }

  /// The oldest erasure that has rows to erase, and is none of these.
  public func next(except skipped: Set<String>) throws -> String? {
    try db.all(
      "SELECT id FROM erasures WHERE finished IS NULL AND name IS NOT NULL ORDER BY started, id LIMIT ?",
      [skipped.count + 1]
    ) { $0["id"] as String }.first { !skipped.contains($0) }
  }

  /// The oldest erasures whose rows are erased. Only the remains of deleted rows may still have the names.
  public func erased(limit: Int) throws -> [String] {
    try db.all(
      "SELECT id FROM erasures WHERE finished IS NULL AND name IS NULL ORDER BY started, id LIMIT ?", [limit]
    ) { $0["id"] }
  }

  /// The users whose rows are not erased yet.
  public func names() throws -> [UserID] {
    try db.all("SELECT name FROM erasures WHERE finished IS NULL AND name IS NOT NULL") {
      UserID(unchecked: $0["name"])
    }
  }
}
