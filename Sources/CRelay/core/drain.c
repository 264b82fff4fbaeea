// SPDX-License-Identifier: Apache-2.0
/* Graceful shutdown: closes all sessions, some in each interval, so that the loop can still handle the last
 * messages of the others. Each `bye` has a random `retryAfter`, so that the clients do not all reconnect at
 * the same time. */
#include "core.h"

#include <stdio.h>

enum {
  INTERVAL = 10,     /* ms */
  AT_ONCE = 200,     /* sessions that are closed in an interval, or more: */
  INTERVALS = 500,   /* the maximum number of intervals, 5 s, for all sessions */
  UNFINISHED = 2000, /* ms during which sessions with an open request stay open */
  RECONNECTS = 1000, /* reconnects a second that the jitter spreads the clients to */
  MAX_JITTER = 60,   /* seconds */
};
/* Seconds: also a few clients do not return at the same moment. */
static const double MIN_JITTER = 0.2;

double relay__drain_jitter(const relay_hub_t *hub) {
  const double seconds = hub->drain.is_on ? (double)hub->drain.sessions / RECONNECTS : 0;
  if (seconds <= MIN_JITTER) return MIN_JITTER;
  int jitter = 1;
  while (jitter < seconds && jitter < MAX_JITTER) jitter *= 2;
  return jitter < MAX_JITTER ? jitter : MAX_JITTER;
}

double relay__drain_retry_after(const relay_hub_t *hub) {
  uint32_t random = 0;
  uv_random(NULL, NULL, &random, sizeof random, 0, NULL);
  return relay__drain_jitter(hub) * random / UINT32_MAX;
}

void relay__drain_timer(relay_hub_t *hub) {
  relay__drain_t *drain = &hub->drain;
  uint32_t closed = 0, left = 0;
  const uint32_t max = drain->sessions / INTERVALS > AT_ONCE ? drain->sessions / INTERVALS : AT_ONCE;
  const bool waits = hub->clock.loop < drain->began + UNFINISHED;
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    relay_session_t *session = hub->sessions.items[i];
    if (!session || session->state == RELAY__CLOSING) continue;
    if (closed == max || (waits && session->state == RELAY__OPEN && session->open_requests)) {
      left++;
      continue;
    }
    relay__session_close(hub, session, drain->code, drain->reason, relay__drain_retry_after(hub));
    closed++;
  }
  if (left) relay__timer_set(hub, &drain->timer, RELAY__TIMER_DRAIN, hub->clock.loop + INTERVAL);
}

/* The functions of relay.h */

void relay_hub_drain(relay_hub_t *hub, uint16_t code, const char *reason) {
  relay__expect_thread(hub);
  relay__drain_t *drain = &hub->drain;
  if (drain->is_on) return;
  drain->is_on = true;
  drain->code = code;
  drain->began = hub->clock.loop;
  drain->sessions = hub->sessions.alive;
  snprintf(drain->reason, sizeof drain->reason, "%s", reason);
  relay__timer_set(hub, &drain->timer, RELAY__TIMER_DRAIN, hub->clock.loop);
}
