// SPDX-License-Identifier: Apache-2.0
/* Presence from outside. */
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000, GRACE = 200, COALESCE = 250 };

/* By a clock that the test moves. */
static host_t *start(int64_t grace) {
  relay_config_t config = host_config();
  config.limits.presence_grace = grace;
  host_t *host = host_start(&config);
  host_set_clock(host, NOON);
  return host;
}

/* Reads all that was written to the peer so far. */
static void catch_up(peer_t *peer) {
  peer_say(peer, "{\"type\":\"ping\",\"id\":\"so far\"}");
  peer_hear_of(peer, "\"id\":\"so far\"");
}

/* The connection breaks, and the hub has noticed it. */
static void lose(host_t *host, peer_t *peer) {
  const size_t left = host_counts(host).sessions - 1;
  peer_cut(peer);
  EXPECT(host_has_sessions(host, left));
}

/* A member of `live.a` who has heard all there is to hear of the others. */
static peer_t *watch(host_t *host) {
  peer_t *watcher = peer_open(host_port(host), "watcher", "");
  peer_join(watcher, "stored.a");
  return watcher;
}

static peer_t *arrive(host_t *host, peer_t *watcher) {
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"presence\",\"user\":\"ann\""), "\"online\":true");
  return ann;
}

TEST(clean_close, "presence: a close with 1000 counts at once") {
  relay_config_t config = host_config();
  config.limits.presence_grace = 60000;
  host_t *host = host_start(&config);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_leave(ann);
  const char *entry =
      peer_hear_of(watcher, "\"presence\",\"user\":\"ann\",\"name\":\"A person\",\"online\":false");
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

TEST(flush_last_seen, "presence: a flush says when users were last seen who are still online") {
  relay_config_t config = host_config();
  config.limits.presence_grace = 60000;
  host_t *host = host_start(&config);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_cut(ann); /* within the grace */
  host_do(host, flush, NULL);
  EXPECT(host_noted(host, "away ann"));
  EXPECT(host_noted(host, "away watcher"));
  peer_leave(watcher);
  host_end(host);
}

TEST(grace, "presence: a lost connection and a close with 1001 count after the grace") {
  host_t *host = start(500);
  peer_t *watcher = watch(host);
  for (int way = 0; way < 3; way++) {
    peer_t *ann = peer_open(host_port(host), "ann", "");
    peer_join(ann, "stored.a");
    host_pass(host, COALESCE);
    peer_hear_of(watcher, "\"user\":\"ann\",\"name\":\"A person\",\"online\":true");
    if (way == 1) peer_frame(ann, true, PEER_CLOSE, "\x03\xe9", 2);
    if (way == 2) peer_frame(ann, true, PEER_CLOSE, "", 0);
    if (way) peer_sees_end(ann);
    peer_cut(ann);
    EXPECT(host_has_sessions(host, 1));
    host_pass(host, 499);
    EXPECT(peer_hears_nothing_of(watcher, "\"online\":false"));
    host_pass(host, 1);
    EXPECT_CONTAINS(peer_hear_of(watcher, "\"presence\""),
                    "\"user\":\"ann\",\"name\":\"A person\",\"online\":false");
  }
  peer_leave(watcher);
  host_end(host);
}

TEST(coming_back, "presence: coming back within the grace is no event at all") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  host_pass(host, COALESCE);
  catch_up(watcher);
  lose(host, ann);
  host_pass(host, GRACE - 1);
  ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  host_pass(host, GRACE + COALESCE);
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\""));
  EXPECT_INTEGER(host_notes(host, "away ann"), 0);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(grace_is_used_up, "presence: who came back within the grace and closes is away at once") {
  host_t *host = start(60000);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  lose(host, ann);
  ann = peer_open(host_port(host), "ann", "");
  peer_leave(ann);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"online\":false"), "\"user\":\"ann\"");
  peer_leave(watcher);
  host_end(host);
}

TEST(coalescing,
     "presence: the first change goes out at once, further ones are joined, none when it is back") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  host_pass(host, COALESCE);
  catch_up(watcher);
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_hear(watcher), "\"activity\":\"idle\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"background\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"active\"}");
  catch_up(ann);
  host_pass(host, COALESCE - 1);
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\""));
  host_pass(host, 1);
  EXPECT_CONTAINS(peer_hear(watcher), "\"activity\":\"active\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"active\"}");
  catch_up(ann);
  host_pass(host, COALESCE);
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\""));
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(own_back, "presence: what is back is told to the own other sessions, who may know what was in between") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_t *tablet = peer_open(host_port(host), "ann", ",\"activity\":\"background\"");
  host_pass(host, COALESCE);
  catch_up(watcher);
  catch_up(tablet);
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_hear(watcher), "\"activity\":\"idle\"");
  EXPECT_CONTAINS(peer_hear(tablet), "\"activity\":\"idle\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"active\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  catch_up(ann);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_hear(tablet), "\"activity\":\"idle\"");
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\""));
  peer_leave(tablet);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(back_elsewhere,
     "presence: what is back is told to whom a room told of it in which they are not any more") {
  host_t *host = host_start(NULL);
  const int64_t noon = 43200000;
  host_set_clock(host, noon);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_join(ann, "stored.b");
  host_set_clock(host, noon + 1000);
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"presence\",\"user\":\"ann\""), "\"activity\":\"idle\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"background\",\"id\":1}");
  EXPECT_CONTAINS(peer_hear_of(ann, "\"id\":1"), "\"ok\"");
  EXPECT_CONTAINS(peer_join(watcher, "stored.b"), "\"activity\":\"background\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"leave\",\"room\":\"stored.b\",\"id\":2}");
  EXPECT_CONTAINS(peer_hear_of(ann, "\"id\":2"), "\"ok\"");
  host_set_clock(host, noon + 2000);
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"presence\",\"user\":\"ann\""), "\"activity\":\"idle\"");
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(merged, "presence: the liveliest of a user's sessions counts") {
  host_t *host = host_start(NULL);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  peer_t *phone = peer_open(host_port(host), "ann", ",\"activity\":\"background\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"activity\":\"idle\""), "\"online\":true");
  peer_leave(ann);
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"activity\":\"background\""), "\"online\":true");
  peer_leave(phone);
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"presence\""), "\"online\":false");
  peer_leave(watcher);
  host_end(host);
}

