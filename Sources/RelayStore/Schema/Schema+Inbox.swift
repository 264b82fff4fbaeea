// SPDX-License-Identifier: Apache-2.0

/// The tables of the users' lists of rooms.
///
/// A position is a number that the store gives to each change that a list shows. Positions increase with the order of
/// the commits, and no position is used twice.
extension Schema {
  static let inbox = """
    -- The activity of a room. The list of a user who has many rooms reads a row for each of them, so the rows are short,
    -- and a new message changes one of them. The room of a user's notifications has none, and a deleted room loses it.
    CREATE TABLE activity (
      room INTEGER PRIMARY KEY REFERENCES rooms,
      -- The position of the newest message; before the first one, of the creation.
      position INTEGER NOT NULL,
      -- The position of the newest change for all members: a message, an edit, or a new title.
      changed INTEGER NOT NULL,
      -- The number of members.
      members INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    -- Covers the walk over the newest rooms, so that it reads no rows. In return, a join or a leave changes the index.
    CREATE INDEX activity_position ON activity (position, members);
    -- The rooms whose newest change is no message, so that a message does not change this index.
    CREATE INDEX activity_edited ON activity (changed) WHERE changed <> position;
    CREATE INDEX members_changed ON members (user, changed);

    -- One row.
    CREATE TABLE inbox (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      -- Identifies one unbroken numbering. A restored backup begins a new one.
      epoch TEXT NOT NULL,
      -- The newest position.
      newest INTEGER NOT NULL
    ) STRICT;
    INSERT INTO inbox (id, epoch, newest) VALUES (1, '0', 0);
    """
}
