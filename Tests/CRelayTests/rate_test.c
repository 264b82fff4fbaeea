// SPDX-License-Identifier: Apache-2.0
/* Rates of users and rooms, which several sessions share. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

/* Returns rates so low that no token is added during a test. */
static relay_config_t slow(void) {
  relay_config_t config = host_config();
  config.limits.send_rate = 0.001;
  config.limits.send_burst = 2;
  return config;
}

/* Sets types with the rate of sends, types with that of Focus reports, and two others. */
static void set_requests(relay_config_t *config) {
  static const relay_request_type_t types[] = {{"join", RELAY_RATE_REQUEST}, {"history", RELAY_RATE_REQUEST},
                                               {"edit", RELAY_RATE_SEND},    {"delete", RELAY_RATE_SEND},
                                               {"focus", RELAY_RATE_FOCUS},  {"filter", RELAY_RATE_FOCUS}};
  config->requests = types;
  config->request_count = sizeof types / sizeof *types;
}

static void send_to(peer_t *peer, const char *room) {
  peer_say(peer, "{\"type\":\"send\",\"id\":1,\"room\":\"%s\",\"body\":1}", room);
}

static const char sent[] = "\"type\":\"ok\"", limited[] = "rate_limited";

TEST(user_rate, "rate: all sessions of a user together have twice the sends of one session") {
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
  EXPECT_CONTAINS(peer_receive(peers[0]), sent);
  send_to(peers[0], "live.0");
  EXPECT_CONTAINS(peer_receive(peers[0]), sent);
  send_to(peers[0], "live.0");
  EXPECT_CONTAINS(peer_receive(peers[0]), limited); /* by the rate of the session */
  for (int i = 0; i < 2; i++) {
    send_to(peers[1], "live.1");
    EXPECT_CONTAINS(peer_receive(peers[1]), sent);
  }
  send_to(peers[2], "live.2");
  const char *error = peer_receive(peers[2]);
  EXPECT_CONTAINS(error, limited); /* by the rate of the user */
  EXPECT_CONTAINS(error, "\"retryAfter\":");
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  host_end(host);
}

static const char *ask(peer_t *peer, const char *type) {
  peer_say(peer, "{\"type\":\"%s\",\"id\":1}", type);
  return peer_receive_with(peer, "\"id\":1");
}

static void request_outside(relay_hub_t *hub, void *delay) {
  *(int64_t *)delay = relay_user_take_tokens(hub, relay_user_named(hub, "ann"), RELAY_RATE_REQUEST, 1);
}

TEST(user_request_rate, "rate: all sessions of a user together have twice the requests of one session") {
  relay_config_t config = host_config();
  config.limits.request_rate = 0.001;
  config.limits.request_burst = 2;
  set_requests(&config);
  host_t *host = host_start(&config);
  peer_t *peers[3], *bob = peer_open(host_port(host), "bob", "");
  for (int i = 0; i < 3; i++) peers[i] = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(ask(peers[0], "history"), "unsupported" /* here */);
  EXPECT_CONTAINS(ask(peers[0], "ping"), "pong");
  EXPECT_CONTAINS(ask(peers[0], "ping"), "the session exceeds the limit `requestRate`");
  EXPECT_CONTAINS(ask(peers[1], "unknown"), "unsupported");
  EXPECT_CONTAINS(ask(peers[1], "ping"), "pong"); /* the refused request has taken no token of the user */
  const char *error = ask(peers[2], "ping");
  EXPECT_CONTAINS(error, limited);
  EXPECT_CONTAINS(error,
                  "the user exceeds twice the limit `requestRate`, with all sessions and HTTP requests");
  EXPECT_CONTAINS(error, "\"retryAfter\":");
  int64_t delay = 0;
  host_do(host, request_outside, &delay);
  EXPECT(delay > 0);
  EXPECT_CONTAINS(ask(bob, "ping"), "pong");
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  peer_leave(bob);
  host_end(host);
}

