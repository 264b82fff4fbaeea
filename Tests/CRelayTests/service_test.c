// SPDX-License-Identifier: Apache-2.0
/* A hub that is held, and a hub that ends its service. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

/* Returns true if the peer gets nothing for 150 ms. */
static bool is_silent(peer_t *peer) {
  struct pollfd socket = {.fd = peer->socket, .events = POLLIN};
  return poll(&socket, 1, 150) == 0;
}

TEST(held, "service: a held hub keeps the requests of sessions, and answers them later in order") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "live.a");
  peer_join(bob, "live.a");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"bob\""), "live.a");
  host_serve(host, RELAY_HELD);
  usleep(50000);
  peer_say(bob, "{\"type\":\"send\",\"room\":\"live.a\",\"body\":1,\"id\":1}");
  peer_say(bob, "{\"type\":\"ping\",\"id\":2}");
  EXPECT(is_silent(ann) && is_silent(bob));
  host_serve(host, RELAY_SERVES);
  EXPECT_CONTAINS(peer_receive(bob), "{\"type\":\"ok\",\"id\":1");
  EXPECT_CONTAINS(peer_receive(bob), "{\"type\":\"pong\",\"id\":2");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"body\":1"), "live.a");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(held_idle, "service: a held hub waits, also if it began to read on before") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  atomic_store(&host->is_held_by_hold, true);
  /* Longer than one read, so the hub does not wait before its next iteration. */
  peer_say(ann, "{\"type\":\"hold\",\"filler\":\"%0999d\"}", 0);
  EXPECT(host_noted(host, "held hold"));
  usleep(50000);
  const int before = atomic_load(&host->reads);
  usleep(100000);
  EXPECT(atomic_load(&host->reads) - before < 20);
  host_serve(host, RELAY_SERVES);
  host_finish_held(host);
  peer_leave(ann);
  host_end(host);
}

static void expect_status(host_t *host, const char *path, int status) {
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
  EXPECT_INTEGER(peer_response(peer, false), status);
  if (status == 503) EXPECT_CONTAINS(peer->headers, "Retry-After: ");
  peer_cut(peer);
}

TEST(held_http, "service: a held hub is live, and refuses other requests and handshakes") {
  host_t *host = host_start(NULL);
  host_serve(host, RELAY_HELD);
  usleep(50000);
  expect_status(host, "/live", 200);
  expect_status(host, "/ready", 503);
  peer_t *dials = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(dials, "/v1/connect", ""), 503);
  host_serve(host, RELAY_SERVES);
  peer_cut(dials);
  host_end(host);
}

TEST(held_paths, "service: a held hub hands over the requests of some paths, also those with a body") {
  relay_config_t config = host_config();
  config.held_paths = "/ready /v1/cluster/step-down";
  host_t *host = host_start(&config);
  peer_t *begun = peer_dial(host_port(host));
  peer_print(begun, "POST /v1/cluster/step-down HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{");
  usleep(50000);
  host_serve(host, RELAY_HELD);
  usleep(50000);
  /* The connection stays open, and the second request follows the first one. */
  peer_t *peer = peer_dial(host_port(host));
  for (int i = 0; i < 2; i++) peer_print(peer, "GET /ready HTTP/1.1\r\nHost: a\r\n\r\n");
  for (int i = 0; i < 2; i++) EXPECT_INTEGER(peer_response(peer, false), 200);
  EXPECT(host_noted(host, "held /ready 0"));
  peer_cut(peer);
  peer_print(begun, "}");
  EXPECT_INTEGER(peer_response(begun, false), 200);
  EXPECT(host_noted(host, "held /v1/cluster/step-down 2"));
  peer_cut(begun);
  expect_status(host, "/ready/", 503);
  expect_status(host, "/metrics", 503);
  expect_status(host, "/live", 200);
  peer_t *dials = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(dials, "/v1/connect", ""), 503);
  peer_cut(dials);
  host_serve(host, RELAY_SERVES);
  /* Afterwards the path is like any other one. */
  expect_status(host, "/ready", 404);
  EXPECT_INTEGER(host_notes(host, "held /ready"), 2);
  host_end(host);
}

TEST(ended, "service: at the end of the service, bye is the only frame that a session still gets") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_t *waits = peer_dial(host_port(host));
  peer_print(waits, "GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  peer_say(ann, "{\"type\":\"hold\"}");
  EXPECT(host_noted(host, "held hold") && host_noted(host, "held http"));
  host_serve(host, RELAY_HELD);
  usleep(50000);
  peer_say(bob, "{\"type\":\"ping\"}");
  usleep(50000);
  host_serve(host, RELAY_ENDED);
  host_finish_held(host);
  peer_t *const all[] = {ann, bob};
  for (int i = 0; i < 2; i++) {
    EXPECT_CONTAINS(peer_receive(all[i]), "{\"type\":\"bye\",\"code\":4000,");
    EXPECT(peer_receive(all[i]) == NULL);
    EXPECT_INTEGER(all[i]->close_code, 4000);
    peer_leave(all[i]);
  }
  EXPECT(peer_sees_end(waits));
  peer_cut(waits);
  host_end(host);
}
