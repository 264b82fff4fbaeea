// SPDX-License-Identifier: Apache-2.0
/* Bounds on HTTP requests in progress and on unread answers. */
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static peer_t *request(const host_t *host, const char *path, const char *headers) {
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, headers);
  return peer;
}

static void is_answered(const host_t *host, const char *path, const char *headers, int status) {
  peer_t *peer = request(host, path, headers);
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

TEST(requests, "share: a request above the limit of an address is refused, and each user has another limit") {
  relay_config_t config = host_config();
  config.limits.requests_per_user = 2;
  host_t *host = host_start(&config);
  peer_t *held[32]; /* an address may have the requests of 16 users */
  size_t count;
  for (size_t i = 0; i < 32; i++) {
    held[i] = request(host, "/held", "");
    count = i + 1;
    EXPECT(host_reaches(host, has_exchanges, &count));
  }
  is_answered(host, "/nothing", "", 429);
  peer_t *session = peer_dial(host_port(host)); /* a handshake does not count */
  EXPECT_INTEGER(peer_upgrade(session, "/v1/connect", ""), 101);
  peer_leave(session);
  host_do(host, answer_last, host);
  EXPECT_INTEGER(peer_response(held[31], false), 200);
  count = 31;
  EXPECT(host_reaches(host, has_exchanges, &count));
  is_answered(host, "/nothing", "", 204);
  peer_t *ann[2]; /* a request of a known user no longer counts for the address */
  for (size_t i = 0; i < 2; i++) {
    ann[i] = request(host, "/held", "X-Stillwire-User: ann\r\n");
    count = 32 + i;
    EXPECT(host_reaches(host, has_exchanges, &count));
  }
  peer_t *third = request(host, "/held", "X-Stillwire-User: ann\r\n");
  EXPECT_INTEGER(peer_response(third, false), 429);
  EXPECT_TEXT(third->text, "busy");
  peer_cut(third);
  is_answered(host, "/nothing", "X-Stillwire-User: bob\r\n", 204);
  is_answered(host, "/nothing", "", 204);
  host_cut(host); /* host_end() would wait for the held requests */
  for (size_t i = 0; i < 2; i++) peer_cut(ann[i]);
  for (size_t i = 0; i < 32; i++) peer_cut(held[i]);
}

TEST(unsent, "share: unread answers are bounded, for each user and for all together") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = POLICY_LARGE + (1 << 20);
  config.limits.unsent = 2 * POLICY_LARGE + (1 << 20);
  host_t *host = host_start(&config);
  peer_t *ann = request(host, "/large", "X-Stillwire-User: ann\r\n");
  EXPECT(host_reaches(host, holds_bytes, NULL));
  is_answered(host, "/large", "X-Stillwire-User: ann\r\n", 429);
  is_answered(host, "/what", "X-Stillwire-User: ann\r\n", 200); /* a small answer is always sent */
  is_answered(host, "/large", "X-Stillwire-User: bob\r\n", 200);
  peer_t *bob = request(host, "/large", "X-Stillwire-User: bob\r\n");
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

TEST(alone, "share: a single answer may exceed the bounds") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = config.limits.unsent = 1;
  host_t *host = host_start(&config);
  is_answered(host, "/large", "", 200);
  host_end(host);
}

static bool holds(relay_hub_t *hub, void *bytes) {
  return relay_hub_counts(hub).exchange_bytes == *(size_t *)bytes;
}

static peer_t *posts(const host_t *host, const char *headers, size_t size) {
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n%s\r\n", headers);
  for (; size; size -= 1000) peer_print(peer, "%0*d", 1000, 0);
  return peer;
}

TEST(bodies, "share: the bytes of a body count when they are received") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = 6250; /* 100,000 of an address */
  host_t *host = host_start(&config);
  peer_t *heads[4], *begun = posts(host, "", 59000);
  size_t bytes = 59000, count = 5;
  EXPECT(host_reaches(host, holds, &bytes));
  for (size_t i = 0; i < 4; i++) heads[i] = posts(host, "", 0); /* requests without body bytes do not count */
  EXPECT(host_reaches(host, has_exchanges, &count));
  peer_t *late = posts(host, "", 59000);
  EXPECT_INTEGER(peer_response(late, false), 429);
  EXPECT_CONTAINS(late->headers, "Connection: close");
  peer_cut(late);
  peer_t *small = peer_dial(host_port(host));
  peer_print(small, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_INTEGER(peer_response(small, false), 200);
  peer_cut(small);
  peer_cut(begun);
  for (size_t i = 0; i < 4; i++) peer_cut(heads[i]);
  host_end(host);
}

