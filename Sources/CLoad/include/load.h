// SPDX-License-Identifier: Apache-2.0
/* load.h -- many sessions of a relay on one thread, to measure it with.
 *
 * A load opens sessions, lets some of them publish, and counts and checks what every session is
 * shown: each message of its room once, in order, its body unchanged. It reads frames no further than
 * that takes, so that one thread of it keeps more than one thread of a relay busy.
 *
 * THREADS   A load belongs to the thread that calls it.
 * MEMORY    Texts are copied. What a load keeps for a session is bounded but for one frame (16 MiB)
 *           and what the relay does not read (1 MiB).
 * TIME      load_run() does the work; everything else says what is to be done. Times are nanoseconds
 *           of CLOCK_MONOTONIC. A latency counts from when a message was to be sent, not from when
 *           it could be, so that a relay that stalls does not hide it.
 */
#ifndef LOAD_H
#define LOAD_H

#include "load_baseline.h"
#include "load_histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct load load_t;

/* Finds the relay and connects to it once, to see which of the name's addresses answers. On failure
 * returns NULL with a text for people in `why`. */
load_t *load_create(const char *host, uint16_t port, char *why, size_t why_size);
void load_destroy(load_t *load);
/* Whether the relay's address is one of this machine. */
bool load_is_local(const load_t *load);

/* Adds a room and returns its number; rooms count from 0. `name` consists of the characters of room
 * names, which JSON takes as they are. */
uint32_t load_room(load_t *load, const char *name);

enum { LOAD_NO_ROOM = UINT32_MAX };

/* Adds a session and returns its number; sessions count from 0. `hello` is its first frame. All are
 * added before the first is opened. */
uint32_t load_session(load_t *load, const char *hello, uint32_t room);

/* Opens sessions that are closed, `rate` a second (0: as fast as they come), and joins their rooms.
 * Who was in a room before joins it with the last position, and what it missed is checked. */
void load_open(load_t *load, uint32_t first, uint32_t count, double rate);
/* Ends connections with no word, as networks do. */
void load_cut(load_t *load, uint32_t first, uint32_t count);
/* Lets sessions take turns to go, with close code 1000, and to come back, `rate` of these a second;
 * 0: no longer. */
void load_flap(load_t *load, uint32_t first, uint32_t count, double rate);

/* Who publishes, what and when. Either `rate` or `window` is not 0. */
typedef struct {
  uint32_t first, count; /* sessions, which take turns */
  size_t body;           /* bytes of a body, at least LOAD_SMALLEST_BODY */
  double rate;           /* messages a second of all together, whatever the relay does: an open loop */
  uint32_t window;   /* messages on their way: a closed loop. Of all together; with `acknowledged`, of each */
  bool acknowledged; /* latency is that of the reply, not that of deliveries */
} load_publish_t;

enum { LOAD_SMALLEST_BODY = 37, LOAD_LARGEST_WINDOW = 65536, LOAD_MOST_UNFINISHED = 64 };

/* Begins; NULL ends. */
void load_publish(load_t *load, const load_publish_t *publish);

/* From now on latencies are recorded, of messages that are to be sent while this is on. Turning it on
 * forgets earlier ones. */
void load_measure(load_t *load, bool is_on);

typedef enum {
  LOAD_TIME,    /* only the time */
  LOAD_OPENED,  /* every session that is to be open has joined its room or failed, and who left has gone */
  LOAD_SETTLED, /* every message has been delivered and acknowledged as it should */
  LOAD_CALM     /* no frame came for 300 ms */
} load_until_t;

/* Runs until that, or for the seconds given, or until the relay has ended the last session. Returns
 * whether it came to that (LOAD_TIME: true). */
bool load_run(load_t *load, load_until_t until, double seconds);

/* What happened since the load was created. */
typedef struct {
  uint64_t open;         /* sessions now in their room */
  uint64_t failed;       /* connects, handshakes, hellos and joins that were refused or broke */
  uint64_t closed;       /* sessions that the relay ended */
  uint64_t published;    /* messages sent, without those refused */
  uint64_t refused;      /* messages answered with an error */
  uint64_t acknowledged; /* messages answered with ok */
  uint64_t delivered;    /* messages shown to sessions */
  uint64_t missing;      /* messages not shown yet to sessions that are open */
  uint64_t unanswered;   /* messages not acknowledged yet */
  uint64_t recovered;    /* messages got by joining again */
  uint64_t unrecovered;  /* joins with a position that the relay could not serve */
  uint64_t gaps;         /* seqs left out */
  uint64_t skipped;      /* seqs below those in replies that no reply had yet */
  uint64_t duplicates;   /* seqs shown or given twice, or out of order */
  uint64_t altered;      /* bodies that are not what was sent */
  uint64_t presence, member, counts, others; /* events */
  uint64_t most_events;                      /* events (no messages) of the session that had most */
  uint64_t flaps;                            /* goings and comings of load_flap() */
  uint64_t pings;                            /* by the relay, all answered */
  uint64_t frames, bytes;                    /* received */
} load_counts_t;

load_counts_t load_counts(const load_t *load);

/* From when a message was to be sent to its delivery or its reply. */
const load_histogram_t *load_latency(const load_t *load);
/* From when a session was to be opened to the reply to its join. */
const load_histogram_t *load_opening(const load_t *load);
/* Forgets the openings so far. */
void load_forget_openings(load_t *load);

/* Sessions whose latest news of their room say another count of members. */
uint32_t load_misinformed(const load_t *load, uint32_t first, uint32_t count, uint64_t member_count);

/* What the relay refused and how it closed, for people: the text and how often it was, or NULL. */
const char *load_problem(const load_t *load, uint32_t number, uint64_t *times);

/* The first `welcome` of the relay, or NULL. */
const char *load_welcome(const load_t *load);

#endif
