// SPDX-License-Identifier: Apache-2.0
/* service.h -- the service that clients get. */
#ifndef RELAY_SERVICE_H
#define RELAY_SERVICE_H

#include "../base.h"

typedef struct relay__serving {
  relay_service_t state;    /* as the callback returned it last */
  bool was_held, has_ended; /* see relay__service_begins() */
} relay__serving_t;

/* Reads the service from the callback while the loop runs, and returns it. Has no other effect. */
relay_service_t relay__service_read(relay_hub_t *hub);
/* Call this at the begin of an iteration, outside all callbacks of sockets. Returns false if the hub is held.
 * After a hold it resumes the sessions, and at the end of the service it closes all connections. */
bool relay__service_begins(relay_hub_t *hub);

#endif
