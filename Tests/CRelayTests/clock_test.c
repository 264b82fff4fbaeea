// SPDX-License-Identifier: Apache-2.0
/* The simulated clock, alarms, and a wall clock that is set. */
#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000, HEARTBEAT = 25000, PATIENCE = 10000 };

static void query_next(relay_hub_t *hub, void *due) {
  *(int64_t *)due = relay_hub_next_due(hub);
}

static int64_t next_due(host_t *host) {
  int64_t due;
  host_do(host, query_next, &due);
  return due;
}

TEST(simulated_time, "clock: a hub with a simulated clock sends pings and closes sessions by it") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  EXPECT_INTEGER(next_due(host), INT64_MAX);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer->answers_pings = false;
  peer_say(peer, "{\"type\":\"ping\"}");
  EXPECT_CONTAINS(peer_receive_with(peer, "\"pong\""), "\"time\":43200000");
  EXPECT(next_due(host) <= NOON + HEARTBEAT);
  host_set_clock(host, NOON + HEARTBEAT);
  host_set_clock(host, NOON + HEARTBEAT + PATIENCE);
  EXPECT_CONTAINS(peer_receive_with(peer, "\"bye\""), "\"code\":4004");
  EXPECT_INTEGER(peer->pings, 1);
  peer_leave(peer);
  host_end(host);
}

TEST(jump, "clock: a jump counts as a pause, in which no client was silent") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  host_set_clock(host, 2 * NOON);
  EXPECT(peer_receives_none_with(peer, "\"bye\""));
  EXPECT(next_due(host) <= 2 * NOON + HEARTBEAT);
  peer_leave(peer);
  host_end(host);
}

static void set_alarm(relay_hub_t *hub, void *time) {
  relay_hub_set_alarm(hub, *(const int64_t *)time);
}

static void set_alarm_of_ann(relay_hub_t *hub, void *time) {
  EXPECT(relay_user_set_alarm(hub, relay_user_named(hub, "ann"), *(const int64_t *)time));
}

/* Sets the clock, and waits until all timers that are due have run. */
static void pass(host_t *host, peer_t *peer, int64_t now) {
  host_set_clock(host, now);
  EXPECT(peer_receives_none_with(peer, "\"bye\""));
}

TEST(alarms, "clock: an alarm is due once, at its time, unless it was postponed") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  int64_t time = NOON + 1000;
  host_do(host, set_alarm, &time);
  host_do(host, set_alarm_of_ann, &time);
  pass(host, peer, NOON + 999);
  EXPECT_INTEGER(host_notes(host, "alarm"), 0);
  pass(host, peer, NOON + 1000);
  EXPECT(host_noted(host, "alarm") && host_noted(host, "alarm ann"));
  pass(host, peer, NOON + 5000);
  EXPECT_INTEGER(host_notes(host, "alarm"), 2);
  time = NOON + 6000;
  host_do(host, set_alarm, &time);
  host_do(host, set_alarm_of_ann, &time);
  time = 0;
  host_do(host, set_alarm, &time);
  time = NOON + 7000;
  host_do(host, set_alarm_of_ann, &time);
  pass(host, peer, NOON + 6999);
  EXPECT_INTEGER(host_notes(host, "alarm"), 2);
  pass(host, peer, NOON + 7000);
  EXPECT_INTEGER(host_notes(host, "alarm"), 3);
  time = 1; /* in the past, so it is due at once */
  host_do(host, set_alarm, &time);
  pass(host, peer, NOON + 7001);
  EXPECT_INTEGER(host_notes(host, "alarm"), 4);
  peer_leave(peer);
  host_end(host);
}

static void set_wall_clock(relay_hub_t *hub, void *now) {
  relay_hub_set_wall_clock(hub, *(const int64_t *)now);
}

