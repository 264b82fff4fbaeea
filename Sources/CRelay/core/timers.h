// SPDX-License-Identifier: Apache-2.0
/* timers.h -- one heap for all timers of a hub. */
#ifndef RELAY_TIMERS_H
#define RELAY_TIMERS_H

#include <uv.h>

#include "../base.h"

/* A timer. It is a member of the object that it belongs to. */
typedef struct relay__timer {
  uint32_t index; /* in the heap, from 1; 0: not set */
  uint8_t kind;
} relay__timer_t;

/* A timer in the heap. The time is here, so that the order of timers is known without a look at their
 * objects, which are seldom in the processor's cache. */
typedef struct relay__due {
  int64_t at; /* on the loop's clock */
  relay__timer_t *timer;
} relay__due_t;

/* Children of a timer in the heap. With four, a timer that moves passes half as many timers as with two. */
enum { RELAY__TIMER_CHILDREN = 4 };

typedef struct relay__timers {
  relay__due_t *heap;
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
/* The time of a timer that is set, on the loop's clock. */
int64_t relay__timer_due(const relay_hub_t *hub, const relay__timer_t *timer);
/* Removes the first timer that is due, and returns it. Returns NULL if none is due. */
relay__timer_t *relay__timers_take(relay_hub_t *hub);
/* Sets the timer of libuv to the first timer of the heap. */
void relay__timers_arm(relay_hub_t *hub);

#endif
