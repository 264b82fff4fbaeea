// SPDX-License-Identifier: Apache-2.0
/* Bounds on HTTP requests in progress and on the bytes that they hold: received bodies and unread answers.
 *
 * A request counts for its address until its caller is known, and then for that user. The requests of API
 * keys count only against the bound of all requests. Requests of unknown callers may hold a quarter of that
 * bound, so that they leave the rest to known users. */
#include "edge.h"

#include <stdlib.h>

/* Many users may share an address, and a backend's requests count for it until their API key is known. */
enum { USERS_PER_ADDRESS = 16, STRANGERS_PART = 4 };

/* Bytes behind the request count as well. */
static size_t held_by(const relay_exchange_t *exchange) {
  const size_t held = exchange->out.size > exchange->body.size ? exchange->out.size : exchange->body.size;
  return held + exchange->connection->rest.size;
}

static bool is_stranger(const relay_exchange_t *exchange) {
  return exchange->share && exchange->share->users == USERS_PER_ADDRESS;
}

void relay__share_count(relay_hub_t *hub, relay_exchange_t *exchange) {
  const size_t held = held_by(exchange);
  hub->edge->exchange_bytes += held - exchange->counted; /* unsigned, so a difference below 0 subtracts */
  if (exchange->share) exchange->share->bytes += held - exchange->counted;
  if (is_stranger(exchange)) hub->edge->stranger_bytes += held - exchange->counted;
  exchange->counted = held;
}

static void leave(relay_hub_t *hub, relay_exchange_t *exchange) {
  relay__share_t *share = exchange->share;
  if (!share) return;
  if (is_stranger(exchange)) hub->edge->stranger_bytes -= exchange->counted;
  exchange->share = NULL;
  share->bytes -= exchange->counted;
  if (--share->exchanges) return;
  relay__names_remove(&hub->edge->shares, &share->named);
  free(share);
}

void relay__share_end(relay_hub_t *hub, relay_exchange_t *exchange) {
  leave(hub, exchange);
  hub->edge->exchange_bytes -= exchange->counted;
  exchange->counted = 0;
}

/* Returns the bound for unknown callers. It is 0 only if `bound` is 0, because 0 means no bound. */
static uint64_t part_of(uint64_t bound) {
  return bound < STRANGERS_PART ? bound : bound / STRANGERS_PART;
}

/* A single request may exceed the bound, so that each request is possible with a low bound. */
static bool is_over(size_t others, size_t more, uint64_t bound) {
  return bound && others && others + more > bound;
}

relay__busy_t relay__share_allows(const relay_hub_t *hub, const relay_exchange_t *exchange, size_t more) {
  const relay__share_t *share = exchange->share;
  if (share && is_over(share->bytes - exchange->counted, more, hub->limits.unsent_per_user * share->users))
    return RELAY__BUSY_USER;
  if (is_stranger(exchange) &&
      is_over(hub->edge->stranger_bytes - exchange->counted, more, part_of(hub->limits.unsent)))
    return RELAY__BUSY_ALL;
  return is_over(hub->edge->exchange_bytes - exchange->counted, more, hub->limits.unsent) ? RELAY__BUSY_ALL
                                                                                          : RELAY__NOT_BUSY;
}

int relay__busy_status(relay__busy_t busy) {
  return busy == RELAY__BUSY_USER ? 429 : busy == RELAY__BUSY_ALL ? 503 : 0;
}

/* Counts the request for the share with this key, which is created if needed. */
static relay__busy_t join(relay_hub_t *hub, relay_exchange_t *exchange, const char *key, size_t size,
                          uint32_t users) {
  relay__share_t *share = relay__names_find(&hub->edge->shares, key, size);
  const uint64_t bound = (uint64_t)hub->limits.requests_per_user * users;
  if (share && bound && share->exchanges >= bound) return RELAY__BUSY_USER;
  if (!share) {
    share = relay__named_allocate(sizeof *share, key, size);
    share->users = users;
    relay__names_add(&hub->edge->shares, &share->named);
  }
  share->exchanges++;
  share->bytes += exchange->counted;
  exchange->share = share;
  if (is_stranger(exchange)) hub->edge->stranger_bytes += exchange->counted;
  return relay__share_allows(hub, exchange, exchange->counted);
}

/* The first byte of a key keeps users and addresses apart. */
relay__busy_t relay__share_begin(relay_hub_t *hub, relay_exchange_t *exchange) {
  const relay__address_t address = relay__address_client(exchange->connection->address);
  char key[1 + sizeof address.bytes] = "a";
  memcpy(key + 1, address.bytes, sizeof address.bytes);
  return join(hub, exchange, key, sizeof key, USERS_PER_ADDRESS);
}

/* The functions of relay.h */

int relay_http_identify(relay_hub_t *hub, relay_id_t id, const char *user) {
  relay_exchange_t *exchange = relay__slots_find(&hub->edge->exchanges, id);
  if (!exchange) return 0;
  leave(hub, exchange);
  if (!user) return relay__busy_status(relay__share_allows(hub, exchange, exchange->counted));
  relay__text_t key = {0};
  relay__puts(&key, "u");
  relay__puts(&key, user);
  const relay__busy_t busy = join(hub, exchange, key.at, key.size, 1);
  free(key.at);
  return relay__busy_status(busy);
}