static void request_dearly(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t ann = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  EXPECT_INTEGER(relay_user_take_tokens(hub, ann, RELAY_RATE_REQUEST, 1), 0); /* as each request does */
  EXPECT_INTEGER(relay_user_take_tokens(hub, ann, RELAY_RATE_REQUEST, 25), 0);
  EXPECT(relay_user_take_tokens(hub, ann, RELAY_RATE_REQUEST, 1) > 0);
}

TEST(dear_request, "rate: a full bucket allows a request that costs more than the burst") {
  relay_config_t config = host_config();
  config.limits.request_rate = 0.001;
  config.limits.request_burst = 2;
  host_t *host = host_start(&config);
  host_do(host, request_dearly, NULL);
  host_end(host);
}

TEST(room_rate, "rate: a room accepts four times the sends of a session, from all users together") {
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
      EXPECT_CONTAINS(peer_receive_with(peers[i], "\"id\":1"), sent);
    }
  send_to(peers[4], "live.a");
  EXPECT_CONTAINS(peer_receive_with(peers[4], "\"id\":1"), limited);
  send_to(peers[4], "live.b"); /* the other room has its own rate */
  EXPECT_CONTAINS(peer_receive_with(peers[4], "\"id\":1"), sent);
  for (int i = 0; i < 5; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(focus_rate, "rate: reports of focus and filters have their own rate, for all sessions of a user") {
  relay_config_t config = host_config();
  config.limits.focus_rate = 0.001;
  config.limits.focus_burst = 3;
  set_requests(&config);
  host_t *host = host_start(&config);
  peer_t *one = peer_open(host_port(host), "ann", ""), *other = peer_open(host_port(host), "ann", "");
  for (int i = 0; i < 4; i++) {
    peer_t *peer = i % 2 ? one : other;
    peer_say(peer, i % 2 ? "{\"type\":\"focus\",\"id\":1,\"isFocused\":true}"
                         : "{\"type\":\"filter\",\"id\":1,\"active\":false}");
    EXPECT_CONTAINS(peer_receive_with(peer, "\"id\":1"), i < 3 ? "unsupported" /* here */ : limited);
  }
  peer_leave(one);
  peer_leave(other);
  host_end(host);
}

static void drain(relay_hub_t *hub, void *argument) {
  const relay_id_t user = relay_user_named(hub, "ann"), room = relay_room_named(hub, "live.a");
  int64_t *delays = argument;
  for (int i = 0; i < 5; i++) delays[i] = relay_user_take_tokens(hub, user, RELAY_RATE_SEND, 1);
  for (int i = 0; i < 9; i++) delays[5 + i] = relay_room_take_token(hub, room, RELAY_RATE_SEND);
}

TEST(outside_rate, "rate: requests without a session count together with those of sessions") {
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
  EXPECT_CONTAINS(peer_receive(peer), limited);
  peer_leave(peer);
  host_end(host);
}

/* Creates a room with `count` away members with a device, and the sender. */
static relay_id_t away_room(relay_hub_t *hub, const char *name, int count) {
  const relay_id_t room = relay_room_create(hub, name, "epoch", 0, 0, RELAY_ROOM_STORED | RELAY_ROOM_PUSHES);
  const relay_id_t sender = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, sender, 0, 0), RELAY_OK);
  for (int i = 0; i < count; i++) {
    char user[24];
    snprintf(user, sizeof user, "user%d", i);
    const relay_id_t id = relay_user_create(hub, user, (relay_bytes_t){0}, 0);
    EXPECT_INTEGER(relay_room_restore_member(hub, room, id, 0, 0), RELAY_OK);
    relay_user_set_has_devices(hub, id, true);
  }
  return room;
}

