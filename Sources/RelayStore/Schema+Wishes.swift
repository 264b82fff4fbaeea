// SPDX-License-Identifier: Apache-2.0

/// Migrations 4, 5 and "named blocks": what users want, messages that change, and pushes that are held.
extension Schema {
  static let wishes = """
    -- JSON; NULL: the user has said nothing.
    ALTER TABLE users ADD COLUMN preferences TEXT;

    CREATE TABLE blocks (
      user INTEGER NOT NULL REFERENCES users,
      other INTEGER NOT NULL REFERENCES users,
      PRIMARY KEY (user, other)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE filters (
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      is_active INTEGER NOT NULL,
      -- A JSON array of criteria.
      allow TEXT NOT NULL,
      at INTEGER NOT NULL,
      number INTEGER,
      heard INTEGER NOT NULL,
      PRIMARY KEY (user, device)
    ) STRICT, WITHOUT ROWID;

    ALTER TABLE focus ADD COLUMN since INTEGER;
    ALTER TABLE focus ADD COLUMN settles INTEGER;

    ALTER TABLE devices ADD COLUMN voip_token TEXT;
    ALTER TABLE devices ADD COLUMN criteria TEXT;
    ALTER TABLE devices ADD COLUMN allows_alerts INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE devices ADD COLUMN allows_time_sensitive INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE devices ADD COLUMN locale TEXT;
    ALTER TABLE devices ADD COLUMN time_zone TEXT;
    CREATE UNIQUE INDEX devices_voip_token ON devices (voip_token, platform) WHERE voip_token IS NOT NULL;
    """

  static let namedBlocks = """
    -- The name of the other user, who need not have a row.
    CREATE TABLE named_blocks (
      user INTEGER NOT NULL REFERENCES users,
      other TEXT NOT NULL,
      PRIMARY KEY (user, other)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO named_blocks SELECT user, users.name FROM blocks JOIN users ON users.id = other;
    DROP TABLE blocks;
    ALTER TABLE named_blocks RENAME TO blocks;
    """

  static let editedMessages = """
    -- A JSON array of names; NULL: nobody is mentioned.
    ALTER TABLE messages ADD COLUMN mentions TEXT;
    ALTER TABLE messages ADD COLUMN reply_to INTEGER;
    -- JSON as it was sent; NULL: nothing was asked.
    ALTER TABLE messages ADD COLUMN push BLOB;
    -- Nobody has it unread.
    ALTER TABLE messages ADD COLUMN is_uncounted INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE messages ADD COLUMN is_deleted INTEGER NOT NULL DEFAULT 0;
    -- The sender asked to hear how it went.
    ALTER TABLE messages ADD COLUMN reports INTEGER NOT NULL DEFAULT 0;
    -- What is unread is counted without reading bodies.
    CREATE INDEX messages_uncounted ON messages (room, seq) WHERE is_uncounted;
    CREATE INDEX messages_mentions ON messages (room, seq, mentions) WHERE mentions IS NOT NULL AND NOT is_uncounted;

    -- Whom the reply to a send named, for as long as its sender may notify them anyway.
    CREATE TABLE quiet (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      sender INTEGER NOT NULL REFERENCES users,
      -- Of the message.
      time INTEGER NOT NULL,
      notified INTEGER,
      PRIMARY KEY (room, seq, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX quiet_time ON quiet (time);
    CREATE INDEX quiet_notified ON quiet (sender, user, notified) WHERE notified IS NOT NULL;
    """

  static let heldJobs = """
    -- 1: a Notify Anyway for a message whose first push had left.
    ALTER TABLE jobs ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN is_notify_anyway INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN level TEXT;
    -- JSON: the decision and its facts. Older rows have reasons alone.
    ALTER TABLE jobs ADD COLUMN explanation TEXT;
    -- The job whose push tells of this one's message.
    ALTER TABLE jobs ADD COLUMN merged_into TEXT CHECK (state <> 'merged' OR merged_into IS NOT NULL);
    -- Of a job that others are merged into: JSON, what its push told at the last attempt.
    ALTER TABLE jobs ADD COLUMN digest TEXT;
    -- The message whose push this one replaces on a phone; NULL: that of its own message. No reference, because SQLite
    -- would look through all jobs when a room is deleted; this one has messages, so it never is.
    ALTER TABLE jobs ADD COLUMN collapse_room INTEGER;
    ALTER TABLE jobs ADD COLUMN collapse_seq INTEGER;

    DROP INDEX jobs_message;
    CREATE UNIQUE INDEX jobs_message ON jobs (user, device, room, seq, round);
    DROP INDEX jobs_member;
    CREATE INDEX jobs_member ON jobs (user, room, seq, round) WHERE \(queued);
    CREATE INDEX jobs_aside ON jobs (user, room, seq) WHERE \(aside);
    CREATE INDEX jobs_held ON jobs (due, user) WHERE state = 'held';
    CREATE INDEX jobs_merged ON jobs (merged_into) WHERE merged_into IS NOT NULL;
    """

  static let changes = """
    -- When something last changed that pushes to the user are decided by; NULL: never.
    ALTER TABLE users ADD COLUMN changed INTEGER;
    -- Of the message; NULL in older rows.
    ALTER TABLE jobs ADD COLUMN expires INTEGER;
    """
}
