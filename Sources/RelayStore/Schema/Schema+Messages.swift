// SPDX-License-Identifier: Apache-2.0

/// The tables of rooms, members and messages. Times are milliseconds since 1970.
extension Schema {
  static let rooms = """
    CREATE TABLE rooms (
      -- No id is used twice: jobs and responses name a room without a reference, and may outlive it.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL UNIQUE,
      epoch TEXT NOT NULL,
      -- The newest message; 0: there is none yet.
      seq INTEGER NOT NULL DEFAULT 0,
      -- Every message up to this one has a final decision or a job for each member.
      cursor INTEGER NOT NULL DEFAULT 0,
      -- The oldest message of the history. An older message is stored only while a push needs it.
      first INTEGER NOT NULL DEFAULT 1,
      -- The newest change of a message; 0: there is none yet.
      change INTEGER NOT NULL DEFAULT 0,
      -- The newest change of the messages that the store has deleted. A client without this change cannot recover.
      forgotten INTEGER NOT NULL DEFAULT 0,
      -- 1: pushes show the room as a group. It was created as a group, or has had a title or a third member. It stays
      -- one, so that its notifications keep their look.
      is_group INTEGER NOT NULL DEFAULT 0
    ) STRICT;

    CREATE TABLE members (
      room INTEGER NOT NULL REFERENCES rooms,
      user INTEGER NOT NULL REFERENCES users,
      read INTEGER NOT NULL,
      received INTEGER NOT NULL,
      -- The newest token of the user does not give the right to join the room.
      is_withdrawn INTEGER NOT NULL DEFAULT 0,
      -- See `RoomRole`.
      role INTEGER NOT NULL DEFAULT 0,
      -- The begin of the membership.
      joined INTEGER NOT NULL DEFAULT 0,
      -- The position in the inbox of the begin of the membership. It orders the members of a room.
      added INTEGER NOT NULL DEFAULT 0,
      -- The position in the inbox of the newest change for this member alone: the begin of the membership or a read
      -- mark.
      changed INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (room, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX members_user ON members (user);
    CREATE INDEX members_withdrawn ON members (user) WHERE is_withdrawn;
    CREATE INDEX members_role ON members (room, role) WHERE role > 0;

    -- The record of a room, see `RoomDetails`. The columns are rarely read, so `rooms` does not have them. A room that
    -- its first join created has no row until a moderator changes its title.
    CREATE TABLE details (
      room INTEGER PRIMARY KEY REFERENCES rooms,
      kind TEXT NOT NULL,
      join_rule TEXT NOT NULL,
      title TEXT,
      avatar TEXT,
      -- A JSON object.
      metadata BLOB,
      -- Only moderators and owners send.
      read_only INTEGER NOT NULL DEFAULT 0,
      version INTEGER NOT NULL,
      created INTEGER NOT NULL,
      -- The room always has an owner while it has members: somebody created it with `create`.
      is_owned INTEGER NOT NULL
    ) STRICT;

    -- The direct room of two users, by their names: a user who was only invited need not have a row. `low` is the name
    -- that sorts first.
    CREATE TABLE directs (
      low TEXT NOT NULL,
      high TEXT NOT NULL,
      room INTEGER NOT NULL UNIQUE REFERENCES rooms,
      -- Both were members at the same time, so each sees the profile of the other.
      have_met INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (low, high)
    ) STRICT, WITHOUT ROWID;

    -- Users who cannot join a room.
    CREATE TABLE bans (
      room INTEGER NOT NULL REFERENCES rooms,
      user INTEGER NOT NULL REFERENCES users,
      -- NULL: the ban has no end.
      until INTEGER,
      PRIMARY KEY (room, user)
    ) STRICT, WITHOUT ROWID;

    -- Users who cannot send to a room for a time. They may have left the room: a new membership ends no restriction.
    CREATE TABLE restrictions (
      room INTEGER NOT NULL REFERENCES rooms,
      user INTEGER NOT NULL REFERENCES users,
      until INTEGER NOT NULL,
      PRIMARY KEY (room, user)
    ) STRICT, WITHOUT ROWID;

    -- Idempotency keys of `create`.
    CREATE TABLE creations (
      user INTEGER NOT NULL REFERENCES users,
      key TEXT NOT NULL,
      -- No reference, because the room may be deleted first.
      room INTEGER NOT NULL,
      -- As in `keys`.
      expires INTEGER NOT NULL,
      PRIMARY KEY (user, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX creations_expires ON creations (expires);
    """

  static let invitations = """
    -- Offers of a membership by other users, see `Invitation`.
    CREATE TABLE invitations (
      -- Increases with each invitation: the order of the lists.
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      room INTEGER NOT NULL REFERENCES rooms,
      -- The name of the invited user, who need not have a row.
      user TEXT NOT NULL,
      inviter INTEGER NOT NULL REFERENCES users,
      time INTEGER NOT NULL,
      -- The newest message of the room at this time. The user has read the messages up to this one when the membership
      -- begins.
      seq INTEGER NOT NULL,
      -- 1: the user has blocked the inviter, and sees nothing of the invitation.
      is_hidden INTEGER NOT NULL,
      -- The end by the stepless clock (`AgingClock.sum`), because the user has no row; NULL: the user has one.
      expires INTEGER,
      -- 1: the relay has not decided the push yet.
      is_undecided INTEGER NOT NULL,
      -- The seq of the push in the room of the user's notifications; NULL: there is none.
      push INTEGER,
      -- A hidden invitation may have a later one beside it that the user sees. The inviters see the first of both.
      UNIQUE (room, user, is_hidden)
    ) STRICT;
    CREATE INDEX invitations_user ON invitations (user, is_hidden, id);
    CREATE INDEX invitations_inviter ON invitations (inviter, id);
    CREATE INDEX invitations_expires ON invitations (expires) WHERE expires IS NOT NULL;
    CREATE INDEX invitations_undecided ON invitations (id) WHERE is_undecided;
    """

