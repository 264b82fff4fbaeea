// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The migration "changed messages": changed messages that a client can catch up on, the run counter, and lanes of updates.
/// The migration "pending changes": changes whose updates are stored in slices.
extension Schema {
  static func addChanges(_ db: Database) throws {
    try db.execute(
      sql: """
        PRAGMA application_id = \(DatabaseOrigin.applicationID);
        -- See `RunRecord`.
        ALTER TABLE installation ADD COLUMN counter INTEGER NOT NULL DEFAULT 0;

        -- The newest seq of the room when the message was last edited or deleted; NULL: it was not.
        ALTER TABLE messages ADD COLUMN changed INTEGER;
        ALTER TABLE messages ADD COLUMN changed_time INTEGER;
        UPDATE messages SET changed = (SELECT seq FROM rooms WHERE rooms.id = messages.room), changed_time = time
        WHERE is_deleted;
        CREATE INDEX messages_changed ON messages (room, changed) WHERE changed IS NOT NULL;

        -- As the column of `jobs`.
        ALTER TABLE updates ADD COLUMN lane TEXT NOT NULL DEFAULT '';
        -- The time at which it was last asked for.
        ALTER TABLE updates ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
        UPDATE updates SET created = due;
        DROP INDEX updates_due;
        CREATE INDEX updates_due ON updates (lane, due);
        CREATE INDEX updates_lease ON updates (lease);
        """)
    try setLanes(of: "updates", where: "true", db)
  }

  static func addPendingChanges(_ db: Database) throws {
    try db.execute(
      sql: """
        -- Edits and deletions that some of the phones that show the message have no row in `updates` for yet.
        CREATE TABLE pending_changes (
          -- The order in which they were made.
          id INTEGER PRIMARY KEY,
          -- No reference, because a message may end first. There is nothing left to change then.
          room INTEGER NOT NULL,
          seq INTEGER NOT NULL,
          kind TEXT NOT NULL,
          -- The last device that has its update.
          user INTEGER NOT NULL,
          device TEXT NOT NULL,
          UNIQUE (room, seq)
        ) STRICT;
        """)
    // Earlier releases named the lanes of Apple's devices without the environment.
    try setLanes(of: "jobs", where: unfinished, db)
    try setLanes(of: "updates", where: "true", db)
  }
}
