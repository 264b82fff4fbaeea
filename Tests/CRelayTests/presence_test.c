// SPDX-License-Identifier: Apache-2.0
/* Presence, as clients see it. */
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000, GRACE = 200, COALESCE = 250 };

/* Starts a host with a simulated clock. */
static host_t *start(int64_t grace) {
  relay_config_t config = host_config();
  config.limits.presence_grace = grace;
  host_t *host = host_start(&config);
  host_set_clock(host, NOON);
  return host;
}

/* Returns a member of `stored.a` who gets the presence of the others. */
static peer_t *watch(host_t *host) {
  peer_t *watcher = peer_open(host_port(host), "watcher", "");
  peer_join(watcher, "stored.a");
  return watcher;
}

static peer_t *arrive(host_t *host, peer_t *watcher) {
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"online\":true");
  return ann;
}

TEST(clean_close, "presence: after a close with 1000 the user is offline at once") {
  relay_config_t config = host_config();
  config.limits.presence_grace = 60000;
  host_t *host = host_start(&config);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_leave(ann);
  const char *entry =
      peer_receive_with(watcher, "\"presence\",\"user\":\"ann\",\"name\":\"A person\",\"online\":false");
  EXPECT_CONTAINS(entry, "\"isFocused\":null,\"lastSeen\":");
  EXPECT_LACKS(entry, "activity");
  EXPECT(host_noted(host, "away ann"));
  peer_leave(watcher);
  host_end(host);
}

static void flush(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_flush(hub);
}

TEST(flush_last_seen, "presence: a flush reports the last time of users who are still online") {
  relay_config_t config = host_config();
  config.limits.presence_grace = 60000;
  host_t *host = host_start(&config);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_cut(ann); /* still online, in the grace */
  host_do(host, flush, NULL);
  EXPECT(host_noted(host, "flushed")); /* after all other events of the flush */
  EXPECT_INTEGER(host_notes(host, "away"), 0);
  EXPECT_INTEGER(host_notes(host, "seen ann 2"), 2); /* with that of the hello */
  EXPECT_INTEGER(host_notes(host, "seen watcher 2"), 2);
  peer_leave(watcher);
  host_end(host);
}

TEST(grace, "presence: after a lost connection or a close with 1001 the user is offline after the grace") {
  host_t *host = start(500);
  peer_t *watcher = watch(host);
  for (int way = 0; way < 3; way++) {
    peer_t *ann = peer_open(host_port(host), "ann", "");
    peer_join(ann, "stored.a");
    host_pass(host, COALESCE);
    peer_receive_with(watcher, "\"user\":\"ann\",\"name\":\"A person\",\"online\":true");
    if (way == 1) peer_frame(ann, true, PEER_CLOSE, "\x03\xe9", 2);
    if (way == 2) peer_frame(ann, true, PEER_CLOSE, "", 0);
    if (way) peer_sees_end(ann);
    peer_cut(ann);
    EXPECT(host_has_sessions(host, 1));
    host_pass(host, 499);
    EXPECT(peer_receives_none_with(watcher, "\"online\":false"));
    host_pass(host, 1);
    EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\""),
                    "\"user\":\"ann\",\"name\":\"A person\",\"online\":false");
  }
  peer_leave(watcher);
  host_end(host);
}

TEST(coming_back, "presence: a reconnect in the grace causes no event") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  host_pass(host, COALESCE);
  peer_catch_up(watcher);
  host_loses(host, ann);
  host_pass(host, GRACE - 1);
  ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  host_pass(host, GRACE + COALESCE);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  EXPECT_INTEGER(host_notes(host, "away ann"), 0);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(grace_is_used_up, "presence: a user who reconnects in the grace and closes is offline at once") {
  host_t *host = start(60000);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  host_loses(host, ann);
  ann = peer_open(host_port(host), "ann", "");
  peer_leave(ann);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"online\":false"), "\"user\":\"ann\"");
  peer_leave(watcher);
  host_end(host);
}

