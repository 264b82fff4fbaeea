// SPDX-License-Identifier: Apache-2.0
/* stats.h -- counters for metrics. */
#ifndef RELAY_CORE_STATS_H
#define RELAY_CORE_STATS_H

#include "../base.h"

/* The numbers of objects in memory. */
typedef struct relay__objects {
  size_t frames, frame_bytes, members, seats, watches;
} relay__objects_t;

/* The messages that are published and not written yet. */
typedef struct relay__round {
  uint64_t began; /* ns: the publication of the first of them; 0: there is none */
  uint32_t messages;
} relay__round_t;

/* Counts the end of a session by its close code. Called once for each session. */
void relay__count_close(relay_hub_t *hub, uint16_t code);
void relay__count_error(relay_hub_t *hub, const char *name);
void relay__count_response(relay_hub_t *hub, int status);
/* Adds the duration to the histogram `times` times. */
void relay__observe(relay_histogram_t *histogram, uint64_t nanoseconds, uint64_t times);

#endif