TEST(strangers, "share: requests of unknown callers may hold a quarter of the bound for all") {
  relay_config_t config = host_config();
  config.limits.unsent = 200000;
  host_t *host = host_start(&config);
  peer_t *begun = posts(host, "", 40000);
  size_t bytes = 40000;
  EXPECT(host_reaches(host, holds, &bytes));
  peer_t *late = posts(host, "", 40000);
  EXPECT_INTEGER(peer_response(late, false), 503);
  peer_cut(late);
  is_answered(host, "/medium", "X-Stillwire-User: ann\r\n", 200);
  is_answered(host, "/medium", "X-Stillwire-User: key\r\n", 200);
  is_answered(host, "/medium", "", 503);
  peer_cut(begun);
  bytes = 0;
  EXPECT(host_reaches(host, holds, &bytes));
  is_answered(host, "/medium", "", 200);
  host_end(host);
}

TEST(changes, "share: the hub sends an answer to a change even if a bound is reached") {
  relay_config_t config = host_config();
  config.limits.unsent_per_user = POLICY_LARGE + 10000;
  host_t *host = host_start(&config);
  peer_t *unread = request(host, "/large", "X-Stillwire-User: ann\r\n");
  EXPECT(host_reaches(host, holds_bytes, NULL));
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "POST /medium HTTP/1.1\r\nHost: a\r\nX-Stillwire-User: ann\r\nContent-Length: 0\r\n\r\n");
  EXPECT_INTEGER(peer_response(peer, false), 200);
  peer_cut(peer);
  is_answered(host, "/medium", "X-Stillwire-User: ann\r\n", 429);
  EXPECT(host_noted(host, "log info refused with 429 from 127.0.0.1: too many requests in progress or unread "
                          "answers of this user or address"));
  peer_cut(unread);
  host_end(host);
}

static void fill_stream(relay_hub_t *hub, void *context) {
  static const char line[5000] = "data: ";
  host_t *host = context;
  EXPECT(!relay_http_stream_write(hub, host->exchange, (relay_bytes_t){line, sizeof line}));
}

TEST(streams, "share: the hub cuts a stream if its unread bytes exceed a bound") {
  relay_config_t config = host_config();
  config.limits.unsent = POLICY_LARGE;
  host_t *host = host_start(&config);
  peer_t *stream = request(host, "/stream", "X-Stillwire-User: bob\r\n");
  EXPECT(host_noted(host, "held stream"));
  peer_t *unread = request(host, "/large", "X-Stillwire-User: ann\r\n");
  EXPECT(host_reaches(host, holds_bytes, NULL));
  host_do(host, fill_stream, host);
  EXPECT(host_noted(host, "stream closed"));
  peer_cut(unread);
  peer_cut(stream);
  host_end(host);
}

TEST(pipelining, "share: requests behind an unread answer do not close connections of others") {
  host_t *host = host_start(NULL);
  peer_t *peers[12], *other = peer_dial(host_port(host));
  for (size_t i = 0; i < 12; i++) {
    peers[i] = peer_dial(host_port(host));
    peer_print(peers[i], "GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT(host_reaches(host, holds_bytes, NULL));
    for (int j = 0; j < 3; j++) {
      peer_print(other, "GET /what HTTP/1.1\r\nHost: a\r\n\r\n");
      EXPECT_INTEGER(peer_response(other, false), 200);
      EXPECT_LACKS(other->headers, "Connection: close");
    }
  }
  for (size_t i = 0; i < 12; i += 11) { /* both requests are answered when the first answer is read */
    EXPECT_INTEGER(peer_response(peers[i], false), 200);
    EXPECT_INTEGER(peer_response(peers[i], false), 204);
  }
  for (size_t i = 0; i < 12; i++) peer_cut(peers[i]);
  peer_cut(other);
  host_end(host);
}
