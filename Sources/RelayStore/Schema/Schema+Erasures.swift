// SPDX-License-Identifier: Apache-2.0

/// The table of erasures.
extension Schema {
  static let erasures = """
    -- The erasures of users, see `ErasureWriter`. A finished one does not have the name, and is kept for a time.
    CREATE TABLE erasures (
      id TEXT PRIMARY KEY,
      -- The row of the erased user, whose name is the pseudonym.
      user INTEGER NOT NULL REFERENCES users,
      -- The erased name; NULL: no other row has it any more.
      name TEXT,
      pseudonym TEXT NOT NULL,
      -- See `MessageErasure`.
      messages TEXT NOT NULL,
      -- See `ErasureStep`.
      step TEXT NOT NULL,
      -- The keys of the last row that the step has looked at.
      first INTEGER NOT NULL DEFAULT 0,
      second INTEGER NOT NULL DEFAULT 0,
      -- The numbers of memberships that were ended, and of messages that were changed.
      left_rooms INTEGER NOT NULL DEFAULT 0,
      changed_messages INTEGER NOT NULL DEFAULT 0,
      started INTEGER NOT NULL,
      finished INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX erasures_named ON erasures (name) WHERE name IS NOT NULL;
    CREATE INDEX erasures_open ON erasures (started, id) WHERE finished IS NULL;
    CREATE INDEX erasures_finished ON erasures (finished) WHERE finished IS NOT NULL;
    """
}