static void send_widely(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t few = away_room(hub, "pushed.few", 99), many = away_room(hub, "pushed.many", 300);
  const relay_id_t ann = relay_user_named(hub, "ann");
  /* The room has 40 tokens, and each message costs 4 of them. */
  for (int i = 0; i < 10; i++) EXPECT_INTEGER(relay_room_take_send(hub, many, 0), 0);
  EXPECT(relay_room_take_send(hub, many, 0) > 0);
  for (int i = 0; i < 40; i++) EXPECT_INTEGER(relay_room_take_send(hub, few, 0), 0);
  EXPECT(relay_room_take_send(hub, few, 0) > 0);
  /* The sender has 20 tokens, and pays the 3 tokens after the first one. */
  const relay_id_t other = away_room(hub, "pushed.other", 300);
  for (int i = 0; i < 6; i++) EXPECT_INTEGER(relay_room_take_send(hub, other, ann), 0);
  EXPECT(relay_room_take_send(hub, other, ann) > 0);
  EXPECT_INTEGER(relay_room_take_send(hub, other, 0),
                 0); /* the sender's rate has refused, and the room has paid nothing */
  for (int i = 0; i < 2; i++) EXPECT_INTEGER(relay_user_take_tokens(hub, ann, RELAY_RATE_SEND, 1), 0);
  EXPECT(relay_user_take_tokens(hub, ann, RELAY_RATE_SEND, 1) > 0);
}

TEST(recipient_rate, "rate: a message costs one more token for each 100 members to push to") {
  relay_config_t config = slow();
  config.limits.send_burst = 10;
  host_t *host = host_start(&config);
  host_do(host, send_widely, NULL);
  host_end(host);
}

static void send_dearly(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = away_room(hub, "pushed.many", 900);
  const relay_id_t ann = relay_user_named(hub, "ann");
  EXPECT_INTEGER(relay_user_take_tokens(hub, ann, RELAY_RATE_SEND, 1), 0); /* as each request does */
  EXPECT_INTEGER(relay_room_take_send(hub, room, ann), 0);
  EXPECT(relay_room_take_send(hub, room, 0) > 0);
}

TEST(dear_message, "rate: a full bucket allows a message that costs more than the burst") {
  const relay_config_t config = slow();
  host_t *host = host_start(&config);
  host_do(host, send_dearly, NULL);
  host_end(host);
}

static void retry_dearly(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = away_room(hub, "pushed.many", 300), ann = relay_user_named(hub, "ann");
  for (int i = 0; i < 2; i++) {
    EXPECT_INTEGER(relay_user_take_tokens(hub, ann, RELAY_RATE_SEND, 1), 0);
    EXPECT_INTEGER(relay_room_take_send(hub, room, ann), 0);
  }
  /* 2 of 10 tokens are left, and each request takes one of them. */
  int64_t delay = 0;
  for (int i = 0; i < 5; i++) {
    EXPECT_INTEGER(relay_user_take_tokens(hub, ann, RELAY_RATE_SEND, 1), 0);
    delay = relay_room_take_send(hub, room, ann);
    EXPECT(delay > 1000 && delay < 2100); /* 2 tokens are missing, at one a second */
  }
}

TEST(refused_dear_message, "rate: a refused message takes no tokens, so a retry succeeds") {
  relay_config_t config = slow();
  config.limits.send_rate = 0.5; /* a user has twice as much */
  config.limits.send_burst = 5;
  host_t *host = host_start(&config);
  host_set_clock(host, 1000);
  host_do(host, retry_dearly, NULL);
  host_end(host);
}

static void change_memberships(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = away_room(hub, "pushed.a", 0);
  for (int i = 0; i < 40; i++) EXPECT_INTEGER(relay_room_take_token(hub, room, RELAY_RATE_MEMBERSHIP), 0);
  EXPECT(relay_room_take_token(hub, room, RELAY_RATE_MEMBERSHIP) > 0);
  EXPECT_INTEGER(relay_room_take_token(hub, room, RELAY_RATE_SEND), 0);
}

TEST(membership_rate, "rate: joins and leaves have their own rate per room") {
  relay_config_t config = host_config();
  config.limits.request_rate = 0.001;
  config.limits.request_burst = 2;
  host_t *host = host_start(&config);
  host_do(host, change_memberships, NULL);
  host_end(host);
}

