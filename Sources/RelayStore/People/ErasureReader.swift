// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayProtocol

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

  /// The oldest erasure in progress.
  public func next() throws -> String? {
    try db.first("SELECT id FROM erasures WHERE finished IS NULL ORDER BY started, id LIMIT 1")?["id"]
  }
}
