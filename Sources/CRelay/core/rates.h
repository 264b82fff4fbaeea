// SPDX-License-Identifier: Apache-2.0
/* rates.h -- rate limits. The functions return 0 if a token was available and is taken, else the ms
 * until one is available. */
#ifndef RELAY_RATES_H
#define RELAY_RATES_H

#include "hub.h"

/* Microseconds on the loop's clock at which the bucket is full again. */
typedef int64_t relay__bucket_t;

typedef struct relay__rate {
  double tokens; /* a second; 0: no limit */
  uint32_t burst;
} relay__rate_t;

enum { RELAY__USER_RATES = RELAY_RATE_MEMBERSHIP }; /* the rates before it */

/* Takes a token of an open session and one of its user: a request must be within both rates. If one of them
 * refuses, takes none, and sets `refusal` to the text of the error. */
int64_t relay__session_take_token(relay_hub_t *hub, relay_session_t *session, relay_rate_t kind,
                                  const char **refusal);
int64_t relay__room_take_token(relay_hub_t *hub, relay_room_t *room, relay_rate_t kind);
/* Takes the tokens of a message that may push: one, and one more for each 100 members to push to. The room
 * pays all of them, and the sender (NULL: an API key) all but the first. */
int64_t relay__room_take_send(relay_hub_t *hub, relay_room_t *room, relay_user_t *sender,
                              uint32_t recipients);
/* Returns the time on the loop's clock at which all buckets of the user are full. */
int64_t relay__user_rates_full_at(const relay_user_t *user);

#endif