TEST(alarms_of_a_set_clock, "clock: alarms follow a wall clock that is set forward or back") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  int64_t time = NOON + 3600000, later = 2 * NOON, now = NOON + 3600000;
  host_do(host, set_alarm, &time);
  host_do(host, set_alarm_of_ann, &time);
  EXPECT_INTEGER(host_notes(host, "alarm"), 0);
  host_do(host, set_wall_clock, &now); /* forward, to the time of both alarms */
  host_pass(host, 0);
  EXPECT_INTEGER(host_notes(host, "alarm ann"), 1);
  EXPECT_INTEGER(host_notes(host, "alarm"), 2);
  host_do(host, set_alarm, &later);
  now = NOON;
  host_do(host, set_wall_clock, &now); /* back, so the alarm is due later */
  host_pass(host, NOON - 1);
  EXPECT_INTEGER(host_notes(host, "alarm"), 2);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "alarm"), 3);
  EXPECT_INTEGER(host_notes(host, "clock 3600000 0"), 1);
  EXPECT_INTEGER(host_notes(host, "clock -3600000 0"), 1);
  peer_leave(peer);
  host_end(host);
}

static void get_clock(relay_hub_t *hub, void *clock) {
  *(int64_t *)clock = relay_hub_clock(hub);
}

TEST(loop_clock, "clock: a wall clock that is set does not move the loop's clock") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  int64_t before, after, now = NOON / 2;
  host_do(host, get_clock, &before);
  host_do(host, set_wall_clock, &now);
  host_do(host, get_clock, &after);
  EXPECT_INTEGER(after, before);
  host_set_clock(host, now + 500);
  host_do(host, get_clock, &after);
  EXPECT_INTEGER(after, before + 500);
  host_end(host);
}

/* The token of Ann's session ends in 60 s. */
static void set_expiry(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_id_t session;
  EXPECT_INTEGER(relay_user_sessions(hub, relay_user_named(hub, "ann"), &session, 1), 1);
  relay_session_set_expiry(hub, session, relay_hub_now(hub) + 60000);
}

static void get_expiry(relay_hub_t *hub, void *expires) {
  relay_id_t session;
  relay_session_facts_t facts;
  EXPECT_INTEGER(relay_user_sessions(hub, relay_user_named(hub, "ann"), &session, 1), 1);
  EXPECT(relay_session_facts(hub, session, &facts));
  *(int64_t *)expires = facts.expires;
}

TEST(expiry_of_a_set_clock, "clock: a session lasts as long as its token, although the wall clock is set") {
  const int64_t steps[] = {-3600000, 600000, 40LL * 86400000, -40LL * 86400000};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    relay_config_t config = host_config();
    config.limits.heartbeat = 1000000;
    host_t *host = host_start(&config);
    host_set_clock(host, 100LL * 86400000);
    peer_t *peer = peer_open(host_port(host), "ann", "");
    host_do(host, set_expiry, NULL);
    int64_t now = 100LL * 86400000 + steps[i];
    host_do(host, set_wall_clock, &now);
    int64_t expires; /* that of the token */
    host_do(host, get_expiry, &expires);
    EXPECT_INTEGER(expires, 100LL * 86400000 + 60000);
    host_pass(host, 59999);
    EXPECT(peer_receives_none_with(peer, "\"bye\""));
    host_pass(host, 1);
    EXPECT_CONTAINS(peer_receive_with(peer, "\"bye\""), "\"code\":4002");
    peer_leave(peer);
    host_end(host);
  }
}

static void suspend(relay_hub_t *hub, void *duration) {
  relay_hub_suspend(hub, *(const int64_t *)duration);
}

TEST(suspension, "clock: a token expires while the machine is suspended, and the event has the duration") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  host_do(host, set_expiry, NULL);
  int64_t duration = 59000;
  host_do(host, suspend, &duration);
  host_pass(host, 999);
  EXPECT(peer_receives_none_with(peer, "\"bye\""));
  host_pass(host, 25000); /* a check of the session */
  EXPECT_CONTAINS(peer_receive_with(peer, "\"bye\""), "\"code\":4002");
  EXPECT_INTEGER(host_notes(host, "clock 59000 59000"), 1);
  peer_leave(peer);
  host_end(host);
}

TEST(no_jump, "clock: the hub does not mistake the passing of time for a clock that was set") {
  host_t *host = host_start(NULL);
  for (int i = 0; i < 1000; i++) host_counts(host);
  EXPECT_INTEGER(host_notes(host, "clock"), 0);
  host_end(host);
}
