// SPDX-License-Identifier: Apache-2.0
/* The end of all sessions: a few at a time, so that the loop stays free for the others' last messages, and
 * each told another time to come back, so that they do not come as a herd. */
#include "core.h"

#include <stdio.h>

enum {
  INTERVAL = 10,
  AT_ONCE = 200,     /* closed in an interval, 20,000 a second ... */
  INTERVALS = 500,   /* ... or more, so that all are asked within 5 s */
  UNFINISHED = 2000, /* for how long a session with an open request is spared */
  COMEBACKS = 1000,  /* a second */
  LONGEST = 60,
};

/* Seconds until a client should come back: anywhere in a time in which COMEBACKS come each second. */
double relay__drain_retry_after(const relay_hub_t *hub) {
  uint32_t random = 0;
  uv_random(NULL, NULL, &random, sizeof random, 0, NULL);
  double spread = (double)hub->drain.sessions / COMEBACKS;
  if (spread < 1) spread = 1;
  if (spread > LONGEST) spread = LONGEST;
  return spread * random / UINT32_MAX;
}

void relay__drain_timer(relay_hub_t *hub) {
  relay__drain_t *drain = &hub->drain;
  uint32_t closed = 0, left = 0;
  const uint32_t most = drain->sessions / INTERVALS > AT_ONCE ? drain->sessions / INTERVALS : AT_ONCE;
  const bool spares = hub->clock < drain->began + UNFINISHED;
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    relay_session_t *session = hub->sessions.items[i];
    if (!session || session->state == RELAY__CLOSING) continue;
    if (closed == most || (spares && session->state == RELAY__OPEN && session->open_requests)) {
      left++;
      continue;
    }
    relay__session_close(hub, session, drain->code, drain->reason, relay__drain_retry_after(hub));
    closed++;
  }
  if (left) relay__timer_set(hub, &drain->timer, RELAY__TIMER_DRAIN, hub->clock + INTERVAL);
}

/* The functions of relay.h */

void relay_hub_drain(relay_hub_t *hub, uint16_t code, const char *reason) {
  relay__expect_thread(hub);
  relay__drain_t *drain = &hub->drain;
  if (drain->is_on) return;
  drain->is_on = true;
  drain->code = code;
  drain->began = hub->clock;
  drain->sessions = hub->sessions.alive;
  snprintf(drain->reason, sizeof drain->reason, "%s", reason);
  relay__timer_set(hub, &drain->timer, RELAY__TIMER_DRAIN, hub->clock);
}
