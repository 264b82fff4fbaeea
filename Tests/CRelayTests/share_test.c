// SPDX-License-Identifier: Apache-2.0
/* Bounds on requests under way and on answers that nobody reads. */
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static peer_t *asks(const host_t *host, const char *path, const char *headers) {
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, headers);
  return peer;
}

static void is_answered(const host_t *host, const char *path, const char *headers, int status) {
  peer_t *peer = asks(host, path, headers);
  if (!EXPECT_INTEGER(peer_response(peer, false), status)) EXPECT_TEXT(path, headers);
  if (status == 429 || status == 503) EXPECT_CONTAINS(peer->headers, "Retry-After: 1\r\n");
  peer_cut(peer);
}

static bool has_exchanges(relay_hub_t *hub, void *count) {
  return relay_hub_counts(hub).exchanges == *(size_t *)count;
}

static bool holds_bytes(relay_hub_t *hub, void *unused) {
  (void)unused;
  return relay_hub_counts(hub).exchange_bytes >= POLICY_LARGE;
}

static void answer_last(relay_hub_t *hub, void *context) {
  relay_http_respond(hub, ((host_t *)context)->exchange, 200, "", (relay_bytes_t){0});
}

TEST(requests, "share: one past the requests of an address is refused, and users have their own") {
  relay_config_t config = host_config();
  config.limits.requests_per_user = 2;
  host_t *host = host_start(&config);
  peer_t *held[32]; /* an address may stand for 16 users */
  size_t count;
  for (size_t i = 0; i < 32; i++) {
    held[i] = asks(host, "/held", "");
    count = i + 1;
    EXPECT(host_reaches(host, has_exchanges, &count));
  }
  is_answered(host, "/nothing", "", 429);
  host_do(host, answer_last, host);
  EXPECT_INTEGER(peer_response(held[31], false), 200);
  count = 31;
  EXPECT(host_reaches(host, has_exchanges, &count));
  is_answered(host, "/nothing", "", 204);
  peer_t *ann[2]; /* a request that is known to be a user's is the address's no longer */
  for (size_t i = 0; i < 2; i++) {
    ann[i] = asks(host, "/held", "X-Stillwire-User: ann\r\n");
    count = 32 + i;
    EXPECT(host_reaches(host, has_exchanges, &count));
  }
  peer_t *third = asks(host, "/held", "X-Stillwire-User: ann\r\n");
  EXPECT_INTEGER(peer_response(third, false), 429);
  EXPECT_TEXT(third->text, "busy");
  peer_cut(third);
  is_answered(host, "/nothing", "X-Stillwire-User: bob\r\n", 204);
  is_answered(host, "/nothing", "", 204);
  host_cut(host); /* the requests that are held would keep it */
  for (size_t i = 0; i < 2; i++) peer_cut(ann[i]);
  for (size_t i = 0; i < 32; i++) peer_cut(held[i]);
}

TEST(unsent, "share: answers that nobody reads are bounded, for each user and in all") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = POLICY_LARGE + (1 << 20);
  config.limits.unsent = 2 * POLICY_LARGE + (1 << 20);
  host_t *host = host_start(&config);
  peer_t *ann = asks(host, "/large", "X-Stillwire-User: ann\r\n");
  EXPECT(host_reaches(host, holds_bytes, NULL));
  is_answered(host, "/large", "X-Stillwire-User: ann\r\n", 429);
  is_answered(host, "/what", "X-Stillwire-User: ann\r\n", 200); /* a small answer is always sent */
  is_answered(host, "/large", "X-Stillwire-User: bob\r\n", 200);
  peer_t *bob = asks(host, "/large", "X-Stillwire-User: bob\r\n");
  size_t count = 2;
  EXPECT(host_reaches(host, has_exchanges, &count));
  is_answered(host, "/large", "X-Stillwire-User: eve\r\n", 503);
  EXPECT_INTEGER(peer_response(ann, false), 200);
  EXPECT_INTEGER(ann->size, POLICY_LARGE);
  count = 1;
  is_answered(host, "/large", "X-Stillwire-User: ann\r\n", 200);
  peer_cut(ann);
  EXPECT(host_reaches(host, has_exchanges, &count));
  peer_cut(bob);
  count = 0;
  EXPECT(host_reaches(host, has_exchanges, &count));
  EXPECT_INTEGER(host_counts(host).exchange_bytes, 0);
  host_end(host);
}

TEST(alone, "share: a single answer may be larger than the bounds") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = config.limits.unsent = 1;
  host_t *host = host_start(&config);
  is_answered(host, "/large", "", 200);
  host_end(host);
}

TEST(bodies, "share: a body counts from its head on, before it has come") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = 6250; /* 100,000 of an address */
  host_t *host = host_start(&config);
  peer_t *begun = peer_dial(host_port(host)), *late = peer_dial(host_port(host));
  peer_print(begun, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n");
  size_t count = 1;
  EXPECT(host_reaches(host, has_exchanges, &count));
  peer_print(late, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n");
  EXPECT_INTEGER(peer_response(late, false), 429);
  peer_cut(late);
  peer_cut(begun);
  host_end(host);
}

TEST(pipelining, "share: requests behind one whose answer is not read close nobody else's connection") {
  host_t *host = host_start(NULL);
  peer_t *peers[12], *other = peer_dial(host_port(host));
  for (size_t i = 0; i < 12; i++) { /* more than the hub remembers: the oldest are cut */
    peers[i] = peer_dial(host_port(host));
    peer_print(peers[i], "GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT(host_reaches(host, holds_bytes, NULL));
    for (int j = 0; j < 3; j++) {
      peer_print(other, "GET /what HTTP/1.1\r\nHost: a\r\n\r\n");
      EXPECT_INTEGER(peer_response(other, false), 200);
      EXPECT_LACKS(other->headers, "Connection: close");
    }
  }
  EXPECT_INTEGER(peer_response(peers[11], false), 200); /* and one that is read ends as it was told */
  EXPECT_CONTAINS(peers[11]->headers, "Connection: close");
  EXPECT(peer_sees_end(peers[11]));
  for (size_t i = 0; i < 12; i++) peer_cut(peers[i]);
  peer_cut(other);
  host_end(host);
}
