// SPDX-License-Identifier: Apache-2.0
/* Graceful shutdown: the close of all sessions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { CROWD = 450 };

static void drain(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_drain(hub, 4000, "the server is shutting down");
}

static void answer_held(relay_hub_t *hub, void *argument) {
  const host_t *host = argument;
  relay_http_respond(hub, host->exchange, 201, "", (relay_bytes_t){"late", 4});
}

static bool has_no_sessions(relay_hub_t *hub, void *unused) {
  (void)unused;
  return !relay_hub_counts(hub).sessions;
}

TEST(spread, "drain: all clients get the jitter of a drain, and a retryAfter at different times within it") {
  host_t *host = host_start(NULL);
  peer_t *peers[CROWD];
  for (int i = 0; i < CROWD; i++) {
    char name[16];
    snprintf(name, sizeof name, "user%d", i);
    peers[i] = peer_open(host_port(host), name, "");
  }
  host_do(host, drain, NULL);
  host_do(host, drain, NULL);
  int tenths[10] = {0};
  for (int i = 0; i < CROWD; i++) {
    const char *bye = peer_receive_with(peers[i], "\"bye\"");
    EXPECT_CONTAINS(bye, "\"code\":4000,\"reason\":\"the server is shutting down\",\"reconnect\":true");
    const char *retry = bye ? strstr(bye, "\"retryAfter\":") : NULL;
    if (!EXPECT(retry != NULL)) break;
    const double seconds = strtod(retry + strlen("\"retryAfter\":"), NULL);
    /* 0.2 s, and 1 s for each 1,000 sessions. */
    EXPECT_CONTAINS(bye, "\"jitter\":0.65,");
    EXPECT(seconds >= 0 && seconds <= 0.65);
    tenths[seconds < 0.65 ? (int)(seconds / 0.065) : 9]++;
    EXPECT(peer_receive(peers[i]) == NULL);
    EXPECT_INTEGER(peers[i]->close_code, 4000);
    peer_leave(peers[i]);
  }
  for (int i = 0; i < 10; i++) EXPECT(tenths[i] > 0);
  EXPECT(host_reaches(host, has_no_sessions, NULL));
  host_end(host);
}

TEST(newcomers, "drain: a handshake gets 503 with Retry-After, and HTTP requests are answered") {
  host_t *host = host_start(NULL);
  host_do(host, drain, NULL);
  peer_t *peer = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(peer, "/v1/connect", ""), 503);
  EXPECT_CONTAINS(peer->headers, "Retry-After: ");
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  peer = peer_dial(host_port(host));
  peer_print(peer, "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_INTEGER(peer_response(peer, false), 200);
  EXPECT_CONTAINS(peer->headers, "Connection: close");
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(unfinished, "drain: an open request is answered before its session is closed") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  peer_say(ann, "{\"type\":\"hold\",\"id\":1}");
  EXPECT(host_noted(host, "held hold"));
  host_do(host, drain, NULL);
  EXPECT_CONTAINS(peer_receive_with(bob, "\"bye\""), "\"code\":4000");
  EXPECT(peer_receive_within(ann, 50) == NULL);
  EXPECT_INTEGER(ann->close_code, 0);
  host_finish_held(host);
  EXPECT_CONTAINS(peer_receive(ann), "\"held\":true");
  EXPECT_CONTAINS(peer_receive(ann), "\"bye\"");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(last_session, "drain: the end of the last session is an event") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  host_do(host, drain, NULL);
  EXPECT_CONTAINS(peer_receive_with(ann, "\"bye\""), "\"code\":4000");
  peer_leave(ann);
  EXPECT(host_has_sessions(host, 1));
  EXPECT_INTEGER(host_notes(host, "drained"), 0);
  EXPECT_CONTAINS(peer_receive_with(bob, "\"bye\""), "\"code\":4000");
  peer_leave(bob);
  EXPECT(host_noted(host, "drained"));
  EXPECT_INTEGER(host_notes(host, "drained"), 1);
  host_end(host);
}

TEST(last_exchange, "drain: the end of the last exchange is an event") {
  host_t *host = host_start(NULL);
  peer_t *waiting = peer_dial(host_port(host));
  peer_print(waiting, "GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT(host_noted(host, "held http"));
  peer_t *other = peer_dial(host_port(host));
  peer_print(other, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_INTEGER(peer_response(other, false), 200);
  host_do(host, drain, NULL);
  peer_print(other, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_INTEGER(peer_response(other, false), 200);
  EXPECT_INTEGER(host_notes(host, "drained"), 0);
  host_do(host, answer_held, host);
  EXPECT_INTEGER(peer_response(waiting, false), 201);
  EXPECT(host_noted(host, "drained"));
  peer_cut(waiting);
  peer_cut(other);
  host_end(host);
}
