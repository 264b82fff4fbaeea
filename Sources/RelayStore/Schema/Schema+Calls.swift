// SPDX-License-Identifier: Apache-2.0

/// The tables of calls. Times are milliseconds since 1970.
extension Schema {
  static let calls = """
    -- A call, see `Call`. The message that rings has the same room and seq. It may be deleted first.
    CREATE TABLE calls (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      caller INTEGER NOT NULL REFERENCES users,
      media TEXT NOT NULL,
      began INTEGER NOT NULL,
      ring_until INTEGER NOT NULL,
      state TEXT NOT NULL,
      -- The end of the ringing, or of the longest call; NULL: the call is over.
      due INTEGER,
      -- NULL: the call is not over.
      ended INTEGER,
      PRIMARY KEY (room, seq)
    ) STRICT, WITHOUT ROWID;
    -- A room has at most one ringing call.
    CREATE UNIQUE INDEX calls_ringing ON calls (room) WHERE state = 'ringing';
    CREATE INDEX calls_open ON calls (room, ring_until) WHERE due IS NOT NULL;
    CREATE INDEX calls_due ON calls (due) WHERE due IS NOT NULL;
    CREATE INDEX calls_ended ON calls (ended) WHERE ended IS NOT NULL;

    -- The users who have answered or declined a call, or have left it.
    CREATE TABLE call_parties (
      room INTEGER NOT NULL REFERENCES rooms,
      seq INTEGER NOT NULL,
      user INTEGER NOT NULL REFERENCES users,
      state TEXT NOT NULL,
      device TEXT,
      -- The number of times that the user has answered.
      answers INTEGER NOT NULL DEFAULT 0,
      -- 1: the user has answered with a session, and not over HTTP.
      has_session INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (room, seq, user)
    ) STRICT, WITHOUT ROWID;
    """
}
