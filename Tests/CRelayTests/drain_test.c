// SPDX-License-Identifier: Apache-2.0
/* Graceful shutdown: the close of all sessions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h" /* for the jitter, which relay.h does not show */
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
    /* More than 200 sessions, and at most 1,000. */
    EXPECT_CONTAINS(bye, "\"jitter\":1,");
    EXPECT(seconds >= 0 && seconds <= 1);
    tenths[seconds < 1 ? (int)(seconds * 10) : 9]++;
    EXPECT(peer_receive(peers[i]) == NULL);
    EXPECT_INTEGER(peers[i]->close_code, 4000);
    peer_leave(peers[i]);
  }
  for (int i = 0; i < 10; i++) EXPECT(tenths[i] > 0);
  EXPECT(host_reaches(host, has_no_sessions, NULL));
  host_end(host);
}

static void check_jitters(relay_hub_t *hub, void *unused) {
  (void)unused;
  static const struct {
    uint32_t sessions;
    double jitter;
  } rows[] = {{0, 0.2},  {1, 0.2},  {200, 0.2},  {201, 1},    {1000, 1},   {1001, 2},     {2000, 2},
              {2001, 4}, {5000, 8}, {16001, 32}, {32000, 32}, {32001, 60}, {10000000, 60}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hub->drain = (relay__drain_t){.is_on = true, .sessions = rows[i].sessions};
    EXPECT(relay__drain_jitter(hub) == rows[i].jitter);
    hub->drain.is_on = false; /* one client reconnects */
    EXPECT(relay__drain_jitter(hub) == 0.2);
  }
}

TEST(jitters, "drain: the jitter is a power of two, and small when only one session is closed") {
  host_t *host = host_start(NULL);
  host_do(host, check_jitters, NULL);
  host_end(host);
}

static void close_first(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_id_t session;
  EXPECT_INTEGER(relay_user_sessions(hub, relay_user_named(hub, "user0"), &session, 1), 1);
  relay_session_close(hub, session, 4005, "once", -1);
}

TEST(single_close, "drain: the close of one session among many states the smallest jitter") {
  host_t *host = host_start(NULL);
  peer_t *peers[CROWD];
  for (int i = 0; i < CROWD; i++) {
    char name[16];
    snprintf(name, sizeof name, "user%d", i);
    peers[i] = peer_open(host_port(host), name, "");
  }
  host_do(host, close_first, NULL);
  EXPECT_CONTAINS(peer_receive_with(peers[0], "\"bye\""), "\"reconnect\":true,\"jitter\":0.2}");
  for (int i = 0; i < CROWD; i++) peer_leave(peers[i]);
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
