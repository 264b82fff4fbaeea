// SPDX-License-Identifier: Apache-2.0
/* flush.h -- the writes at the end of an iteration. */
#ifndef RELAY_FLUSH_H
#define RELAY_FLUSH_H

#include "timers.h"

enum { RELAY__BATCH_MS = 20 }; /* the interval between two writes of batched events */

/* The sessions with batched events. */
typedef struct relay__batch {
  relay__ids_t sessions;
  relay__timer_t timer;
  int64_t due; /* on the loop's clock: the earliest time of the next batch */
} relay__batch_t;

/* Writes the outbox of the session, with a ping behind its frames if one is needed. Closes a session whose
 * queue has overflowed. */
void relay__session_flush(relay_hub_t *hub, relay_session_t *session);
void relay__sessions_flush_batched(relay_hub_t *hub);

#endif
