// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The tables of the database, and the conditions that several queries share.
///
/// Each table has an explicit primary key. No query depends on SQLite's own row numbers: a table with an order has a
/// column for it. DDL runs in migrations and nowhere else.
enum Schema {
  /// A migration has the name of the first release that contains it. A released migration never changes: a new one
  /// follows it.
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("0.1.0") { db in
      try db.execute(sql: "PRAGMA application_id = \(DatabaseOrigin.applicationID)")
      for statements in [installation, people, rooms, messages, queue, changes, responses] {
        try db.execute(sql: statements)
      }
    }
    return migrator
  }

  /// A condition on a room's name: the room holds the notifications of one user, see `RoomID.isNotifications`.
  static func isNotifications(_ name: String) -> String { "substr(\(name), 1, 1) = '/'" }

  private static let installation = """
    -- One row.
    CREATE TABLE installation (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      -- The key of this installation's signatures: 32 random bytes.
      secret BLOB NOT NULL,
      -- See `RunRecord`.
      counter INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    """
}
