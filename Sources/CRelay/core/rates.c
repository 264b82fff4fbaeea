// SPDX-License-Identifier: Apache-2.0
/* Rate limits of sessions, users and rooms, with token buckets.
 *
 * A bucket is one number: the time at which it is full again (generic cell rate algorithm). So a rate can
 * change while its buckets are in use, and an unused bucket (0) is full.
 */
#include "core.h"

enum {
  PER_USER = 2,
  PER_ROOM = 4,
  /* A drain lets about 1,000 clients a second reconnect, and all of them may rejoin the same room. */
  MEMBERSHIPS_PER_ROOM = 20,
  RECIPIENTS_PER_TOKEN = 100,
};

/* Limits the cost of a request to the burst, so that a full bucket allows any request. */
static double cost_within(relay__rate_t rate, uint32_t count) {
  return count < rate.burst ? count : rate.burst;
}

/* Returns the ms until `count` tokens are available; 0: they are available now. */
static int64_t wait_of(relay__bucket_t bucket, relay__rate_t rate, int64_t clock, uint32_t count) {
  if (rate.tokens <= 0) return 0;
  const double interval = 1e6 / rate.tokens, now = (double)clock * 1000;
  const double full_at = (double)bucket > now ? (double)bucket : now;
  const double late = full_at + interval * cost_within(rate, count) - now - interval * rate.burst;
  return late <= 0.5 ? 0 : (int64_t)(late / 1000) + 1;
}

static void spend(relay__bucket_t *bucket, relay__rate_t rate, int64_t clock, uint32_t count) {
  if (rate.tokens <= 0) return;
  const double now = (double)clock * 1000;
  *bucket = (int64_t)(((double)*bucket > now ? (double)*bucket : now) +
                      cost_within(rate, count) * 1e6 / rate.tokens + 0.5);
}

/* Returns the bucket as it was before `count` tokens were taken just now. */
static relay__bucket_t without(relay__bucket_t bucket, relay__rate_t rate, uint32_t count) {
  return rate.tokens <= 0 ? bucket : bucket - (int64_t)(cost_within(rate, count) * 1e6 / rate.tokens + 0.5);
}

static int64_t take(relay__bucket_t *bucket, relay__rate_t rate, int64_t clock, uint32_t count) {
  const int64_t delay = wait_of(*bucket, rate, clock, count);
  if (!delay) spend(bucket, rate, clock, count);
  return delay;
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

static relay__rate_t user_rate(const relay_limits_t *limits, relay_rate_t kind) {
  const relay__rate_t rate = rate_of(limits, kind);
  return kind == RELAY_RATE_FOCUS ? rate : times(rate, PER_USER);
}

/* Creates the buckets of a user when the first is used. */
static relay__bucket_t *bucket_of(relay_user_t *user, relay_rate_t kind) {
  if (!user->buckets) user->buckets = relay__allocate(RELAY__USER_RATES * sizeof *user->buckets);
  return &user->buckets[kind];
}

static int64_t user_take(relay_hub_t *hub, relay_user_t *user, relay_rate_t kind, uint32_t count) {
  const relay__rate_t rate = user_rate(&hub->limits, kind);
  if (rate.tokens <= 0) return 0;
  /* Several tokens are the additional cost of a request, which has already taken the first one. A user who
   * has requested nothing for a while can therefore always make it. */
  if (count > 1 && count >= rate.burst) count = rate.burst - 1;
  return take(bucket_of(user, kind), rate, hub->clock.loop, count);
}

int64_t relay__session_take_token(relay_hub_t *hub, relay_session_t *session, relay_rate_t kind,
                                  const char **refusal) {
  const relay_rate_t own_kind = kind == RELAY_RATE_SEND ? RELAY_RATE_SEND : RELAY_RATE_REQUEST;
  const relay__rate_t rate = rate_of(&hub->limits, own_kind);
  relay__bucket_t *own = own_kind == RELAY_RATE_SEND ? &session->send_bucket : &session->request_bucket;
  const int64_t own_delay = wait_of(*own, rate, hub->clock.loop, 1);
  if (own_delay) {
    *refusal = own_kind == RELAY_RATE_SEND ? "the session exceeds the limit `sendRate`"
                                           : "the session exceeds the limit `requestRate`";
    return own_delay;
  }
  const int64_t delay = user_take(hub, session->user, kind, 1);
  if (delay)
    *refusal = relay_user_rate_refusal(kind);
  else
    spend(own, rate, hub->clock.loop, 1);
  return delay;
}

int64_t relay__room_take_token(relay_hub_t *hub, relay_room_t *room, relay_rate_t kind) {
  const relay__rate_t rate = rate_of(&hub->limits, kind);
  if (kind == RELAY_RATE_MEMBERSHIP)
    return take(&room->membership_bucket, times(rate, MEMBERSHIPS_PER_ROOM), hub->clock.loop, 1);
  return take(&room->bucket, times(rate, PER_ROOM), hub->clock.loop, 1);
}

int64_t relay__room_take_send(relay_hub_t *hub, relay_room_t *room, relay_user_t *sender,
                              uint32_t recipients) {
  const relay__rate_t rate = times(rate_of(&hub->limits, RELAY_RATE_SEND), PER_ROOM);
  if (rate.tokens <= 0) return 0;
  const uint32_t extra = recipients / RECIPIENTS_PER_TOKEN;
  int64_t delay = wait_of(room->bucket, rate, hub->clock.loop, 1 + extra);
  if (extra && sender) {
    /* The request has already taken the first token. If the message is refused, that token is given back too,
     * so that the sender can send it after the delay. */
    const relay__rate_t own = user_rate(&hub->limits, RELAY_RATE_SEND);
    relay__bucket_t *bucket = bucket_of(sender, RELAY_RATE_SEND);
    *bucket = without(*bucket, own, 1);
    const int64_t own_delay = wait_of(*bucket, own, hub->clock.loop, 1 + extra);
    if (own_delay > delay) delay = own_delay;
    if (!delay) spend(bucket, own, hub->clock.loop, 1 + extra);
  }
  if (!delay) spend(&room->bucket, rate, hub->clock.loop, 1 + extra);
  return delay;
}

int64_t relay__user_rates_full_at(const relay_user_t *user) {
  relay__bucket_t last = 0;
  for (int i = 0; user->buckets && i < RELAY__USER_RATES; i++)
    if (user->buckets[i] > last) last = user->buckets[i];
  return (last + 999) / 1000;
}

/* The functions of relay.h */

int64_t relay_user_take_tokens(relay_hub_t *hub, relay_id_t id, relay_rate_t kind, uint32_t count) {
  relay_user_t *user = relay__user_find(hub, id);
  return user ? user_take(hub, user, kind, count) : 0;
}

const char *relay_user_rate_refusal(relay_rate_t kind) {
  switch (kind) {
  case RELAY_RATE_SEND:
    return "the user exceeds twice the limit `sendRate`, with all sessions and HTTP requests together";
  case RELAY_RATE_FOCUS:
    return "the user exceeds the limit `focusRate`, with all sessions and HTTP requests together";
  default:
    return "the user exceeds twice the limit `requestRate`, with all sessions and HTTP requests together";
  }
}

int64_t relay_room_take_token(relay_hub_t *hub, relay_id_t id, relay_rate_t kind) {
  relay_room_t *room = relay__room_find(hub, id);
  return room ? relay__room_take_token(hub, room, kind) : 0;
}
