// SPDX-License-Identifier: Apache-2.0
/* timers.h -- one heap for all timers of a hub. */
#ifndef RELAY_TIMERS_H
#define RELAY_TIMERS_H

#include <uv.h>

#include "../base.h"

/* A timer. It is a member of the object that it belongs to. */
typedef struct relay__timer {
  int64_t due;    /* on the loop's clock */
  uint32_t index; /* in the heap, from 1; 0: not set */
  uint8_t kind;
} relay__timer_t;

typedef struct relay__timers {
  relay__timer_t **heap;
  uint32_t count, capacity;
  int64_t armed_for; /* on the loop's clock: the time for which `wake` is set; 0: it is not set */
  uv_timer_t wake;
} relay__timers_t;

typedef enum relay__timer_kind {
  RELAY__TIMER_SESSION,
  RELAY__TIMER_USER,
  RELAY__TIMER_MEMBER,
  RELAY__TIMER_ROOM,
  RELAY__TIMER_CONNECTION,
  RELAY__TIMER_DRAIN,
  RELAY__TIMER_ALARM,
  RELAY__TIMER_BATCH,
  RELAY__TIMER_RETURNS,
} relay__timer_kind_t;

void relay__timer_set(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due);
/* Sets the timer, unless it is already due at an earlier time. */
void relay__timer_set_earlier(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due);
void relay__timer_clear(relay_hub_t *hub, relay__timer_t *timer);
/* Removes the first timer that is due, and returns it. Returns NULL if none is due. */
relay__timer_t *relay__timers_take(relay_hub_t *hub);
/* Sets the timer of libuv to the first timer of the heap. */
void relay__timers_arm(relay_hub_t *hub);

#endif
