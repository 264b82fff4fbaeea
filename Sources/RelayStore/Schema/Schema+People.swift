// SPDX-License-Identifier: Apache-2.0

/// The tables of users, their devices, and what users and devices report and prefer. Times are milliseconds since 1970.
extension Schema {
  static let people = """
    CREATE TABLE users (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      display_name TEXT,
      avatar TEXT,
      -- The SHA-256 of the picture at `avatar`, in lower-case hexadecimal digits.
      avatar_sha256 TEXT,
      handle TEXT,
      handle_type TEXT,
      last_seen INTEGER,
      -- The activity of a user who is online; NULL: the user is offline. After a start, an older value shows that the
      -- user was online when the earlier run ended.
      activity TEXT,
      -- The time of the last change of anything that the relay decides the user's pushes by, by the stepless clock
      -- (`AgingClock.totalSteps`); NULL: none yet.
      changed INTEGER,
      -- JSON; NULL: the defaults.
      preferences TEXT,
      -- The claim `rooms` of the user's newest token; NULL when the token has none, or when no token is known.
      grants BLOB,
      -- JSON, see `UserStatus`; NULL: none. A status that has ended stays here until the next one.
      status TEXT,
      -- The position in the inbox of the newest end of a membership.
      departed INTEGER NOT NULL DEFAULT 0,
      -- 1: the row exists only because a ban names the user. The first use of the name makes it 0.
      is_only_named INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX users_online ON users (id, activity) WHERE activity IS NOT NULL;

    CREATE TABLE blocks (
      user INTEGER NOT NULL REFERENCES users,
      -- The name of the blocked user, who need not have a row.
      other TEXT NOT NULL,
      PRIMARY KEY (user, other)
    ) STRICT, WITHOUT ROWID;

    -- The restrictions of users.
    CREATE TABLE access (
      -- The name of the user, who need not have a row.
      user TEXT PRIMARY KEY,
      is_suspended INTEGER NOT NULL,
      -- NULL: the suspension has no end.
      until INTEGER,
      reason TEXT,
      -- Tokens that were issued before this time are revoked; NULL: none.
      not_before INTEGER
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE focus (
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      is_focused INTEGER,
      authorization TEXT NOT NULL,
      at INTEGER NOT NULL,
      number INTEGER,
      source TEXT,
      received INTEGER NOT NULL,
      since INTEGER,
      settles INTEGER,
      -- See `FocusRecord.steps`; milliseconds.
      steps INTEGER NOT NULL,
      PRIMARY KEY (user, device)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE filters (
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      is_active INTEGER NOT NULL,
      -- A JSON array of criteria.
      allow TEXT NOT NULL,
      at INTEGER NOT NULL,
      number INTEGER,
      received INTEGER NOT NULL,
      -- See `FocusRecord.steps`; milliseconds.
      steps INTEGER NOT NULL,
      PRIMARY KEY (user, device)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE devices (
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      app TEXT,
      platform TEXT NOT NULL,
      token TEXT NOT NULL,
      voip_token TEXT,
      environment TEXT,
      topic TEXT,
      registered INTEGER NOT NULL,
      -- The sum of the steps of the wall clock at `registered`, see `AgingClock.totalSteps`; milliseconds.
      steps INTEGER NOT NULL,
      criteria TEXT,
      allows_alerts INTEGER NOT NULL,
      allows_time_sensitive INTEGER NOT NULL,
      locale TEXT,
      time_zone TEXT,
      -- What the phone shows. These columns are equal for all accounts of the phone. The times are those of the
      -- stepless clock (`AgingClock.totalSteps`).
      -- The badge; NULL: unknown.
      badge INTEGER,
      -- The time of the newest push that only set the badge.
      badged INTEGER,
      -- The time of the newest push that woke the app.
      woken INTEGER,
      -- The job of the newest alert, and the time until which the service may keep it.
      alert_job TEXT,
      alert_kept INTEGER,
      PRIMARY KEY (user, device)
    ) STRICT;
    -- A token belongs to at most one device of each of `Device.maxAccounts` users.
    CREATE INDEX devices_token ON devices (token, platform);
    CREATE INDEX devices_voip_token ON devices (voip_token, platform) WHERE voip_token IS NOT NULL;
    CREATE INDEX devices_app ON devices (coalesce(app, ''));

    -- The time zones that quiet hours and devices have named.
    CREATE TABLE time_zones (
      name TEXT PRIMARY KEY,
      -- The newest zone file of the system.
      file BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- One row for each token that the relay forgot within the last hour because a gateway refused it.
    CREATE TABLE forgotten (
      id INTEGER PRIMARY KEY,
      -- '' for a token of devices that name no app.
      app TEXT NOT NULL,
      time INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX forgotten_app ON forgotten (app, time);
    CREATE INDEX forgotten_time ON forgotten (time);

    -- The keys with which an app's extensions authenticate.
    CREATE TABLE report_keys (
      -- Increases with each key, so that the oldest key of a device is known.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- SHA-256 of the key. The key itself is not stored.
      hash BLOB NOT NULL UNIQUE,
      user INTEGER NOT NULL,
      device TEXT NOT NULL,
      -- A key is revoked together with its device.
      FOREIGN KEY (user, device) REFERENCES devices ON DELETE CASCADE
    ) STRICT;
    CREATE INDEX report_keys_device ON report_keys (user, device, id);
    """
}