TEST(coalescing,
     "presence: the first change is sent at once, further ones are merged, and a reverted one is not sent") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  host_pass(host, COALESCE);
  peer_catch_up(watcher);
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_receive(watcher), "\"activity\":\"idle\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"background\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"active\"}");
  peer_catch_up(ann);
  host_pass(host, COALESCE - 1);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  host_pass(host, 1);
  EXPECT_CONTAINS(peer_receive(watcher), "\"activity\":\"active\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"active\"}");
  peer_catch_up(ann);
  host_pass(host, COALESCE);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(own_back, "presence: the user's other sessions get an event for a reverted change") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_t *tablet = peer_open(host_port(host), "ann", ",\"activity\":\"background\"");
  host_pass(host, COALESCE);
  peer_catch_up(watcher);
  peer_catch_up(tablet);
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_receive(watcher), "\"activity\":\"idle\"");
  EXPECT_CONTAINS(peer_receive(tablet), "\"activity\":\"idle\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"active\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_catch_up(ann);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_receive(tablet), "\"activity\":\"idle\"");
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  peer_leave(tablet);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(back_elsewhere,
     "presence: a session that saw a change in a room that it has left gets an event when it is reverted") {
  host_t *host = host_start(NULL);
  const int64_t noon = 43200000;
  host_set_clock(host, noon);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_join(ann, "stored.b");
  host_set_clock(host, noon + 1000);
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"activity\":\"idle\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"background\",\"id\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), "\"ok\"");
  EXPECT_CONTAINS(peer_join(watcher, "stored.b"), "\"activity\":\"background\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"leave\",\"room\":\"stored.b\",\"id\":2}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":2"), "\"ok\"");
  host_set_clock(host, noon + 2000);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"activity\":\"idle\"");
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(merged, "presence: the most active session of a user decides the activity") {
  host_t *host = host_start(NULL);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_t *phone = peer_open(host_port(host), "ann", ",\"activity\":\"background\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"activity\":\"idle\""), "\"online\":true");
  peer_leave(ann);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"activity\":\"background\""), "\"online\":true");
  peer_leave(phone);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\""), "\"online\":false");
  peer_leave(watcher);
  host_end(host);
}

TEST(once, "presence: each session gets one event for several shared rooms, also the user's other sessions") {
  host_t *host = start(GRACE);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *tablet = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  static const char *const rooms[] = {"stored.a", "stored.b", "live.c"};
  for (int i = 0; i < 3; i++) {
    peer_join(ann, rooms[i]);
    peer_join(bob, rooms[i]);
  }
  host_pass(host, COALESCE);
  peer_catch_up(bob);
  peer_catch_up(tablet);
  peer_catch_up(ann);
  peer_say(tablet, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_receive(bob), "\"activity\":\"idle\"");
  host_pass(host, COALESCE);
  EXPECT(peer_receives_none_with(bob, "\"presence\""));
  EXPECT_CONTAINS(peer_receive_with(tablet, "\"presence\""), "\"activity\":\"idle\"");
  peer_leave(ann);
  peer_leave(tablet);
  peer_leave(bob);
  host_end(host);
}

