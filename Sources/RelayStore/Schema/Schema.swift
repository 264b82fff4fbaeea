// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The tables of the database, and the conditions that several queries share.
///
/// Each table has an explicit primary key. No query depends on SQLite's own row numbers: a table with an order has a
/// column for it. DDL runs in migrations and nowhere else.
enum Schema {
  /// A migration has the name of the first release that contains it. A released migration never changes: a new one
  /// follows it.
  ///
  /// Each node of a cluster runs a migration itself, at the same record of the log. So a migration depends on nothing
  /// but the rows: no time, no random number, and no rows of `installation`. A ``Replica`` opens a file before its
  /// migrations, so the columns of `installation` only grow.
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("0.1.0") { db in
      try db.execute(sql: "PRAGMA application_id = \(DatabaseOrigin.applicationID)")
      let tables = [
        installation, clock, people, rooms, messages, queue, changes, responses, inbox, calls, erasures, audit,
        invitations,
      ]
      for statements in tables { try db.execute(sql: statements) }
    }
    for (name, sql) in LaterMigrations.all { migrator.registerMigration(name) { db in try db.execute(sql: sql) } }
    return migrator
  }

  /// A condition on a room's name: the room holds the notifications of one user, see `RoomID.isNotifications`.
  static func isNotifications(_ name: String) -> String { "substr(\(name), 1, 1) = '/'" }

  /// The first character of the names of deleted rooms, whose rows the store still has to delete. No room that clients
  /// name has this character.
  static let deletedPrefix = "#"
  /// The name of a deleted room: it ends with the former name, which phones know.
  static let deletedName = "'\(deletedPrefix)' || id || '/' || name"
  /// The name of a room that phones know.
  static func knownName(_ name: String) -> String {
    "CASE WHEN \(isDeleted(name)) THEN substr(\(name), instr(\(name), '/') + 1) ELSE \(name) END"
  }
  /// A condition on a room's name: the room is deleted. An index on the name serves it.
  static func isDeleted(_ name: String) -> String { "\(name) >= '#' AND \(name) < '$'" }
  /// The ranges of the names of all other rooms: each has a first name, and a text that is greater than all its names.
  static let namedRooms = [("", "#"), ("$", "/"), ("0", "\u{7F}")]

  private static let installation = """
    -- One row. It is not replicated.
    CREATE TABLE installation (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      -- The key of this installation's signatures: 32 random bytes.
      secret BLOB NOT NULL,
      -- See `RunRecord`.
      counter INTEGER NOT NULL DEFAULT 0,
      -- The newest group of a cluster's log in this file, see `Replica`; NULL: the file belongs to a single node.
      position TEXT,
      -- 1: the log of `position` has had a snapshot.
      has_snapshot INTEGER NOT NULL DEFAULT 0,
      -- See `AgingClock.keyOffset`; milliseconds.
      key_offset INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    """

  private static let clock = """
    -- At most one row: the state of `AgingClock`. Times in milliseconds.
    CREATE TABLE clock (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      -- The relay's time when the row was written.
      noted INTEGER NOT NULL,
      -- The cause of the wait of deletion by age, and its duration until then. NULL: it does not wait.
      cause TEXT,
      waited INTEGER NOT NULL,
      -- The sum of the steps of the wall clock during the wait, and the time after the last of them.
      wait_steps INTEGER NOT NULL,
      stepped INTEGER,
      -- See `AgingClock.totalSteps`.
      total_steps INTEGER NOT NULL
    ) STRICT;
    """
}
