// SPDX-License-Identifier: Apache-2.0
/* relay_stats.h -- what a hub has done since it was created. Numbers only grow; what is there now is
 * in relay_counts_t. */
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

/* Upper bounds, in microseconds. */
extern const uint32_t relay_bucket_bounds[RELAY_BUCKETS];

typedef struct relay_histogram {
  uint64_t counts[RELAY_BUCKETS + 1]; /* up to each bound and above the one before; the last: above all */
  uint64_t microseconds;              /* of all together */
} relay_histogram_t;

/* How sessions end: 1000 and 1001 by the client, 1006 without a close, 4000 and above by the hub; 0: any
 * other code of a client. */
extern const uint16_t relay_close_codes[RELAY_CLOSES];
extern const char *const relay_error_names[RELAY_ERRORS];

typedef struct relay_stats {
  uint64_t connections;                   /* accepted */
  uint64_t refused_full, refused_address; /* connections, and behind a proxy requests, past a limit */
  uint64_t sessions;                      /* upgraded */
  uint64_t closes[RELAY_CLOSES];
  uint64_t frames_received, bytes_received; /* text of clients, without WebSocket headers */
  uint64_t frames_sent, bytes_sent;         /* all frames, with them */
  uint64_t errors[RELAY_ERRORS];            /* that the hub itself answered with */
  uint64_t responses[6]; /* to HTTP requests; by the first digit of the status; 0: of none */
  uint64_t messages_stored, messages_live, signals;
  uint64_t deliveries; /* messages and signals, once for each session that they were queued for */
  uint64_t went_online, went_offline, announcements;
  /* Of each message, from the first of its round until all sessions of the round were written to once. */
  relay_histogram_t fan_out;
} relay_stats_t;

#endif
