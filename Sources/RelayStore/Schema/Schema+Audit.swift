// SPDX-License-Identifier: Apache-2.0

/// The tables of the audit log. Times are milliseconds since 1970.
extension Schema {
  static let audit = """
    -- The actions of backends, see `AuditEntry`. The rows refer to no other table: a deleted room stays in the log, and
    -- a failed request may name rooms and users that do not exist.
    CREATE TABLE audit (
      -- Increases with each entry. No id is used twice: clients continue after the newest entry that they have.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      time INTEGER NOT NULL,
      -- The name of the API key.
      key TEXT NOT NULL,
      operation TEXT NOT NULL,
      room TEXT,
      target TEXT,
      -- The code of the error; NULL: the request has succeeded.
      error TEXT,
      -- The idempotency key.
      request TEXT,
      address TEXT,
      skipped INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX audit_time ON audit (time);
    CREATE INDEX audit_key ON audit (key);
    CREATE INDEX audit_operation ON audit (operation);
    CREATE INDEX audit_room ON audit (room) WHERE room IS NOT NULL;

    -- The users that a request named.
    CREATE TABLE audit_users (
      user TEXT NOT NULL,
      entry INTEGER NOT NULL REFERENCES audit,
      PRIMARY KEY (user, entry)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX audit_users_entry ON audit_users (entry);
    """
}
