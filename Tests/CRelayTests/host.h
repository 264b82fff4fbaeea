// SPDX-License-Identifier: Apache-2.0
/* host.h -- a hub on a thread of its own, with the smallest policy that exercises all of it.
 *
 * Rooms whose names begin with `live.` keep nothing, with `stored.` are stored, with `told.` are
 * stored and tell receipts, with `pushed.` are stored and push; a message to a stored room is shown at once.
 * Every hello is opened, but that of the users `nobody` (refused with 4501) and `unanswered`. What the policy
 * sees is noted, one line each:
 *
 *   due ROOM USER SEQ...    undecided messages      push ROOM USER SEQ   its decision
 *   mark ROOM USER READ RECEIVED    cursor ROOM SEQ    away USER    stream closed    held TYPE
 *   alarm USER    alarm    drained    confirmed NUMBER    clock MILLISECONDS    log LEVEL LINE
 */
#ifndef HOST_H
#define HOST_H

#include <pthread.h>

#include "relay.h"

typedef struct host {
  relay_hub_t *hub;
  relay_config_t config;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char *notes; /* lines; under the lock */
  size_t notes_size;
  void (*work)(relay_hub_t *hub, void *argument); /* under the lock */
  void *argument;
  relay_id_t held[512]; /* the hub's thread: sessions with a request that waits */
  size_t held_count;
  relay_id_t exchange; /* the hub's thread: of the last `/stream` or `/held` */
} host_t;

/* Any free port, wide limits, no rates, a grace of 200 ms. */
relay_config_t host_config(void);
/* NULL: host_config(). */
host_t *host_start(const relay_config_t *config);
/* Waits until all sessions and exchanges are gone, forgets the rooms, and expects nothing to be left. */
void host_end(host_t *host);
/* Stops at once, whoever is there. */
void host_cut(host_t *host);
uint16_t host_port(const host_t *host);

/* Calls `work` on the hub's thread and waits for it. */
void host_do(host_t *host, void (*work)(relay_hub_t *hub, void *argument), void *argument);
relay_counts_t host_counts(host_t *host);
/* Time goes by only in this call from now on; the first comes before there are sessions. */
void host_set_clock(host_t *host, int64_t now);
/* Moves the clock of host_set_clock() on, and returns when all that is due then has happened. */
void host_pass(host_t *host, int64_t milliseconds);
/* True once so many sessions are left; false if that takes 10 s. */
bool host_has_sessions(host_t *host, size_t count);
/* Whether the line is noted within 5 s. */
bool host_noted(host_t *host, const char *line);
/* How many of the lines so far begin with this. */
int host_notes(host_t *host, const char *beginning);
/* Whether `holds` becomes true on the hub's thread within 10 s. */
bool host_reaches(host_t *host, bool (*holds)(relay_hub_t *hub, void *argument), void *argument);
/* Answers the requests of type `hold` that wait. */
void host_finish_held(host_t *host);
/* The id in a `welcome`. */
relay_id_t host_session(const char *welcome);

/* policy.c */
/* Bytes of the answer to `/large`: more than the buffers of a socket take. */
enum { POLICY_LARGE = 32 << 20 };
void policy_happened(void *context, const relay_event_t *events, size_t count);
void host_note(host_t *host, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
