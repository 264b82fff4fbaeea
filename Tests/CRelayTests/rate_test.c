// SPDX-License-Identifier: Apache-2.0
/* Rates that several sessions share. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

/* So slow that no token comes back while a test runs. */
static relay_config_t slow(void) {
  relay_config_t config = host_config();
  config.limits.send_rate = 0.001;
  config.limits.send_burst = 2;
  return config;
}

static void send_to(peer_t *peer, const char *room) {
  peer_say(peer, "{\"type\":\"send\",\"id\":1,\"room\":\"%s\",\"body\":1}", room);
}

static const char sent[] = "\"type\":\"ok\"", limited[] = "rate_limited";

TEST(user_rate, "rate: the sessions of a user have twice the sends of one") {
  const relay_config_t config = slow();
  host_t *host = host_start(&config);
  peer_t *peers[3];
  for (int i = 0; i < 3; i++) {
    peers[i] = peer_open(host_port(host), "ann", "");
    char room[24];
    snprintf(room, sizeof room, "live.%d", i);
    peer_join(peers[i], room);
  }
  send_to(peers[0], "live.0");
  EXPECT_CONTAINS(peer_hear(peers[0]), sent);
  send_to(peers[0], "live.0");
  EXPECT_CONTAINS(peer_hear(peers[0]), sent);
  send_to(peers[0], "live.0");
  EXPECT_CONTAINS(peer_hear(peers[0]), limited); /* its own */
  for (int i = 0; i < 2; i++) {
    send_to(peers[1], "live.1");
    EXPECT_CONTAINS(peer_hear(peers[1]), sent);
  }
  send_to(peers[2], "live.2");
  const char *error = peer_hear(peers[2]);
  EXPECT_CONTAINS(error, limited); /* the user's */
  EXPECT_CONTAINS(error, "\"retryAfter\":");
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(room_rate, "rate: a room takes four times the sends of a session, from all together") {
  const relay_config_t config = slow();
  host_t *host = host_start(&config);
  peer_t *peers[5];
  for (int i = 0; i < 5; i++) {
    char name[24];
    snprintf(name, sizeof name, "user%d", i);
    peers[i] = peer_open(host_port(host), name, "");
    peer_join(peers[i], "live.a");
    peer_join(peers[i], "live.b");
  }
  for (int i = 0; i < 4; i++)
    for (int n = 0; n < 2; n++) {
      send_to(peers[i], "live.a");
      EXPECT_CONTAINS(peer_hear_of(peers[i], "\"id\":1"), sent);
    }
  send_to(peers[4], "live.a");
  EXPECT_CONTAINS(peer_hear_of(peers[4], "\"id\":1"), limited);
  send_to(peers[4], "live.b"); /* the other room is another matter */
  EXPECT_CONTAINS(peer_hear_of(peers[4], "\"id\":1"), sent);
  for (int i = 0; i < 5; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(focus_rate,
     "rate: reports of focus and of filters have a rate of their own, for all sessions of a user") {
  relay_config_t config = host_config();
  config.limits.focus_rate = 0.001;
  config.limits.focus_burst = 3;
  host_t *host = host_start(&config);
  peer_t *one = peer_open(host_port(host), "ann", ""), *other = peer_open(host_port(host), "ann", "");
  for (int i = 0; i < 4; i++) {
    peer_t *peer = i % 2 ? one : other;
    peer_say(peer, i % 2 ? "{\"type\":\"focus\",\"id\":1,\"isFocused\":true}"
                         : "{\"type\":\"filter\",\"id\":1,\"active\":false}");
    EXPECT_CONTAINS(peer_hear_of(peer, "\"id\":1"), i < 3 ? "unsupported" /* here */ : limited);
  }
  peer_leave(one);
  peer_leave(other);
  host_end(host);
}

static void drain(relay_hub_t *hub, void *argument) {
  const relay_id_t user = relay_user_named(hub, "ann"), room = relay_room_named(hub, "live.a");
  int64_t *delays = argument;
  for (int i = 0; i < 5; i++) delays[i] = relay_user_take_token(hub, user, RELAY_RATE_SEND);
  for (int i = 0; i < 9; i++) delays[5 + i] = relay_room_take_token(hub, room);
}

TEST(outside_rate, "rate: what is asked without a session counts together with the sessions") {
  const relay_config_t config = slow();
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  int64_t delays[14];
  host_do(host, drain, delays);
  for (int i = 0; i < 14; i++) {
    if (i == 4 || i == 13)
      EXPECT(delays[i] > 0);
    else
      EXPECT_INTEGER(delays[i], 0);
  }
  send_to(peer, "live.a");
  EXPECT_CONTAINS(peer_hear(peer), limited);
  peer_leave(peer);
  host_end(host);
}

static void visit(relay_hub_t *hub, void *delay) {
  const relay_id_t user = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  relay_user_retain(hub, user);
  *(int64_t *)delay = relay_user_take_token(hub, user, RELAY_RATE_REQUEST);
  relay_user_release(hub, user);
}

static bool is_forgotten(relay_hub_t *hub, void *argument) {
  (void)argument;
  return relay_user_named(hub, "ann") == 0;
}

TEST(visits, "rate: who asks without a session is remembered until the rate is whole again") {
  relay_config_t config = host_config();
  config.limits.request_rate = 4;
  config.limits.request_burst = 2;
  host_t *host = host_start(&config);
  int64_t delays[3];
  for (int i = 0; i < 3; i++) host_do(host, visit, &delays[i]);
  EXPECT_INTEGER(delays[0], 0);
  EXPECT_INTEGER(delays[1], 0);
  EXPECT(delays[2] > 0);
  EXPECT(host_reaches(host, is_forgotten, NULL));
  host_end(host);
}

TEST(refill, "rate: after the time that was told a request is within the rate again") {
  relay_config_t config = host_config();
  config.limits.send_rate = 200;
  config.limits.send_burst = 1;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  int refusals = 0;
  for (int taken = 0; taken < 4;) {
    send_to(peer, "live.a");
    const char *text = peer_hear(peer);
    EXPECT(text);
    if (!text) break;
    if (strstr(text, sent)) taken++;
    if (strstr(text, limited)) {
      refusals++;
      usleep(1000); /* who goes on regardless is closed */
    }
  }
  EXPECT(refusals > 0);
  peer_leave(peer);
  host_end(host);
}