TEST(snapshot, "presence: a new member gets no event for a state in the reply to its join") {
  host_t *host = start(GRACE);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\",\"id\":1}");
  peer_receive_with(ann, "\"id\":1");
  /* Bob's arrival and Ann's last change are not announced yet. */
  peer_t *bob = peer_open(host_port(host), "bob", "");
  EXPECT_CONTAINS(peer_join(bob, "stored.a"), "\"activity\":\"idle\"");
  host_pass(host, COALESCE);
  EXPECT(peer_receives_none_with(bob, "\"presence\""));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(counts, "presence: a large room sends counts, and lists members again below half of the bound") {
  relay_config_t config = host_config();
  config.limits.member_list = 4;
  host_t *host = host_start(&config);
  peer_t *watcher = watch(host), *others[5];
  static const char *const name_of[] = {"u0", "u1", "u2", "u3", "u4"};
  for (int i = 0; i < 5; i++) {
    others[i] = peer_open(host_port(host), name_of[i], "");
    peer_join(others[i], "stored.a");
  }
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"counts\""), "\"room\":\"stored.a\",\"memberCount\":");
  while (!strstr(watcher->text, "\"memberCount\":6,\"onlineCount\":6"))
    if (!EXPECT(peer_receive_with(watcher, "\"counts\"") != NULL)) break;
  peer_say(others[0], "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  peer_cut(others[0]);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"counts\""), "\"memberCount\":6,\"onlineCount\":5");
  for (int i = 1; i < 4; i++) {
    peer_say(others[i], "{\"type\":\"leave\",\"id\":2,\"room\":\"stored.a\"}");
    EXPECT_CONTAINS(peer_receive_with(others[i], "\"event\":\"left\""), name_of[i]);
  }
  /* Three of six members are left. The room is small again below two. */
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"counts\""), "\"memberCount\":3,\"onlineCount\":2");
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  peer_say(others[4], "{\"type\":\"leave\",\"room\":\"stored.a\"}");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"counts\""), "\"memberCount\":2");
  peer_t *again = peer_open(host_port(host), "u0", "");
  peer_join(again, "stored.a");
  peer_say(again, "{\"type\":\"leave\",\"room\":\"stored.a\"}");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\""), "\"user\":\"watcher\"");
  EXPECT_CONTAINS(peer_join(again, "stored.a"), "\"members\":[");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\""), "\"user\":\"u0\"");
  peer_leave(again);
  for (int i = 1; i < 5; i++) peer_leave(others[i]);
  peer_leave(watcher);
  host_end(host);
}

static void set_focus(relay_hub_t *hub, void *argument) {
  relay_user_set_focus(hub, relay_user_named(hub, "ann"), *(int *)argument, 5000 * *(int *)argument, 0);
}

TEST(seam, "presence: a member who joins between a change and its reversal gets an event for the reversal") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  int focus = 0;
  host_do(host, set_focus, &focus);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"user\":\"ann\""), "\"isFocused\":false");
  focus = 1;
  host_do(host, set_focus, &focus); /* not announced yet, because the last announcement was just now */
  peer_t *late = peer_open(host_port(host), "late", "");
  EXPECT_CONTAINS(peer_join(late, "stored.a"), "\"isFocused\":true,\"focusSince\":5000");
  focus = 0;
  host_do(host, set_focus, &focus);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_receive_with(late, "\"presence\",\"user\":\"ann\""), "\"isFocused\":false");
  EXPECT(peer_receives_none_with(watcher, "\"presence\",\"user\":\"ann\""));
  peer_leave(late);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

static void follow(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_follow_presence(hub, true);
}

static void unfollow(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_follow_presence(hub, false);
  EXPECT_INTEGER(relay_hub_release_users(hub, 0, 1000), 0);
}

