// SPDX-License-Identifier: Apache-2.0
/* returns.h -- the users who were online when an earlier run ended. */
#ifndef RELAY_RETURNS_H
#define RELAY_RETURNS_H

#include "timers.h"

typedef struct relay__returns {
  relay__timer_t timer;
  int64_t until;    /* on the loop's clock; 0: no user is awaited */
  uint32_t awaited; /* users who were awaited */
} relay__returns_t;

void relay__returns_timer(relay_hub_t *hub);

#endif
