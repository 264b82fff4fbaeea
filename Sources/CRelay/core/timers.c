// SPDX-License-Identifier: Apache-2.0
/* The timers of the hub: a heap whose nodes have four children, and one timer of libuv for the first of them.
 * A timer is a member of the object that it belongs to, so it needs no allocation of its own. */
#include "core.h"

#include <stdlib.h>

static void put(relay__timers_t *timers, uint32_t at, relay__due_t due) {
  timers->heap[at] = due;
  due.timer->index = at + 1;
}

/* Moves `due` from the place `at` to the place that its time gives it. */
static void sift(relay__timers_t *timers, uint32_t at, relay__due_t due) {
  const relay__due_t *heap = timers->heap;
  for (uint32_t parent; at && heap[parent = (at - 1) / RELAY__TIMER_CHILDREN].at > due.at; at = parent)
    put(timers, at, heap[parent]);
  for (uint32_t first; (first = at * RELAY__TIMER_CHILDREN + 1) < timers->count;) {
    uint32_t child = first;
    for (uint32_t i = first + 1; i < first + RELAY__TIMER_CHILDREN && i < timers->count; i++)
      if (heap[i].at < heap[child].at) child = i;
    if (heap[child].at >= due.at) break;
    put(timers, at, heap[child]);
    at = child;
  }
  put(timers, at, due);
}

void relay__timer_set(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due) {
  relay__timers_t *timers = &hub->timers;
  timer->kind = (uint8_t)kind;
  if (!timer->index) {
    timers->heap = relay__grow(timers->heap, timers->count, &timers->capacity, sizeof *timers->heap, 64);
    timer->index = ++timers->count;
  }
  sift(timers, timer->index - 1, (relay__due_t){due, timer});
}

int64_t relay__timer_due(const relay_hub_t *hub, const relay__timer_t *timer) {
  return hub->timers.heap[timer->index - 1].at;
}

void relay__timer_set_earlier(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind,
                              int64_t due) {
  if (!timer->index || relay__timer_due(hub, timer) > due) relay__timer_set(hub, timer, kind, due);
}

void relay__timer_clear(relay_hub_t *hub, relay__timer_t *timer) {
  if (!timer->index) return;
  relay__timers_t *timers = &hub->timers;
  const relay__due_t last = timers->heap[--timers->count];
  if (last.timer != timer) sift(timers, timer->index - 1, last);
  timer->index = 0;
}

relay__timer_t *relay__timers_take(relay_hub_t *hub) {
  if (!hub->timers.count || hub->timers.heap[0].at > hub->clock.loop) return NULL;
  relay__timer_t *timer = hub->timers.heap[0].timer;
  relay__timer_clear(hub, timer);
  return timer;
}

/* Wakes the loop. relay__tick() then runs the timers that are due. */
static void wake(uv_timer_t *timer) {
  ((relay_hub_t *)timer->data)->timers.armed_for = 0;
}

void relay__timers_arm(relay_hub_t *hub) {
  relay__timers_t *timers = &hub->timers;
  if (!timers->count) {
    if (timers->armed_for) uv_timer_stop(&timers->wake);
    timers->armed_for = 0;
    return;
  }
  const int64_t due = timers->heap[0].at, now = hub->clock.loop;
  if (timers->armed_for == due) return;
  timers->armed_for = due;
  uv_timer_start(&timers->wake, wake, due > now ? (uint64_t)(due - now) : 0, 0);
}