TEST(once, "presence: one event a session, however many rooms are shared, and the own other sessions") {
  host_t *host = start(GRACE);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *tablet = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  static const char *const rooms[] = {"stored.a", "stored.b", "live.c"};
  for (int i = 0; i < 3; i++) {
    peer_join(ann, rooms[i]);
    peer_join(bob, rooms[i]);
  }
  host_pass(host, COALESCE);
  catch_up(bob);
  catch_up(tablet);
  catch_up(ann);
  peer_say(tablet, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_hear(bob), "\"activity\":\"idle\"");
  host_pass(host, COALESCE);
  EXPECT(peer_hears_nothing_of(bob, "\"presence\""));
  EXPECT_CONTAINS(peer_hear_of(tablet, "\"presence\""), "\"activity\":\"idle\"");
  peer_leave(ann);
  peer_leave(tablet);
  peer_leave(bob);
  host_end(host);
}

TEST(snapshot, "presence: a joiner hears nothing that the snapshot told") {
  host_t *host = start(GRACE);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\",\"id\":1}");
  peer_hear_of(ann, "\"id\":1");
  /* Bob's arrival and Ann's last change wait to be announced. */
  peer_t *bob = peer_open(host_port(host), "bob", "");
  EXPECT_CONTAINS(peer_join(bob, "stored.a"), "\"activity\":\"idle\"");
  host_pass(host, COALESCE);
  EXPECT(peer_hears_nothing_of(bob, "\"presence\""));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(counts, "presence: in a large room there are counts instead, and the lists come back below half") {
  relay_config_t config = host_config();
  config.limits.member_list = 4;
  host_t *host = host_start(&config);
  peer_t *watcher = watch(host), *others[5];
  static const char *const name_of[] = {"u0", "u1", "u2", "u3", "u4"};
  for (int i = 0; i < 5; i++) {
    others[i] = peer_open(host_port(host), name_of[i], "");
    peer_join(others[i], "stored.a");
  }
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"counts\""), "\"room\":\"stored.a\",\"memberCount\":");
  while (!strstr(watcher->text, "\"memberCount\":6,\"onlineCount\":6"))
    if (!EXPECT(peer_hear_of(watcher, "\"counts\"") != NULL)) break;
  peer_say(others[0], "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\""));
  peer_cut(others[0]);
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"counts\""), "\"memberCount\":6,\"onlineCount\":5");
  for (int i = 1; i < 4; i++) {
    peer_say(others[i], "{\"type\":\"leave\",\"id\":2,\"room\":\"stored.a\"}");
    EXPECT_CONTAINS(peer_hear_of(others[i], "\"event\":\"left\""), name_of[i]);
  }
  /* Six less three are three; the lists come back below two. */
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"counts\""), "\"memberCount\":3,\"onlineCount\":2");
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\""));
  peer_say(others[4], "{\"type\":\"leave\",\"room\":\"stored.a\"}");
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"counts\""), "\"memberCount\":2");
  for (int i = 1; i < 5; i++) peer_leave(others[i]);
  peer_leave(watcher);
  host_end(host);
}

static void set_focus(relay_hub_t *hub, void *argument) {
  relay_user_set_focus(hub, relay_user_named(hub, "ann"), *(int *)argument, 5000 * *(int *)argument, 0);
}

TEST(seam, "presence: who joins between a change and its end hears of the end") {
  host_t *host = start(GRACE);
  peer_t *watcher = watch(host), *ann = arrive(host, watcher);
  int focus = 0;
  host_do(host, set_focus, &focus);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_hear_of(watcher, "\"user\":\"ann\""), "\"isFocused\":false");
  focus = 1;
  host_do(host, set_focus, &focus); /* waits, as the last was just now */
  peer_t *late = peer_open(host_port(host), "late", "");
  EXPECT_CONTAINS(peer_join(late, "stored.a"), "\"isFocused\":true,\"focusSince\":5000");
  focus = 0;
  host_do(host, set_focus, &focus);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_hear_of(late, "\"presence\",\"user\":\"ann\""), "\"isFocused\":false");
  EXPECT(peer_hears_nothing_of(watcher, "\"presence\",\"user\":\"ann\""));
  peer_leave(late);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}
