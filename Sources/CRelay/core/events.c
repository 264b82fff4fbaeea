// SPDX-License-Identifier: Apache-2.0
/* The queue of events. The hub adds events while it works, and relay__tick() delivers them. */
#include "core.h"

#include <stdlib.h>

relay_event_t *relay__event(relay_hub_t *hub, relay_event_kind_t kind, void *owned) {
  hub->events = relay__grow(hub->events, hub->event_count, &hub->event_capacity, sizeof *hub->events, 64);
  hub->owned = relay__grow(hub->owned, hub->event_count, &hub->owned_capacity, sizeof *hub->owned, 64);
  relay_event_t *event = &hub->events[hub->event_count];
  *event = (relay_event_t){.kind = kind};
  hub->owned[hub->event_count++] = owned;
  return event;
}

#define SWAP(type, a, b)                                                                                     \
  do {                                                                                                       \
    type swapped = a;                                                                                        \
    a = b;                                                                                                   \
    b = swapped;                                                                                             \
  } while (0)

/* Two arrays are used in turn, because new events may be queued while these are delivered. */
uint32_t relay__events_take(relay_hub_t *hub) {
  const uint32_t count = hub->event_count;
  SWAP(relay_event_t *, hub->events, hub->spare_events);
  SWAP(void **, hub->owned, hub->spare_owned);
  SWAP(uint32_t, hub->event_capacity, hub->spare_event_capacity);
  SWAP(uint32_t, hub->owned_capacity, hub->spare_owned_capacity);
  hub->event_count = 0;
  return count;
}

void relay__events_free(relay_hub_t *hub, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) free(hub->spare_owned[i]);
}

void relay__drain_ended(relay_hub_t *hub, const relay__slots_t *slots) {
  if (hub->drain.is_on && !slots->alive) relay__event(hub, RELAY_EVENT_DRAINED, NULL);
}