  static let messages = """
    CREATE TABLE messages (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      sender INTEGER NOT NULL REFERENCES users,
      time INTEGER NOT NULL,
      reply_to INTEGER,
      -- The message never counts as unread.
      is_uncounted INTEGER NOT NULL DEFAULT 0,
      is_deleted INTEGER NOT NULL DEFAULT 0,
      -- The sender wants delivery reports.
      reports INTEGER NOT NULL DEFAULT 0,
      -- The text of a response: its sender may have unread messages before it.
      is_response INTEGER NOT NULL DEFAULT 0,
      -- The newest seq of the room when the message was last edited or deleted; NULL: never.
      changed INTEGER,
      -- The number of the newest change of the message; NULL: the message has never changed.
      change INTEGER,
      -- The time of the last edit or of the deletion.
      changed_time INTEGER,
      -- The user who deleted the message of another user.
      moderator INTEGER REFERENCES users,
      -- A JSON array of names; NULL: the message mentions no user.
      mentions TEXT,
      -- The push that the sender requests, see `PushRequest`. NULL in each column: the default.
      push_kind TEXT,
      push_category TEXT,
      push_collapse TEXT,
      -- The rest of the request as JSON. SQL does not read it.
      push BLOB,
      -- The last column, because SQLite stores a long row in a chain of pages.
      body BLOB NOT NULL,
      PRIMARY KEY (room, seq)
    ) STRICT, WITHOUT ROWID;
    -- The relay counts unread messages without reading bodies.
    CREATE INDEX messages_uncounted ON messages (room, seq) WHERE is_uncounted;
    CREATE INDEX messages_mentions ON messages (room, seq, mentions) WHERE mentions IS NOT NULL AND NOT is_uncounted;
    CREATE INDEX messages_responses ON messages (room, sender, seq) WHERE is_response AND NOT is_uncounted;
    CREATE INDEX messages_changed ON messages (room, changed) WHERE changed IS NOT NULL;
    CREATE INDEX messages_change ON messages (room, change) WHERE change IS NOT NULL;

    -- The newest change of each kind that concerns a message and not its body. The row stays after the end of the
    -- annotation, so that clients recover this change, too.
    CREATE TABLE annotations (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      -- See `Annotation.Kind`.
      kind TEXT NOT NULL,
      -- The newest seq of the room at the time of the change.
      changed INTEGER NOT NULL,
      -- The number of the change in the room.
      change INTEGER NOT NULL,
      changed_time INTEGER NOT NULL,
      -- JSON as messages and events have it; NULL: the annotation has ended.
      value BLOB,
      PRIMARY KEY (room, seq, kind)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX annotations_changed ON annotations (room, changed);
    CREATE INDEX annotations_change ON annotations (room, change);
    CREATE INDEX annotations_pinned ON annotations (room, change, seq) WHERE kind = 'pinned' AND value IS NOT NULL;

    CREATE TABLE reactions (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      key TEXT NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      -- The number of the change in the room. It orders the reactions of a message.
      change INTEGER NOT NULL,
      PRIMARY KEY (room, seq, key, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX reactions_user ON reactions (user);

    -- Messages that users have reported to the moderators.
    CREATE TABLE message_reports (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      room INTEGER NOT NULL REFERENCES rooms,
      -- No reference, because the history may lose the message first.
      seq INTEGER NOT NULL,
      -- The user who reported the message.
      user INTEGER NOT NULL REFERENCES users,
      -- The sender of the message.
      author INTEGER NOT NULL REFERENCES users,
      reason TEXT NOT NULL,
      time INTEGER NOT NULL,
      -- The time by the clock for keys (`AgingClock.keyOffset`): the rate of the user counts by it.
      steady INTEGER NOT NULL,
      -- See `MessageReport.State`.
      state TEXT NOT NULL,
      -- The user who ended the report, and the time. NULL: the report is open; `closer` also for a backend.
      closer INTEGER REFERENCES users,
      closed INTEGER,
      UNIQUE (room, seq, user)
    ) STRICT;
    CREATE INDEX message_reports_room ON message_reports (room, id);
    CREATE INDEX message_reports_state ON message_reports (state, id);
    CREATE INDEX message_reports_room_state ON message_reports (room, state, id);
    CREATE INDEX message_reports_user ON message_reports (user, id);
    CREATE INDEX message_reports_author ON message_reports (author);
    CREATE INDEX message_reports_closed ON message_reports (closed) WHERE closed IS NOT NULL;

    -- Idempotency keys.
    CREATE TABLE keys (
      room INTEGER NOT NULL REFERENCES rooms,
      user INTEGER NOT NULL REFERENCES users,
      key TEXT NOT NULL,
      seq INTEGER NOT NULL,
      time INTEGER NOT NULL,
      -- Counted from the commit, by the clock for keys (`AgingClock.keyOffset`).
      expires INTEGER NOT NULL,
      PRIMARY KEY (room, user, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX keys_expires ON keys (expires);

    -- The users that the reply to a `send` named as silenced, while the sender may still notify them.
    CREATE TABLE silenced (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      sender INTEGER NOT NULL REFERENCES users,
      -- The time at which the message was stored, and the time of the Notify Anyway, by the clock for keys
      -- (`AgingClock.keyOffset`).
      time INTEGER NOT NULL,
      notified INTEGER,
      PRIMARY KEY (room, seq, user)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX silenced_time ON silenced (time);
    CREATE INDEX silenced_notified ON silenced (sender, user, notified) WHERE notified IS NOT NULL;
    """
}
