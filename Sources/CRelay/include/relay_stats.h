// SPDX-License-Identifier: Apache-2.0
/* relay_stats.h -- counters of a hub since its creation. They only grow; relay_counts_t has
 * current numbers. */
#ifndef RELAY_STATS_H
#define RELAY_STATS_H

#include <stdint.h>

#include "relay_codes.h"

#define RELAY_COUNT(name, code) +1
enum {
  RELAY_BUCKETS = 15,
  RELAY_CLOSES = 4 RELAY_CLOSE_CODES(RELAY_COUNT),
  RELAY_ERRORS = 0 RELAY_ERROR_CODES(RELAY_COUNT),
};
#undef RELAY_COUNT

/* The upper bounds of the buckets of a histogram, in microseconds. */
extern const uint32_t relay_bucket_bounds[RELAY_BUCKETS];

typedef struct relay_histogram {
  uint64_t counts[RELAY_BUCKETS + 1]; /* of each bucket; the last counts durations above all bounds */
  uint64_t microseconds;              /* the sum of all durations */
} relay_histogram_t;

/* The close codes that are counted: 1000 and 1001 by the client, 1006 without a close frame, 4000 and above
 * by the hub; 0: any other code of a client. */
extern const uint16_t relay_close_codes[RELAY_CLOSES];
extern const char *const relay_error_names[RELAY_ERRORS];

typedef struct relay_stats {
  uint64_t connections; /* accepted */
  /* Connections that were refused because of a limit of the hub or of their address. Behind a trusted proxy
   * also requests. */
  uint64_t refused_full, refused_address;
  uint64_t sessions;                        /* completed WebSocket handshakes */
  uint64_t closes[RELAY_CLOSES];            /* in the order of `relay_close_codes` */
  uint64_t frames_received, bytes_received; /* text messages, without WebSocket headers */
  uint64_t frames_sent, bytes_sent;         /* all frames, with WebSocket headers */
  uint64_t errors[RELAY_ERRORS];            /* errors of the hub, in the order of `relay_error_names` */
  uint64_t responses[6]; /* to HTTP requests, by the first digit of the status; 0: any other status */
  uint64_t messages_stored, messages_live, signals;
  uint64_t deliveries; /* messages and signals, counted once for each session that gets them */
  uint64_t went_online, went_offline, announcements;
  /* The duration of the fan-out of each message. Messages that are published in the same iteration share one
   * duration: from the first publication until the hub has written to all sessions once. */
  relay_histogram_t fan_out;
} relay_stats_t;

#endif
