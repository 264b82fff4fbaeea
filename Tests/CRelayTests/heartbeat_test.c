// SPDX-License-Identifier: Apache-2.0
/* The heartbeat: pings, pongs, and the close of silent sessions. */
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/core.h" /* for the timers, which relay.h does not show */
#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000, HEARTBEAT = 100, PATIENCE = 1000 };

static host_t *start(void) {
  relay_config_t config = host_config();
  config.limits.heartbeat = HEARTBEAT;
  config.limits.pong_timeout = PATIENCE;
  return host_start(&config);
}

/* Starts a host with a simulated clock. */
static host_t *start_still(void) {
  host_t *host = start();
  host_set_clock(host, NOON);
  return host;
}

/* Waits until the peer has received `count` pings. Returns false after 5 s. */
static bool is_pinged(peer_t *peer, int count) {
  for (int i = 0; i < 500 && peer->pings < count; i++) EXPECT(peer_receive_within(peer, 10) == NULL);
  return peer->pings == count;
}

TEST(pongs, "heartbeat: a session that answers pings stays open") {
  host_t *host = start_still();
  peer_t *peer = peer_open(host_port(host), "ann", "");
  for (int i = 1; i <= 3 * PATIENCE / HEARTBEAT; i++) {
    host_pass(host, HEARTBEAT);
    EXPECT(is_pinged(peer, i));
  }
  EXPECT_INTEGER(peer->close_code, 0);
  EXPECT(peer_receives_none_with(peer, "bye"));
  peer_leave(peer);
  host_end(host);
}

TEST(long_patience, "heartbeat: a pong timeout longer than the heartbeat delays no ping") {
  host_t *host = start_still();
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer->answers_pings = false;
  host_pass(host, HEARTBEAT);
  EXPECT(is_pinged(peer, 1));
  /* A client that sends another frame than the pong also gets the next ping. */
  EXPECT(peer_receives_none_with(peer, "bye"));
  host_pass(host, HEARTBEAT);
  EXPECT(is_pinged(peer, 2));
  for (int i = 0; i < PATIENCE / HEARTBEAT; i++) host_pass(host, HEARTBEAT - 1);
  EXPECT_INTEGER(peer->close_code, 0);
  host_pass(host, PATIENCE / HEARTBEAT);
  EXPECT_CONTAINS(peer_receive(peer), "\"code\":4004");
  EXPECT_INTEGER(peer->pings, 2);
  peer_leave(peer);
  host_end(host);
}

/* The times at which sessions get pings, in the order of the sessions' timers. */
typedef struct pings {
  int64_t opened, first, last;
  int times;
} pings_t;

static void find_pings(relay_hub_t *hub, void *argument) {
  pings_t *pings = argument;
  pings->opened = hub->clock.loop;
  int64_t known[8];
  for (uint32_t i = 0; i < hub->timers.count; i++) {
    const relay__due_t *due = &hub->timers.heap[i];
    if (due->timer->kind != RELAY__TIMER_SESSION) continue;
    int at = 0;
    while (at < pings->times && known[at] != due->at) at++;
    if (at == pings->times && at < 8) known[pings->times++] = due->at;
    if (!pings->first || due->at < pings->first) pings->first = due->at;
    if (due->at > pings->last) pings->last = due->at;
  }
}

TEST(shares, "heartbeat: sessions that are due at about the same time get their pings together") {
  enum { LONG = 25000, SHARE = LONG / 64 };
  relay_config_t config = host_config();
  config.limits.heartbeat = LONG;
  host_t *host = host_start(&config);
  host_set_clock(host, NOON);
  peer_t *peers[8];
  for (int i = 0; i < 8; i++) {
    if (i) host_pass(host, 10);
    peers[i] = peer_open(host_port(host), "ann", "");
  }
  pings_t pings = {0};
  host_do(host, find_pings, &pings);
  EXPECT(pings.times == 1 || pings.times == 2); /* 8 without shares */
  EXPECT(pings.last <= pings.opened + LONG && pings.first > pings.opened - 70 + LONG - SHARE);
  for (int i = 0; i < 8; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(no_pong, "heartbeat: the hub closes a session that does not answer a ping with 4004") {
  host_t *host = start();
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer->answers_pings = false;
  EXPECT_CONTAINS(peer_receive(peer),
                  "{\"type\":\"bye\",\"code\":4004,\"reason\":\"no pong in time\",\"reconnect\":true,"
                  "\"jitter\":0.2}");
  EXPECT(peer_receive(peer) == NULL);
  EXPECT_INTEGER(peer->close_code, 4004);
  EXPECT_INTEGER(peer->pings, 1);
  peer_leave(peer);
  host_end(host);
}

TEST(wrong_pong, "heartbeat: a pong to another ping is a sign of life") {
  host_t *host = start_still();
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer->answers_pings = false;
  for (int i = 0; i < 3 * PATIENCE / HEARTBEAT; i++) {
    host_pass(host, HEARTBEAT);
    peer_frame(peer, true, PEER_PONG, "unasked", 7);
  }
  EXPECT_INTEGER(peer->close_code, 0);
  peer->answers_pings = true;
  EXPECT(peer_receives_none_with(peer, "bye"));
  peer_leave(peer);
  host_end(host);
}

TEST(text_is_life, "heartbeat: a session that sends text frames gets no ping") {
  host_t *host = start_still();
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer->answers_pings = false;
  for (int i = 0; i < 30; i++) {
    host_pass(host, HEARTBEAT - 1);
    EXPECT(peer_receives_none_with(peer, "bye"));
  }
  EXPECT_INTEGER(peer->pings, 0);
  peer_leave(peer);
  host_end(host);
}

TEST(client_pings, "heartbeat: the hub answers a client's ping") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_frame(peer, true, PEER_PING, "abc", 3);
  const char *raw = peer_raw_until(peer, "\x8a\x03"
                                         "abc");
  EXPECT(raw != NULL);
  peer_leave(peer);
  host_end(host);
}

static bool has_no_seats(relay_hub_t *hub, void *unused) {
  (void)unused;
  return !relay_hub_counts(hub).seats;
}

TEST(paused_ghost, "heartbeat: the hub closes a session that sends requests but reads no replies") {
  host_t *host = start();
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  char request[61] = "";
  memset(request, 'x', 60);
  /* Sends until the hub reads no more, because its replies fill the sockets and its queue. */
  const struct timeval patience = {.tv_usec = 50000};
  setsockopt(peer->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  while (peer_say(peer, "{\"type\":\"%s\",\"id\":\"%s\"}", request, request)) continue;
  EXPECT(host_reaches(host, has_no_seats, NULL));
  EXPECT_CONTAINS(peer_receive_with(peer, "\"bye\""), "\"code\":4004");
  peer_cut(peer);
  host_end(host);
}
