// SPDX-License-Identifier: Apache-2.0
/* events.h -- the queue of events for the owner of the hub. */
#ifndef RELAY_EVENTS_H
#define RELAY_EVENTS_H

#include "../base.h"

typedef struct relay__event_list {
  relay_event_t *events;
  void **owned; /* by event: a block that is freed after its delivery */
  uint32_t count, capacity, owned_capacity;
} relay__event_list_t;

typedef struct relay__events {
  relay__event_list_t queued, taken; /* `taken` are being delivered */
} relay__events_t;

/* Queues an event; `owned` is freed after its delivery. */
relay_event_t *relay__event(relay_hub_t *hub, relay_event_kind_t kind, void *owned);
/* Moves the queued events to `taken`, and returns them. */
const relay__event_list_t *relay__events_take(relay_hub_t *hub);
/* Frees the memory of the events that were taken. */
void relay__events_free(relay_hub_t *hub);

#endif
