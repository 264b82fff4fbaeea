// SPDX-License-Identifier: Apache-2.0
/* The timers of the hub: a binary heap, and one timer of libuv for the first of them. A timer is a member of
 * the object that it belongs to, so it needs no allocation of its own. */
#include "core.h"

#include <stdlib.h>

static void put(relay_hub_t *hub, uint32_t at, relay__timer_t *timer) {
  hub->heap[at - 1] = timer;
  timer->index = at;
}

static void sift(relay_hub_t *hub, uint32_t at, relay__timer_t *timer) {
  for (; at > 1 && hub->heap[at / 2 - 1]->due > timer->due; at /= 2) put(hub, at, hub->heap[at / 2 - 1]);
  for (uint32_t child; (child = at * 2) <= hub->heap_count; at = child) {
    if (child < hub->heap_count && hub->heap[child]->due < hub->heap[child - 1]->due) child++;
    if (hub->heap[child - 1]->due >= timer->due) break;
    put(hub, at, hub->heap[child - 1]);
  }
  put(hub, at, timer);
}

void relay__timer_set(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due) {
  timer->due = due;
  timer->kind = (uint8_t)kind;
  if (!timer->index) {
    hub->heap = relay__grow(hub->heap, hub->heap_count, &hub->heap_capacity, sizeof *hub->heap, 64);
    timer->index = ++hub->heap_count;
  }
  sift(hub, timer->index, timer);
}

void relay__timer_set_earlier(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind,
                              int64_t due) {
  if (!timer->index || timer->due > due) relay__timer_set(hub, timer, kind, due);
}

void relay__timer_clear(relay_hub_t *hub, relay__timer_t *timer) {
  if (!timer->index) return;
  relay__timer_t *last = hub->heap[--hub->heap_count];
  if (last != timer) sift(hub, timer->index, last);
  timer->index = 0;
}

relay__timer_t *relay__timers_take(relay_hub_t *hub) {
  if (!hub->heap_count || hub->heap[0]->due > hub->clock) return NULL;
  relay__timer_t *timer = hub->heap[0];
  relay__timer_clear(hub, timer);
  return timer;
}

/* Wakes the loop. relay__tick() then runs the timers that are due. */
static void wake(uv_timer_t *timer) {
  ((relay_hub_t *)timer->data)->armed_for = 0;
}

void relay__timers_arm(relay_hub_t *hub) {
  if (!hub->heap_count) {
    if (hub->armed_for) uv_timer_stop(&hub->timer);
    hub->armed_for = 0;
    return;
  }
  const int64_t due = hub->heap[0]->due;
  if (hub->armed_for == due) return;
  hub->armed_for = due;
  uv_timer_start(&hub->timer, wake, due > hub->clock ? (uint64_t)(due - hub->clock) : 0, 0);
}
