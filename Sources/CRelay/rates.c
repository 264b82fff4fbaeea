// SPDX-License-Identifier: Apache-2.0
/* How often a session, a user and a room may be asked for something.
 *
 * A bucket is one number: the time at which it would be full again (the generic cell rate algorithm), so
 * that a rate can change while buckets are in use, and one that was never used is full.
 */
#include "internal.h"

enum { PER_USER = 2, PER_ROOM = 4 };

/* Milliseconds until a token is there; 0: one is. */
static int64_t wait_of(relay__bucket_t bucket, relay__rate_t rate, int64_t clock) {
  if (rate.tokens <= 0) return 0;
  const double interval = 1e6 / rate.tokens, now = (double)clock * 1000;
  const double full_at = (double)bucket > now ? (double)bucket : now;
  const double late = full_at + interval - now - interval * rate.burst;
  return late <= 0.5 ? 0 : (int64_t)(late / 1000) + 1;
}

static void spend(relay__bucket_t *bucket, relay__rate_t rate, int64_t clock) {
  if (rate.tokens <= 0) return;
  const double now = (double)clock * 1000;
  *bucket = (int64_t)(((double)*bucket > now ? (double)*bucket : now) + 1e6 / rate.tokens + 0.5);
}

static relay__rate_t times(relay__rate_t rate, uint32_t factor) {
  return (relay__rate_t){rate.tokens * factor, rate.burst * factor};
}

static relay__rate_t rate_of(const relay_limits_t *limits, relay_rate_t kind) {
  switch (kind) {
  case RELAY_RATE_SEND:
    return (relay__rate_t){limits->send_rate, limits->send_burst};
  case RELAY_RATE_FOCUS:
    return (relay__rate_t){limits->focus_rate, limits->focus_burst};
  default:
    return (relay__rate_t){limits->request_rate, limits->request_burst};
  }
}

/* Of users only those who ask have buckets. */
static relay__bucket_t *bucket_of(relay_user_t *user, relay_rate_t kind) {
  if (!user->buckets) user->buckets = relay__allocate(RELAY__RATES * sizeof *user->buckets);
  return &user->buckets[kind];
}

int64_t relay__session_take_token(relay_hub_t *hub, relay_session_t *session, relay_rate_t kind) {
  const relay__rate_t rate = rate_of(&hub->limits, kind);
  relay__bucket_t *own = kind == RELAY_RATE_SEND ? &session->send_bucket : &session->request_bucket;
  if (rate.tokens <= 0) return 0;
  const int64_t delay = wait_of(*own, rate, hub->clock);
  if (delay || kind != RELAY_RATE_SEND) {
    if (!delay) spend(own, rate, hub->clock);
    return delay;
  }
  const relay__rate_t all = times(rate, PER_USER); /* the user's sessions together */
  relay__bucket_t *shared = bucket_of(session->user, RELAY_RATE_SEND);
  const int64_t shared_delay = wait_of(*shared, all, hub->clock);
  if (shared_delay) return shared_delay;
  spend(own, rate, hub->clock);
  spend(shared, all, hub->clock);
  return 0;
}

int64_t relay__room_take_token(relay_hub_t *hub, relay_room_t *room) {
  const relay__rate_t rate = times(rate_of(&hub->limits, RELAY_RATE_SEND), PER_ROOM);
  const int64_t delay = wait_of(room->bucket, rate, hub->clock);
  if (!delay) spend(&room->bucket, rate, hub->clock);
  return delay;
}

int64_t relay__user_rates_full_at(const relay_user_t *user) {
  relay__bucket_t last = 0;
  for (int i = 0; user->buckets && i < RELAY__RATES; i++)
    if (user->buckets[i] > last) last = user->buckets[i];
  return (last + 999) / 1000;
}

/* What relay.h publishes */

int64_t relay_user_take_token(relay_hub_t *hub, relay_id_t id, relay_rate_t kind) {
  relay_user_t *user = relay__user_find(hub, id);
  relay__rate_t rate = rate_of(&hub->limits, kind);
  if (!user || rate.tokens <= 0) return 0;
  if (kind == RELAY_RATE_SEND) rate = times(rate, PER_USER);
  relay__bucket_t *bucket = bucket_of(user, kind);
  const int64_t delay = wait_of(*bucket, rate, hub->clock);
  if (!delay) spend(bucket, rate, hub->clock);
  return delay;
}

int64_t relay_room_take_token(relay_hub_t *hub, relay_id_t id) {
  relay_room_t *room = relay__room_find(hub, id);
  return room ? relay__room_take_token(hub, room) : 0;
}
