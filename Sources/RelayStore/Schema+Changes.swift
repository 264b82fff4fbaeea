// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The migration "changed messages": changed messages that a client can catch up on, the run counter, and lanes of updates.
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
    let devices = try Row.fetchAll(
      db,
      sql: """
        SELECT DISTINCT updates.user, updates.device, platform, app, token, environment FROM updates
        JOIN devices ON devices.user = updates.user AND devices.device = updates.device
        """)
    for row in devices {
      let lane = Lane(row[2], app: row[3], token: row[4], environment: row[5])
      try db.execute(
        sql: "UPDATE updates SET lane = ? WHERE user = ? AND device = ?",
        arguments: [lane.name, row[0] as Int64, row[1] as String])
    }
  }
}
