// SPDX-License-Identifier: Apache-2.0
/* drain.h -- graceful shutdown. */
#ifndef RELAY_DRAIN_H
#define RELAY_DRAIN_H

#include "timers.h"

typedef struct relay__drain {
  relay__timer_t timer;
  bool is_on;
  uint16_t code;
  char reason[64];
  uint32_t sessions; /* open sessions at its start */
  int64_t began;     /* on the loop's clock */
} relay__drain_t;

void relay__drain_timer(relay_hub_t *hub);
/* A session or an exchange has ended and is no longer in `slots`. Queues RELAY_EVENT_DRAINED after
 * the last. */
void relay__drain_ended(relay_hub_t *hub, const relay__slots_t *slots);
/* Returns the range of random times in seconds within which a client should reconnect. While the hub drains,
 * all clients reconnect: then about 1,000 at most do so in each second. The range is a power of two above 0.2
 * s, so that clients do not learn the number of sessions. */
double relay__drain_jitter(const relay_hub_t *hub);
/* Returns a random time within the jitter. */
double relay__drain_retry_after(const relay_hub_t *hub);

#endif
