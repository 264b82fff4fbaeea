// SPDX-License-Identifier: Apache-2.0

/// Migrations 13 and 15: what people can do with notifications, and what they did.
extension Schema {
  static let responses = """
    -- One row: the registry.
    CREATE TABLE categories (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      version INTEGER NOT NULL,
      -- A JSON array.
      categories BLOB NOT NULL
    ) STRICT;

    CREATE TABLE responses (
      -- In the order in which they came; none is given twice.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- The job whose push was answered.
      notification TEXT NOT NULL,
      -- Its message. No reference, because SQLite would look through all when a room is deleted; this one has messages,
      -- so it never is.
      room INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      sender INTEGER NOT NULL REFERENCES users,
      action TEXT NOT NULL,
      text TEXT,
      key TEXT,
      -- The seq of the message that its text became.
      posted INTEGER,
      time INTEGER NOT NULL,
      -- The sender has had it, or is not to.
      is_told INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX responses_message ON responses (room, seq, user, action);
    CREATE INDEX responses_untold ON responses (sender, id) WHERE NOT is_told;
    CREATE INDEX responses_time ON responses (is_told, time);
    """

  static let postedResponses = """
    -- The text of a response: who sent it may have unread what came before it.
    ALTER TABLE messages ADD COLUMN is_response INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX messages_responses ON messages (room, sender, seq) WHERE is_response AND NOT is_uncounted;
    """
}
