// SPDX-License-Identifier: Apache-2.0
import GRDB

/// The tables. A migration that was released is never changed; a new one follows it.
enum Schema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    func register(_ name: String, _ statements: String...) {
      migrator.registerMigration(name) { db in
        for statements in statements { try db.execute(sql: statements) }
      }
    }
    register("1", people, messages, jobs)
    register("2", retention)
    register("3", unusedRooms)
    register("4", wishes, editedMessages, heldJobs)
    register("5", changes)
    register("6", appleDevices)
    register("7", receipts)
    register("8", updates)
    register("9", attempts)
    register("10", revivals)
    register("11", forgotten)
    migrator.registerMigration("12", migrate: addLanes)
    register("13", responses)
    register("14", coalescing)
    register("15", postedResponses)
    register("16", listed)
    register("withdrawn rights", withdrawnRights)
    register("picture hashes", pictures)
    migrator.registerMigration("changed messages", migrate: addChanges)
    register("report keys", reportKeys)
    register("named blocks", namedBlocks)
    migrator.registerMigration("pending changes", migrate: addPendingChanges)
    register("stored grants", storedGrants)
    return migrator
  }

  /// A job that is on its way to its device, in the order of its room. The conditions of queries repeat this and the
  /// following word for word, else SQLite does not see that the partial indexes serve them.
  static let queued = "state IN ('ready', 'retrying', 'sending')"
  /// A job that may be claimed.
  static let open = "state IN ('ready', 'retrying')"
  /// A job that is not finished and stands in nobody's way.
  static let aside = "state IN ('waiting', 'held', 'merged') AND finished_at IS NULL"
  /// A job that was not sent, or not yet.
  static let unsent = "state <> 'sent'"
  /// A job that is not finished: each of the above but the last.
  static let unfinished = "finished_at IS NULL"

  /// A condition on a room's name: it is no room of anybody's, see `RoomID.isNotifications`.
  static func isNotifications(_ name: String) -> String { "substr(\(name), 1, 1) = '/'" }

  /// A condition on a row of `messages`: a push is made of it that is not finished, or a dead letter that may be sent
  /// again, or people may still answer one by the actions of its category.
  static func isNeeded(_ message: String) -> String {
    """
    EXISTS (
      SELECT 1 FROM jobs INDEXED BY jobs_of_message
      WHERE jobs.room = \(message).room AND jobs.seq = \(message).seq
        AND (jobs.\(unfinished) OR jobs.state = 'dead'
          OR json_extract(CAST(\(message).push AS TEXT), '$.category') IS NOT NULL))
    """
  }

  private static let retention = """
    -- The oldest message of the history. Older ones are there only while a push needs them.
    ALTER TABLE rooms ADD COLUMN first INTEGER NOT NULL DEFAULT 1;
    CREATE INDEX jobs_of_message ON jobs (room, seq) WHERE \(queued);

    -- Counted from the commit, not from the message's time.
    ALTER TABLE keys ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;
    UPDATE keys SET expires = time + 300000;
    DROP INDEX keys_time;
    CREATE INDEX keys_expires ON keys (expires);
    """

  private static let unusedRooms = """
    -- Of all jobs: when a room is deleted, SQLite looks for those that refer to it.
    DROP INDEX jobs_of_message;
    CREATE INDEX jobs_of_message ON jobs (room, seq);
    """

  private static let appleDevices = """
    ALTER TABLE devices ADD COLUMN environment TEXT;
    ALTER TABLE devices ADD COLUMN topic TEXT;
    """

  private static let updates = """
    -- What is sent beside jobs. `room` and `seq` are 0 of a badge.
    CREATE TABLE updates (
      id TEXT NOT NULL UNIQUE,
      -- Whose push is to change; NULL: it stands for itself.
      job TEXT,
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      kind TEXT NOT NULL,
      room INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      due INTEGER NOT NULL,
      lease INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      -- It has changed while it was being sent.
      is_again INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE UNIQUE INDEX updates_place ON updates (user, device, room, seq);
    CREATE INDEX updates_due ON updates (lease, due);
    -- When the device was last sent a badge alone, and when it was last woken.
    ALTER TABLE devices ADD COLUMN badged INTEGER;
    ALTER TABLE devices ADD COLUMN woken INTEGER;
    """

  private static let attempts = """
    -- A JSON array of the newest, the last one last; NULL: there was none.
    ALTER TABLE jobs ADD COLUMN attempt_log TEXT;
    """

  private static let revivals = """
    -- When a dead letter was last sent again; NULL: it was not.
    ALTER TABLE jobs ADD COLUMN revived INTEGER;
    CREATE INDEX jobs_unsent ON jobs (state) WHERE state IN ('merged', 'cancelled', 'expired', 'dead');
    """

  private static let forgotten = """
    -- The tokens that gateways refused and that were forgotten within the last hour. `app` is '' of devices that name none.
    CREATE TABLE forgotten (
      app TEXT NOT NULL,
      time INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX forgotten_app ON forgotten (app, time);
    CREATE INDEX devices_app ON devices (coalesce(app, ''));
    """

  private static let listed = """
    -- What was not sent, by state, each in the order in which it was made.
    DROP INDEX jobs_unsent;
    CREATE INDEX jobs_unsent ON jobs (state) WHERE \(unsent);
    CREATE INDEX forgotten_time ON forgotten (time);
    """

  private static let withdrawnRights = """
    -- The newest token of the user does not give the right to join the room.
    ALTER TABLE members ADD COLUMN is_withdrawn INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX members_withdrawn ON members (user) WHERE is_withdrawn;
    """

  private static let storedGrants = """
    -- The claim `rooms` of the newest token of the user; NULL when the token has none, or when no token is known.
    ALTER TABLE users ADD COLUMN grants BLOB;
    """

  private static let pictures = """
    -- The SHA-256 of the picture at `avatar`, in lower-case hexadecimal digits.
    ALTER TABLE users ADD COLUMN avatar_sha256 TEXT;
    """

  private static let receipts = """
    ALTER TABLE users ADD COLUMN handle TEXT;
    ALTER TABLE users ADD COLUMN handle_type TEXT;
    -- When the device said that the push arrived.
    ALTER TABLE jobs ADD COLUMN received INTEGER;

    -- One row: what this installation signs by, 32 random bytes.
    CREATE TABLE installation (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      secret BLOB NOT NULL
    ) STRICT;
    """

  private static let people = """
    CREATE TABLE users (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      display_name TEXT,
      avatar TEXT,
      last_seen INTEGER
    ) STRICT;

    CREATE TABLE focus (
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      is_focused INTEGER,
      authorization TEXT NOT NULL,
      at INTEGER NOT NULL,
      number INTEGER,
      source TEXT,
      heard INTEGER NOT NULL,
      PRIMARY KEY (user, device)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE devices (
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      app TEXT,
      platform TEXT NOT NULL,
      token TEXT NOT NULL,
      registered INTEGER NOT NULL,
      PRIMARY KEY (user, device)
    ) STRICT;
    CREATE UNIQUE INDEX devices_token ON devices (token, platform);
    """

  private static let messages = """
    CREATE TABLE rooms (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      epoch TEXT NOT NULL,
      seq INTEGER NOT NULL DEFAULT 0,
      cursor INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE members (
      room INTEGER NOT NULL REFERENCES rooms,
      user INTEGER NOT NULL REFERENCES users,
      read INTEGER NOT NULL,
      received INTEGER NOT NULL,
      PRIMARY KEY (room, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX members_user ON members (user);

    CREATE TABLE messages (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      sender INTEGER NOT NULL REFERENCES users,
      time INTEGER NOT NULL,
      body BLOB NOT NULL,
      PRIMARY KEY (room, seq)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE keys (
      room INTEGER NOT NULL REFERENCES rooms,
      user INTEGER NOT NULL REFERENCES users,
      key TEXT NOT NULL,
      seq INTEGER NOT NULL,
      time INTEGER NOT NULL,
      PRIMARY KEY (room, user, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX keys_time ON keys (time);
    """

  private static let jobs = """
    CREATE TABLE jobs (
      id TEXT NOT NULL PRIMARY KEY,
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      platform TEXT NOT NULL,
      token TEXT NOT NULL,
      state TEXT NOT NULL,
      -- No unfinished job of the same room and device has a lower seq.
      is_next INTEGER NOT NULL,
      due INTEGER NOT NULL,
      lease INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      created INTEGER NOT NULL,
      reasons TEXT NOT NULL,
      finished_at INTEGER,
      note TEXT
    ) STRICT;
    CREATE UNIQUE INDEX jobs_message ON jobs (user, device, room, seq);
    CREATE INDEX jobs_member ON jobs (room, user, seq) WHERE \(queued);
    CREATE INDEX jobs_due ON jobs (due, room, seq) WHERE \(open) AND is_next;
    CREATE INDEX jobs_sending ON jobs (user, device) WHERE state = 'sending';
    CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX jobs_user ON jobs (user);
    """
}
