// SPDX-License-Identifier: Apache-2.0
/* Counters for metrics: plain numbers in the hub. */
#include "core.h"

const uint32_t relay_bucket_bounds[RELAY_BUCKETS] = {10,   25,    50,    100,   250,    500,    1000,   2500,
                                                     5000, 10000, 25000, 50000, 100000, 250000, 1000000};

#define NUMBER_OF(name, number) number,
#define TEXT_OF(name, text) text,
const uint16_t relay_close_codes[RELAY_CLOSES] = {0, 1000, 1001, 1006, RELAY_CLOSE_CODES(NUMBER_OF)};
const char *const relay_error_names[RELAY_ERRORS] = {RELAY_ERROR_CODES(TEXT_OF)};

void relay__count_close(relay_hub_t *hub, uint16_t code) {
  int at = 0;
  for (int i = 1; i < RELAY_CLOSES; i++)
    if (relay_close_codes[i] == code) at = i;
  hub->stats.closes[at]++;
}

void relay__count_error(relay_hub_t *hub, const char *name) {
  for (int i = 0; i < RELAY_ERRORS; i++)
    if (!strcmp(relay_error_names[i], name)) hub->stats.errors[i]++;
}

void relay__count_response(relay_hub_t *hub, int status) {
  hub->stats.responses[status >= 100 && status < 600 ? status / 100 : 0]++;
}

void relay__observe(relay_histogram_t *histogram, uint64_t nanoseconds, uint64_t times) {
  const uint64_t microseconds = nanoseconds / 1000;
  int at = 0;
  while (at < RELAY_BUCKETS && nanoseconds > relay_bucket_bounds[at] * 1000ull) at++;
  histogram->counts[at] += times;
  histogram->microseconds += microseconds * times;
}

relay_stats_t relay_hub_stats(const relay_hub_t *hub) {
  return hub->stats;
}

/* Computed on demand, so that the fan-out has no counter to update. */
size_t relay_hub_outbox_bytes(const relay_hub_t *hub) {
  size_t sum = 0;
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    const relay_session_t *session = hub->sessions.items[i];
    if (session) sum += session->outbox.event_bytes + session->outbox.reply_bytes;
  }
  return sum;
}
