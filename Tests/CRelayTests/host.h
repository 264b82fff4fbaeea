// SPDX-License-Identifier: Apache-2.0
/* host.h -- a hub on its own thread, with a small policy (policy.c) that uses all functions of the hub.
 *
 * The begin of a room's name selects its kind: `live.` stores nothing, `stored.` stores messages, `marked.`
 * also sends receipts, `pushed.` also pushes. A message to a stored room is published at once. The policy
 * accepts each hello, but refuses the user `nobody` with 4501, and does not answer the user `unanswered`. It
 * notes one line for each event:
 *
 *   due ROOM USER SEQ...    undecided messages      push ROOM USER SEQ   the decision to push
 *   mark ROOM USER READ RECEIVED    read ROOM USER    cursor ROOM SEQ    away USER    seen USER ACTIVITY
 *   stream closed    held TYPE    returns over    presence USER ENTRY
 *   alarm USER    alarm    drained    confirmed NUMBER    clock MILLISECONDS SUSPENDED
 *   log LEVEL LINE
 */
#ifndef HOST_H
#define HOST_H

#include <pthread.h>
#include <stdatomic.h>

#include "peer.h"
#include "relay.h"

typedef struct host {
  relay_hub_t *hub;
  relay_config_t config;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char *notes; /* lines; protected by the lock */
  size_t notes_size;
  void (*work)(relay_hub_t *hub, void *argument); /* protected by the lock */
  void *argument;
  relay_id_t held[512]; /* on the hub's thread: sessions with an open request of type `hold` */
  size_t held_count;
  atomic_int service;          /* a relay_service_t, see host_serve() */
  atomic_int reads;            /* calls of the callback `service` */
  atomic_bool is_held_by_hold; /* a request of type `hold` also holds the hub */
  relay_id_t exchange;         /* on the hub's thread: the last request of `/stream` or `/held` */
} host_t;

/* Returns a configuration with any free port, high limits, no rates and a grace of 200 ms. */
relay_config_t host_config(void);
/* Starts a host; NULL: with host_config(). */
host_t *host_start(const relay_config_t *config);
/* Waits until all sessions and exchanges have ended, removes the rooms, and expects that no object
 * is left. */
void host_end(host_t *host);
/* Changes the service that clients get. While the hub is held, host_do() does not return. */
void host_serve(host_t *host, relay_service_t service);
/* Stops at once, also with open sessions. */
void host_cut(host_t *host);
uint16_t host_port(const host_t *host);

/* Calls `work` on the hub's thread and waits for it. */
void host_do(host_t *host, void (*work)(relay_hub_t *hub, void *argument), void *argument);
relay_counts_t host_counts(host_t *host);
/* Sets the simulated clock. After the first call, time passes only with these calls. Make the first call
 * before there are sessions. */
void host_set_clock(host_t *host, int64_t now);
/* Moves the simulated clock forward. Returns when all timers that are due have run. */
void host_pass(host_t *host, int64_t milliseconds);
/* Waits until `count` sessions are left. Returns false after 10 s. */
bool host_has_sessions(host_t *host, size_t count);
/* Cuts the connection of a peer, and waits until the hub has noticed it. */
void host_loses(host_t *host, peer_t *peer);
/* True if the line is noted within 5 s. */
bool host_noted(host_t *host, const char *line);
/* Returns the number of noted lines with this begin. */
int host_notes(host_t *host, const char *beginning);
/* True if `holds` returns true on the hub's thread within 10 s. */
bool host_reaches(host_t *host, bool (*holds)(relay_hub_t *hub, void *argument), void *argument);
/* Answers the open requests of type `hold`. */
void host_finish_held(host_t *host);
/* Returns the session's id in a `welcome`. */
relay_id_t host_session(const char *welcome);

/* policy.c */
/* The size of the answer to `/large`, in bytes: more than the buffers of a socket. */
enum { POLICY_LARGE = 32 << 20 };
void policy_happened(void *context, const relay_event_t *events, size_t count);
void host_note(host_t *host, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
