// SPDX-License-Identifier: Apache-2.0
/* The timers of the hub: a binary heap, and one timer of libuv for the first of them. A timer is a member of
 * the object that it belongs to, so it needs no allocation of its own. */
#include "core.h"

#include <stdlib.h>

static void put(relay__timers_t *timers, uint32_t at, relay__timer_t *timer) {
  timers->heap[at - 1] = timer;
  timer->index = at;
}

static void sift(relay__timers_t *timers, uint32_t at, relay__timer_t *timer) {
  relay__timer_t *const *heap = timers->heap;
  for (; at > 1 && heap[at / 2 - 1]->due > timer->due; at /= 2) put(timers, at, heap[at / 2 - 1]);
  for (uint32_t child; (child = at * 2) <= timers->count; at = child) {
    if (child < timers->count && heap[child]->due < heap[child - 1]->due) child++;
    if (heap[child - 1]->due >= timer->due) break;
    put(timers, at, heap[child - 1]);
  }
  put(timers, at, timer);
}

void relay__timer_set(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due) {
  relay__timers_t *timers = &hub->timers;
  timer->due = due;
  timer->kind = (uint8_t)kind;
  if (!timer->index) {
    timers->heap = relay__grow(timers->heap, timers->count, &timers->capacity, sizeof *timers->heap, 64);
    timer->index = ++timers->count;
  }
  sift(timers, timer->index, timer);
}

void relay__timer_set_earlier(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind,
                              int64_t due) {
  if (!timer->index || timer->due > due) relay__timer_set(hub, timer, kind, due);
}

void relay__timer_clear(relay_hub_t *hub, relay__timer_t *timer) {
  if (!timer->index) return;
  relay__timers_t *timers = &hub->timers;
  relay__timer_t *last = timers->heap[--timers->count];
  if (last != timer) sift(timers, timer->index, last);
  timer->index = 0;
}

relay__timer_t *relay__timers_take(relay_hub_t *hub) {
  relay__timer_t *timer = hub->timers.count ? hub->timers.heap[0] : NULL;
  if (!timer || timer->due > hub->clock.loop) return NULL;
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
  const int64_t due = timers->heap[0]->due, now = hub->clock.loop;
  if (timers->armed_for == due) return;
  timers->armed_for = due;
  uv_timer_start(&timers->wake, wake, due > now ? (uint64_t)(due - now) : 0, 0);
}