TEST(followed,
     "presence: a follower gets each change of every user, with all parts, until it stops to follow") {
  host_t *host = start(GRACE);
  peer_t *before = peer_open(host_port(host), "before", "");
  host_pass(host, COALESCE);
  host_do(host, follow, NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  EXPECT(host_noted(host, "presence ann {\"user\":\"ann\",\"name\":\"A person\",\"online\":true,\"activity\":"
                          "\"active\",\"isFocused\":null,\"lastSeen\":43200000}"));
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  host_pass(host, COALESCE);
  EXPECT(host_noted(host, "presence ann {\"user\":\"ann\",\"name\":\"A person\",\"online\":true,\"activity\":"
                          "\"idle\",\"isFocused\":null,\"lastSeen\":43200000}"));
  peer_leave(ann);
  host_pass(host, COALESCE);
  EXPECT_INTEGER(host_notes(host, "presence ann {\"user\":\"ann\",\"name\":\"A person\",\"online\":false"),
                 1);
  host_do(host, unfollow, NULL);
  peer_leave(before);
  host_pass(host, COALESCE);
  EXPECT_INTEGER(host_notes(host, "presence ann"), 3);
  EXPECT_INTEGER(host_notes(host, "presence before"), 0);
  host_end(host);
}

/* Loads a user with a Focus, as from the store. */
static void load_focused(relay_hub_t *hub, void *id) {
  const relay_id_t user = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  relay_user_retain(hub, user);
  relay_user_set_focus(hub, user, 1, NOON, 0);
  relay_user_set_alarm(hub, user, NOON + 1000);
  relay_user_settle(hub, user);
  relay_user_release(hub, user);
  *(relay_id_t *)id = user;
}

static void end_focus(relay_hub_t *hub, void *id) {
  relay_user_set_focus(hub, *(relay_id_t *)id, -1, 0, 0);
}

TEST(followed_load,
     "presence: a loaded user is no change, and a Focus that ends by time stays in memory until then") {
  host_t *host = start(GRACE);
  host_do(host, follow, NULL);
  relay_id_t user;
  host_do(host, load_focused, &user);
  host_pass(host, COALESCE);
  EXPECT_INTEGER(host_notes(host, "presence"), 0);
  host_pass(host, 1000);
  EXPECT(host_noted(host, "alarm ann"));
  host_do(host, end_focus, &user);
  host_pass(host, COALESCE);
  EXPECT(host_noted(host, "presence ann {\"user\":\"ann\",\"online\":false,\"isFocused\":null}"));
  host_do(host, load_focused, &user);
  host_pass(host, COALESCE);
  EXPECT_INTEGER((int)host_counts(host).users, 1);
  host_do(host, unfollow, NULL);
  EXPECT_INTEGER((int)host_counts(host).users, 0);
  host_end(host);
}

/* Loads a user with a status, as from the store. */
static void load_status(relay_hub_t *hub, void *id) {
  static const char status[] = "{\"text\":\"lunch\"}";
  const relay_id_t user = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  relay_user_retain(hub, user);
  relay_user_set_status(hub, user, (relay_bytes_t){(const uint8_t *)status, sizeof status - 1}, 0);
  relay_user_set_alarm(hub, user, NOON + 1000);
  relay_user_settle(hub, user);
  relay_user_release(hub, user);
  *(relay_id_t *)id = user;
}

static void end_status(relay_hub_t *hub, void *id) {
  relay_user_set_status(hub, *(relay_id_t *)id, (relay_bytes_t){0}, 0);
}

TEST(followed_status, "presence: a status that ends by time stays in memory until then") {
  host_t *host = start(GRACE);
  host_do(host, follow, NULL);
  relay_id_t user;
  host_do(host, load_status, &user);
  host_pass(host, 1000);
  EXPECT(host_noted(host, "alarm ann"));
  host_do(host, end_status, &user);
  host_pass(host, COALESCE);
  EXPECT(host_noted(host, "presence ann {\"user\":\"ann\",\"online\":false,\"isFocused\":null}"));
  EXPECT_INTEGER((int)host_counts(host).users, 0);
  host_end(host);
}

TEST(joining, "presence: a connected user who joins is online in the first event that names them") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host);
  peer_join(watcher, "stored.b");
  static const char *const rooms[] = {"stored.a", "stored.b"};
  for (int i = 0; i < 2; i++) { /* the second time right after the user was offline */
    peer_t *bob = peer_open(host_port(host), "bob", "");
    peer_join(bob, rooms[i]);
    const char *event = peer_receive_with(watcher, i ? "\"room\":\"stored.b\"" : "\"bob\"");
    EXPECT_CONTAINS(event, "\"event\":\"joined\"");
    EXPECT_CONTAINS(event, "\"presence\":{\"user\":\"bob\",\"name\":\"A person\",\"online\":true");
    peer_leave(bob);
  }
  peer_leave(watcher);
  host_end(host);
}
