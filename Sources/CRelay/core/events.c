// SPDX-License-Identifier: Apache-2.0
/* The queue of events. The hub adds events while it works, and relay__tick() delivers them. */
#include "core.h"

#include <stdlib.h>

relay_event_t *relay__event(relay_hub_t *hub, relay_event_kind_t kind, void *owned) {
  relay__event_list_t *list = &hub->events.queued;
  list->events = relay__grow(list->events, list->count, &list->capacity, sizeof *list->events, 64);
  list->owned = relay__grow(list->owned, list->count, &list->owned_capacity, sizeof *list->owned, 64);
  relay_event_t *event = &list->events[list->count];
  *event = (relay_event_t){.kind = kind};
  list->owned[list->count++] = owned;
  return event;
}

/* Two lists are used in turn, because new events may be queued while these are delivered. */
const relay__event_list_t *relay__events_take(relay_hub_t *hub) {
  relay__events_t *events = &hub->events;
  const relay__event_list_t queued = events->queued;
  events->queued = events->taken;
  events->queued.count = 0;
  events->taken = queued;
  return &events->taken;
}

void relay__events_free(relay_hub_t *hub) {
  relay__event_list_t *taken = &hub->events.taken;
  for (uint32_t i = 0; i < taken->count; i++) free(taken->owned[i]);
  taken->count = 0;
}

void relay__drain_ended(relay_hub_t *hub, const relay__slots_t *slots) {
  if (hub->drain.is_on && !slots->alive) relay__event(hub, RELAY_EVENT_DRAINED, NULL);
}
