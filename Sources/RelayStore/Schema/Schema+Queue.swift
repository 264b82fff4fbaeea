// SPDX-License-Identifier: Apache-2.0

/// The tables of the push queue. Times are milliseconds since 1970.
extension Schema {
  /// A queued job: the push of a message, to be sent in the order of its room. Queries must repeat this condition and
  /// the following ones word for word. Otherwise SQLite does not use the partial indexes.
  static let queued = "kind = 'push' AND state IN ('ready', 'retrying', 'sending')"
  /// A job that may be claimed, of any kind.
  static let open = "state IN ('ready', 'retrying')"
  /// An unfinished job that no other job waits for.
  static let aside = "state IN ('waiting', 'held', 'merged') AND finished_at IS NULL"
  /// The push of a message that was not sent, or not sent yet.
  static let unsent = "kind = 'push' AND state <> 'sent'"
  /// A job that updates a phone, see ``UpdateQueue``.
  static let updates = "kind <> 'push'"
  /// An update whose text a silence holds.
  static let silenced = "\(updates) AND is_late"
  /// An unfinished job of any kind.
  static let unfinished = "finished_at IS NULL"

  /// A condition on a row of `messages`: an unfinished push or a dead letter needs the message, or users may still
  /// answer a push by the actions of its category.
  static func isNeeded(_ message: String) -> String {
    """
    EXISTS (
      SELECT 1 FROM jobs INDEXED BY jobs_of_message
      WHERE jobs.kind = 'push' AND jobs.room = \(message).room AND jobs.seq = \(message).seq
        AND (jobs.\(unfinished) OR jobs.state = 'dead' OR \(message).push_category IS NOT NULL))
    """
  }

  static let queue = """
    CREATE TABLE jobs (
      -- Increases with each job: the order in which the jobs were made.
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      -- 'push': the push of a message. Any other kind: see `UpdateKind`.
      kind TEXT NOT NULL DEFAULT 'push',
      -- The job whose notification this one plans again; NULL: none.
      target TEXT,
      -- An update that changed while it was being sent. It is sent again.
      is_again INTEGER NOT NULL DEFAULT 0,
      -- `room` and `seq` are 0 for the update of a device. No reference, because SQLite would search all jobs when a room is deleted.
      room INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      -- 1: a Notify Anyway for a message whose first push had left. 2: an update.
      round INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      platform TEXT NOT NULL,
      token TEXT NOT NULL,
      -- See `Lane`; '' for a job that was cancelled at once because its device is not registered.
      lane TEXT NOT NULL,
      -- See `JobState`.
      state TEXT NOT NULL,
      -- No unfinished push of the same room and device has a lower seq. Always 1 for an update, which waits for no other
      -- job.
      is_next INTEGER NOT NULL,
      due INTEGER NOT NULL,
      lease INTEGER,
      attempts INTEGER NOT NULL DEFAULT 0,
      created INTEGER NOT NULL,
      -- The sum of the steps of the wall clock at `created`, see `AgingClock.totalSteps`; milliseconds. `created` and
      -- `expires` minus `steps` are times of the stepless clock.
      steps INTEGER NOT NULL DEFAULT 0,
      -- The first moment at which the message is not pushed any more; NULL: never.
      expires INTEGER,
      -- A push: it could not go out at once. An update: a silence holds its text.
      is_late INTEGER NOT NULL DEFAULT 0,
      -- Its push may have reached the phone: the answer was lost.
      is_unknown INTEGER NOT NULL DEFAULT 0,
      is_notify_anyway INTEGER NOT NULL,
      level TEXT,
      -- The digest head: the job whose push contains this one's message.
      merged_into TEXT CHECK (state <> 'merged' OR merged_into IS NOT NULL),
      -- JSON: the contents of a digest's push at the last attempt; NULL: the job is not a digest head.
      digest TEXT,
      -- The message whose push this one replaces on a phone; NULL: that of its own message. No reference, because SQLite
      -- would search all jobs when a room is deleted. The room may be deleted first.
      collapse_room INTEGER,
      collapse_seq INTEGER,
      finished_at INTEGER,
      note TEXT,
      -- The time at which the device reported the push.
      received INTEGER,
      -- See `EntryState`; NULL: `shown` if the job was sent, otherwise `unsent`.
      phone TEXT,
      -- The badge of the last attempt; NULL: the push leaves the badge as it is.
      badge INTEGER,
      -- The time at which a dead letter was last sent again; NULL: never.
      revived INTEGER,
      -- A JSON array of reason codes.
      reasons TEXT NOT NULL,
      -- A JSON array of the newest attempts, the last one last; NULL: none.
      attempt_log TEXT,
      -- JSON: the decision and its facts.
      explanation TEXT
    ) STRICT;
    CREATE UNIQUE INDEX jobs_message ON jobs (user, device, room, seq, round);
    CREATE INDEX jobs_member ON jobs (user, room, seq, round) WHERE \(queued);
    CREATE INDEX jobs_aside ON jobs (user, room, seq) WHERE \(aside);
    CREATE INDEX jobs_due ON jobs (lane, due, room, seq) WHERE \(open) AND is_next;
    CREATE INDEX jobs_waiting ON jobs (due) WHERE state = 'waiting';
    CREATE INDEX jobs_held ON jobs (due, user) WHERE state = 'held';
    CREATE INDEX jobs_merged ON jobs (merged_into) WHERE merged_into IS NOT NULL;
    CREATE INDEX jobs_sending ON jobs (user, device) WHERE state = 'sending';
    CREATE INDEX jobs_unsent ON jobs (state) WHERE \(unsent);
    CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX jobs_user ON jobs (user) WHERE kind = 'push';
    CREATE INDEX jobs_of_message ON jobs (room, seq) WHERE kind = 'push';
    CREATE INDEX jobs_updates ON jobs (user, device, kind) WHERE \(updates);
    """

  static let changes = """
    -- Changes of messages with phones that may show the message and have no update for it yet.
    CREATE TABLE pending_changes (
      -- The order in which they were made.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      -- No reference, because a message may end first. Then there is nothing left to change.
      room INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      -- The last device that has its update.
      user INTEGER NOT NULL,
      device TEXT NOT NULL,
      UNIQUE (room, seq)
    ) STRICT;

    -- The notifications that a phone must remove, until it has confirmed that.
    CREATE TABLE removals (
      -- Increases with each removal: the order in which they were stored.
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      user INTEGER NOT NULL REFERENCES users,
      device TEXT NOT NULL,
      -- 1: the user has read the room up to `seq`. 0: the notification of this message.
      is_read INTEGER NOT NULL,
      -- The name of the room, because the room may be deleted.
      room TEXT NOT NULL,
      seq INTEGER NOT NULL,
      -- See `RemovalState`.
      state TEXT NOT NULL,
      created INTEGER NOT NULL,
      UNIQUE (user, device, is_read, room, seq)
    ) STRICT;
    CREATE INDEX removals_created ON removals (created);
    """
}
