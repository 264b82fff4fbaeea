// SPDX-License-Identifier: Apache-2.0
/* Frozen clients: sessions with `acks` that leave messages without `received`. */
#include <string.h>

#include "core/core.h" /* for the pong, which relay.h does not show */
#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000 };

#define IN_BACKGROUND "\"online\":true,\"activity\":\"background\""
#define ACTIVE "\"online\":true,\"activity\":\"active\""

/* Ann sends, and sees the activity of Bob. */
static host_t *host;
static peer_t *ann, *bob;

/* `fields` are those of Bob's `hello`. */
static void begin(const char *room, const char *fields) {
  relay_config_t config = host_config();
  config.limits.pong_timeout = 600000; /* a busy machine may delay the pongs of the test */
  host = host_start(&config);
  host_set_clock(host, NOON);
  ann = peer_open(host_port(host), "ann", "");
  bob = peer_open(host_port(host), "bob", fields);
  peer_join(ann, room);
  peer_join(bob, room);
  peer_catch_up(ann);
}

static void end(void) {
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

static void ann_says(const char *room) {
  peer_say(ann, "{\"type\":\"send\",\"id\":\"said\",\"room\":\"%s\",\"body\":1}", room);
  EXPECT(peer_receive_with(ann, "\"said\"") != NULL);
}

/* Time passes in steps of 500 ms, in which Bob's browser answers pings. */
static void pass_with_pongs(int64_t milliseconds) {
  for (; milliseconds > 0; milliseconds -= 500) {
    host_pass(host, 500);
    while (peer_receive_within(bob, 2)) continue;
  }
}

/* True if Ann sees Bob in the background before a minute has passed. */
static bool is_frozen(void) {
  for (int i = 0; i < 120; i++) {
    for (const char *frame; (frame = peer_receive_within(ann, 2));)
      if (strstr(frame, IN_BACKGROUND)) return true;
    pass_with_pongs(500);
  }
  return false;
}

TEST(frozen, "frozen: a client without `received` counts as in the background until it sends a frame") {
  static const char *const rooms[] = {"live.a", "stored.a", "pushed.a"};
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
    begin(rooms[i], ",\"acks\":true,\"activity\":\"active\"");
    ann_says(rooms[i]);
    pass_with_pongs(29500);
    EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
    EXPECT(is_frozen());
    pass_with_pongs(60000);
    EXPECT(peer_receives_none_with(ann, ACTIVE));
    peer_say(bob, "{\"type\":\"ping\",\"id\":1}");
    EXPECT(peer_receive_with(ann, ACTIVE) != NULL);
    /* The message is still without `received`, so the time begins again. */
    pass_with_pongs(29500);
    EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
    EXPECT(is_frozen());
    end();
  }
}

TEST(acknowledging, "frozen: a client that sends `received` or `read` stays active") {
  static const char *const types[] = {"received", "read"};
  for (int i = 0; i < 2; i++) {
    begin("stored.a", ",\"acks\":true,\"activity\":\"active\"");
    for (int seq = 1; seq <= 3; seq++) {
      ann_says("stored.a");
      EXPECT(peer_receive_with(bob, "\"type\":\"message\"") != NULL);
      peer_say(bob, "{\"type\":\"%s\",\"id\":\"mark\",\"room\":\"stored.a\",\"seq\":%d}", types[i], seq);
      EXPECT(peer_receive_with(bob, "\"mark\"") != NULL);
      pass_with_pongs(40000);
    }
    EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
    end();
  }
}

TEST(unjudged,
     "frozen: the hub does not judge a session without `acks`, or without a message of another user") {
  begin("stored.a", ",\"activity\":\"active\"");
  ann_says("stored.a");
  pass_with_pongs(60000);
  EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
  end();

  begin("stored.a", ",\"acks\":true,\"activity\":\"active\"");
  pass_with_pongs(60000);
  peer_t *phone = peer_open(host_port(host), "bob", ""); /* a client does not acknowledge its own messages */
  peer_join(phone, "stored.a");
  peer_say(phone, "{\"type\":\"send\",\"id\":\"said\",\"room\":\"stored.a\",\"body\":1}");
  EXPECT(peer_receive_with(phone, "\"said\"") != NULL);
  peer_leave(phone);
  EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
  pass_with_pongs(60000);
  EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
  /* The seat with a message is gone. */
  ann_says("stored.a");
  EXPECT(peer_receive_with(bob, "\"type\":\"message\"") != NULL);
  peer_say(bob, "{\"type\":\"leave\",\"id\":\"left\",\"room\":\"stored.a\",\"stay\":true}");
  EXPECT(peer_receive_with(bob, "\"left\"") != NULL);
  pass_with_pongs(60000);
  EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
  end();
}

/* Returns true if Bob's browser has received this number of pings. It does not answer them. */
static bool has_pings(int count) {
  for (int i = 0; i < 500 && bob->pings < count; i++) (void)peer_receive_within(bob, 10);
  return bob->pings == count;
}

/* True if the hub has read a pong that follows a message without `received`. */
static bool has_pong(relay_hub_t *hub, void *unused) {
  (void)unused;
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    const relay_session_t *session = hub->sessions.items[i];
    if (session && session->proved_at) return true;
  }
  return false;
}

TEST(slow, "frozen: on a slow connection the time ends after the pong that follows the message") {
  begin("stored.a", ",\"acks\":true,\"activity\":\"active\"");
  bob->answers_pings = false;
  ann_says("stored.a");
  host_pass(host, 25000);
  EXPECT(has_pings(1));
  /* The time of 30 s is over, but the pong is still missing: it may wait behind the message. */
  host_pass(host, 35000);
  EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
  /* The browser has got the message and the ping. From its answer on, the script has 5 s. */
  const uint32_t number = 1;
  EXPECT(peer_frame(bob, true, PEER_PONG, &number, sizeof number));
  EXPECT(host_reaches(host, has_pong, NULL));
  host_pass(host, 4999);
  EXPECT(peer_receives_none_with(ann, IN_BACKGROUND));
  host_pass(host, 1);
  EXPECT(peer_receive_with(ann, IN_BACKGROUND) != NULL);
  end();
}