TEST(edit_rate, "rate: edits and deletions count as sends, for all sessions of a user") {
  relay_config_t config = slow();
  set_requests(&config);
  host_t *host = host_start(&config);
  peer_t *peers[3];
  for (int i = 0; i < 3; i++) peers[i] = peer_open(host_port(host), "ann", "");
  for (int i = 0; i < 5; i++) {
    peer_t *peer = peers[i / 2];
    peer_say(peer, i % 2 ? "{\"type\":\"edit\",\"id\":1,\"room\":\"live.a\",\"seq\":1,\"body\":1}"
                         : "{\"type\":\"delete\",\"id\":1,\"room\":\"live.a\",\"seq\":1}");
    EXPECT_CONTAINS(peer_receive_with(peer, "\"id\":1"), i < 4 ? "unsupported" /* here */ : limited);
  }
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  host_end(host);
}

static const char *outcome(peer_t *peer, const char *type) {
  peer_say(peer, "{\"type\":\"%s\",\"id\":1,\"room\":\"live.a\"}", type);
  const char *text = peer_receive_with(peer, "\"id\":1");
  return !text                         ? ""
         : strstr(text, limited)       ? "limited"
         : strstr(text, "unsupported") ? "unsupported"
                                       : "other";
}

TEST(configured_rate, "rate: the configuration gives each type of frame its rate") {
  static const relay_request_type_t types[] = {
      {"edit", RELAY_RATE_REQUEST}, {"history", RELAY_RATE_SEND}, {"watch", RELAY_RATE_FOCUS}};
  relay_config_t config = host_config();
  config.limits.send_rate = config.limits.request_rate = config.limits.focus_rate = 0.001;
  config.limits.send_burst = config.limits.focus_burst = 1;
  config.limits.request_burst = 4;
  config.requests = types;
  config.request_count = sizeof types / sizeof *types;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  static const char *const steps[][2] = {
      {"history", "unsupported"}, {"history", "limited"},     /* a send */
      {"watch", "unsupported"},   {"watch", "limited"},       /* a Focus report, and a request */
      {"edit", "unsupported"},    {"no-type", "unsupported"}, /* a request each */
      {"edit", "unsupported"},    {"no-type", "limited"},
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    EXPECT_TEXT(outcome(peer, steps[i][0]), steps[i][1]);
  peer_leave(peer);
  host_end(host);
}

static void visit(relay_hub_t *hub, void *delay) {
  const relay_id_t user = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  relay_user_retain(hub, user);
  *(int64_t *)delay = relay_user_take_tokens(hub, user, RELAY_RATE_REQUEST, 1);
  relay_user_release(hub, user);
}

static bool is_forgotten(relay_hub_t *hub, void *argument) {
  (void)argument;
  return relay_user_named(hub, "ann") == 0;
}

TEST(visits, "rate: a user without a session stays in memory until its buckets are full") {
  relay_config_t config = host_config();
  config.limits.request_rate = 2; /* a user has twice as much */
  config.limits.request_burst = 1;
  host_t *host = host_start(&config);
  int64_t delays[3];
  for (int i = 0; i < 3; i++) host_do(host, visit, &delays[i]);
  EXPECT_INTEGER(delays[0], 0);
  EXPECT_INTEGER(delays[1], 0);
  EXPECT(delays[2] > 0);
  EXPECT(host_reaches(host, is_forgotten, NULL));
  host_end(host);
}

TEST(refill, "rate: a request succeeds after the time in retryAfter") {
  relay_config_t config = host_config();
  config.limits.send_rate = 200;
  config.limits.send_burst = 1;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  int refusals = 0;
  for (int taken = 0; taken < 4;) {
    send_to(peer, "live.a");
    const char *text = peer_receive(peer);
    EXPECT(text);
    if (!text) break;
    if (strstr(text, sent)) taken++;
    if (strstr(text, limited)) {
      refusals++;
      usleep(1000); /* a client that does not wait is closed */
    }
  }
  EXPECT(refusals > 0);
  peer_leave(peer);
  host_end(host);
}
