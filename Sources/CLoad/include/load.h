// SPDX-License-Identifier: Apache-2.0
/* load.h -- a load generator: many sessions of a relay on one thread.
 *
 * A load opens sessions, publishes messages through some of them, and checks the messages that each
 * session gets: each message of its room once, in order, with an unchanged body. It parses frames only
 * as far as these checks need, so that its thread can keep more than one thread of a relay busy.
 *
 * THREADS   A load belongs to the thread that calls it.
 * MEMORY    Texts are copied. The memory of a session is bounded: it may hold one incomplete frame
 *           (16 MiB) and the bytes that the relay has not read (1 MiB).
 * TIME      load_run() does the work; the other functions configure it. Times are nanoseconds of
 *           CLOCK_MONOTONIC. A latency begins at the time at which a message was intended to be sent,
 *           even if it was sent later, so that a relay that stalls does not hide its delay.
 */
#ifndef LOAD_H
#define LOAD_H

#include "load_baseline.h"
#include "load_floor.h"
#include "load_histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct load load_t;

/* Resolves the host and connects once, to find the address that accepts connections. On failure it
 * returns NULL and writes a message to `why`. */
load_t *load_create(const char *host, uint16_t port, char *why, size_t why_size);
void load_destroy(load_t *load);
/* True if the relay runs on this machine. */
bool load_is_local(const load_t *load);

/* Adds a room and returns its number; the first is 0. `name` must be a valid room name, so that it
 * needs no escapes in JSON. */
uint32_t load_room(load_t *load, const char *name);

enum { LOAD_NO_ROOM = UINT32_MAX };

/* Adds a session and returns its number; the first is 0. `hello` is its first frame. Add all sessions
 * before you open the first. */
uint32_t load_session(load_t *load, const char *hello, uint32_t room);

/* Opens sessions that are closed, `rate` a second (0: without a pause), and joins their rooms. A session
 * that has joined before joins with its last position, and the recovered messages are checked. */
void load_open(load_t *load, uint32_t first, uint32_t count, double rate);
/* Ends connections without a close frame, as a lost network does. */
void load_cut(load_t *load, uint32_t first, uint32_t count);
/* Closes sessions with code 1000 and opens closed ones, in turn, `rate` of these changes a second;
 * 0: stops. */
void load_flap(load_t *load, uint32_t first, uint32_t count, double rate);

/* The publishers, and the size and rate of their messages. Either `rate` or `window` is not 0. */
typedef struct {
  uint32_t first, count; /* sessions, which publish in turn */
  size_t body;           /* bytes of a body, at least LOAD_MIN_BODY */
  double rate;           /* messages a second of all sessions, even if the relay is slower (an open loop) */
  uint32_t window;   /* messages in flight of all sessions (a closed loop); with `acknowledged`, of each */
  bool acknowledged; /* the latency ends with the reply; otherwise with each delivery */
} load_publish_t;

enum { LOAD_MIN_BODY = 37, LOAD_MAX_WINDOW = 65536, LOAD_MAX_UNFINISHED = 64 };

/* Begins to publish; NULL stops. */
void load_publish(load_t *load, const load_publish_t *publish);

/* Focus reports of users over HTTP. The user with number N has the name `users` followed by N, and the
 * session with this number if there is one. */
typedef struct {
  const char *users;
  const char *fields; /* further header fields, each with its line end */
  uint32_t first,
      count; /* users, who report in turn: a user reports again after all events about the last report */
  uint32_t connections; /* kept ones, with at most one report each that has no answer */
  double rate; /* reports a second, even if the relay is slower (an open loop); 0: one after the other,
                  each after the answer and the events of the last one */
} load_reports_t;

/* Connects and begins to report; NULL stops. Each report changes the Focus of its user. It is published when
 * it is sent, acknowledged with the answer, and delivered when another session of the room receives the
 * event. */
void load_report(load_t *load, const load_reports_t *reports);

/* Begins or ends the recording of latencies. A message or report counts if its intended send time is between
 * begin and end. Each begin clears the earlier latencies. */
void load_measure(load_t *load, bool is_on);

typedef enum {
  LOAD_TIME,    /* the time is over */
  LOAD_OPENED,  /* each session that was opened has joined its room or failed, and no close is in progress */
  LOAD_SETTLED, /* all messages and reports are delivered and acknowledged */
  LOAD_CALM     /* no frame was received for 300 ms */
} load_until_t;

/* Runs until the condition is true, for at most `seconds`, or until the relay has ended the last session.
 * Returns true if the condition is true, and always true for LOAD_TIME. */
bool load_run(load_t *load, load_until_t until, double seconds);

/* Numbers since the load was created. */
typedef struct {
  uint64_t open;         /* sessions that are in their room now */
  uint64_t failed;       /* connects, handshakes, hellos and joins that were refused or lost */
  uint64_t closed;       /* sessions that the relay ended */
  uint64_t published;    /* messages sent, without those that were refused */
  uint64_t refused;      /* messages answered with an error */
  uint64_t acknowledged; /* messages answered with ok */
  uint64_t delivered;    /* messages that sessions have received live */
  uint64_t missing;      /* messages that open sessions have not received yet */
  uint64_t unanswered;   /* messages that are not acknowledged yet */
  uint64_t recovered;    /* messages in the replies to repeated joins */
  uint64_t unrecovered;  /* joins whose position the relay could not continue */
  uint64_t gaps;         /* seqs that were left out */
  uint64_t skipped;      /* seqs that are missing in replies, below the newest seq of a reply */
  uint64_t duplicates;   /* seqs in messages or replies that were repeated or out of order */
  uint64_t altered;      /* bodies that differ from those sent */
  uint64_t presence, member, counts, others; /* events */
  uint64_t max_events;    /* the largest number of events, without messages, of a session */
  uint64_t flaps;         /* closes and openings by load_flap() */
  uint64_t pings;         /* of the relay; all were answered */
  uint64_t frames, bytes; /* received */
} load_counts_t;

load_counts_t load_counts(const load_t *load);

/* Returns the durations from the intended send of a message to its delivery or its reply. */
const load_histogram_t *load_latency(const load_t *load);
/* Returns the durations from the intended send of a Focus report to each event about it. */
const load_histogram_t *load_event_latency(const load_t *load);
/* Returns the durations from the intended opening of a session to the reply to its join. */
const load_histogram_t *load_opening(const load_t *load);
/* Forgets the openings so far. */
void load_forget_openings(load_t *load);

/* Returns the number of open sessions with another member count than this in their last event or reply. */
uint32_t load_misinformed(const load_t *load, uint32_t first, uint32_t count, uint64_t member_count);

/* Returns the message of a problem, such as an error or a close of the relay, and writes its number of
 * occurrences to `times`. Problems count from 0; NULL: there is no problem with this number. */
const char *load_problem(const load_t *load, uint32_t number, uint64_t *times);

/* Returns the first `welcome` of the relay, or NULL. */
const char *load_welcome(const load_t *load);

#endif
