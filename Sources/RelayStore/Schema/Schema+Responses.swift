// SPDX-License-Identifier: Apache-2.0

/// The tables of categories, which define the actions of notifications, and of the users' responses.
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
      -- Increases with each response. No id is used twice.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- The job whose push the user answered.
      notification TEXT NOT NULL,
      -- Its message. No reference, because SQLite would search all responses when a room is deleted.
      room INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      -- The sender of the message.
      sender INTEGER NOT NULL REFERENCES users,
      action TEXT NOT NULL,
      text TEXT,
      -- An idempotency key.
      key TEXT,
      -- The seq of the message that the text became.
      posted INTEGER,
      time INTEGER NOT NULL,
      -- The sender has received it, or must not receive it.
      is_told INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX responses_message ON responses (room, seq, user, action);
    CREATE INDEX responses_untold ON responses (sender, id) WHERE NOT is_told;
    CREATE INDEX responses_time ON responses (is_told, time);
    """
}
