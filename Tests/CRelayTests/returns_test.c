// SPDX-License-Identifier: Apache-2.0
/* Users who were online when an earlier run ended. */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000, GRACE = 200, COALESCE = 250, TIME = 5000, SPREAD = 20 };

static void await_returns(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_await_returns(hub, TIME);
}

typedef struct guest {
  const char *user, *room;
  relay_activity_t activity;
  relay_audience_t online;
  bool is_awaited; /* the result */
} guest_t;

/* Loads a member of a room who was online in the earlier run. */
static void load(relay_hub_t *hub, void *argument) {
  guest_t *guest = argument;
  const unsigned flags = strncmp(guest->room, "pushed.", 7) ? 0 : RELAY_ROOM_PUSHES;
  const relay_id_t room = relay_room_create(hub, guest->room, "epoch", 0, 0, RELAY_ROOM_STORED | flags);
  const relay_id_t user = relay_user_create(hub, guest->user, (relay_bytes_t){0}, 7000);
  relay_user_retain(hub, user);
  relay_user_set_has_devices(hub, user, true);
  relay_user_set_sharing(hub, user, RELAY_SHARE_ROOMS, guest->online);
  guest->is_awaited = relay_user_await(hub, user, guest->activity);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, user, 0, 0), RELAY_OK);
  relay_user_release(hub, user);
}

static bool await_guest(host_t *host, const char *user, const char *room, relay_activity_t activity) {
  guest_t guest = {.user = user, .room = room, .activity = activity, .online = RELAY_SHARE_WATCHERS};
  host_do(host, load, &guest);
  return guest.is_awaited;
}

/* Starts a host with a simulated clock that awaits returns, and Ann as an idle member of `stored.a`. */
static host_t *restart(void) {
  relay_config_t config = host_config();
  config.limits.presence_grace = GRACE;
  host_t *host = host_start(&config);
  host_set_clock(host, NOON);
  host_do(host, await_returns, NULL);
  EXPECT(await_guest(host, "ann", "stored.a", RELAY_IDLE));
  return host;
}

/* Returns a member of `stored.a` whose join shows Ann as online. The member has no event to read. */
static peer_t *watch(host_t *host) {
  peer_t *watcher = peer_open(host_port(host), "watcher", "");
  EXPECT_CONTAINS(peer_join(watcher, "stored.a"), "\"user\":\"ann\",\"online\":true,\"activity\":\"idle\"");
  host_pass(host, COALESCE);
  return watcher;
}

TEST(in_time, "returns: a user who returns in time causes no event and is never stored as offline") {
  host_t *host = restart();
  peer_t *watcher = watch(host);
  host_pass(host, TIME - COALESCE - 1);
  peer_t *ann = peer_open(host_port(host), "ann", ",\"activity\":\"idle\"");
  EXPECT(host_noted(host, "seen ann 1"));
  host_pass(host, 1 + TIME);
  EXPECT(host_noted(host, "returns over"));
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  EXPECT_INTEGER(host_notes(host, "away ann"), 0);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(not_in_time, "returns: a user who does not return goes offline once, at the end of the time") {
  host_t *host = restart();
  peer_t *watcher = watch(host);
  host_pass(host, TIME - COALESCE - 1);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  host_pass(host, 1);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""),
                  "\"online\":false,\"isFocused\":null,\"lastSeen\":7000");
  host_pass(host, TIME);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  EXPECT_INTEGER(host_notes(host, "away ann"), 1);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"online\":true");
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

TEST(other_activity, "returns: a return with another activity causes one event, and the activity is stored") {
  host_t *host = restart();
  peer_t *watcher = watch(host);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"activity\":\"active\"");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"background\"}");
  peer_catch_up(ann);
  host_pass(host, COALESCE);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"activity\":\"background\"");
  EXPECT(host_noted(host, "seen ann 0"));
  EXPECT_INTEGER(host_notes(host, "seen ann"), 2);
  peer_leave(ann);
  peer_leave(watcher);
  host_end(host);
}

static bool is_in_memory(relay_hub_t *hub, void *user) {
  return relay_user_named(hub, user) != 0;
}

static bool is_gone(relay_hub_t *hub, void *user) {
  return !is_in_memory(hub, user);
}

TEST(again, "returns: a user who has left again is not awaited again") {
  host_t *host = restart();
  peer_t *watcher = watch(host);
  peer_t *ann = peer_open(host_port(host), "ann", ",\"activity\":\"idle\"");
  peer_leave(ann);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"online\":false");
  EXPECT(!await_guest(host, "ann", "stored.a", RELAY_IDLE));
  /* Eve was offline before. A load that began before her session could have an older state. */
  peer_t *eve = peer_open(host_port(host), "eve", "");
  peer_leave(eve);
  EXPECT(host_noted(host, "away eve"));
  host_pass(host, COALESCE);
  EXPECT(host_reaches(host, is_in_memory, "eve"));
  EXPECT(!await_guest(host, "eve", "stored.b", RELAY_ACTIVE));
  EXPECT(!await_guest(host, "watcher", "stored.b", RELAY_IDLE));
  host_pass(host, TIME);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  peer_leave(watcher);
  host_end(host);
}

TEST(after, "returns: after the time nobody is awaited, and users leave memory as usual") {
  host_t *host = restart();
  peer_t *eve = peer_open(host_port(host), "eve", "");
  peer_leave(eve);
  host_pass(host, TIME);
  EXPECT(host_noted(host, "returns over"));
  EXPECT(host_reaches(host, is_gone, "eve"));
  EXPECT(!await_guest(host, "late", "stored.a", RELAY_ACTIVE));
  host_end(host);
}

TEST(no_run_before, "returns: without an earlier run nobody is awaited") {
  host_t *host = host_start(NULL);
  EXPECT(!await_guest(host, "ann", "stored.a", RELAY_ACTIVE));
  host_end(host);
}

TEST(lost_again, "returns: a user who returns and is lost again has the usual grace") {
  host_t *host = restart();
  peer_t *watcher = watch(host);
  peer_t *ann = peer_open(host_port(host), "ann", ",\"activity\":\"idle\"");
  host_loses(host, ann);
  host_pass(host, GRACE - 1);
  EXPECT(peer_receives_none_with(watcher, "\"presence\""));
  host_pass(host, 1);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"ann\""), "\"online\":false");
  peer_leave(watcher);
  host_end(host);
}

TEST(hidden, "returns: an awaited user who hides the online state is not shown and not counted") {
  host_t *host = restart();
  guest_t bob = {.user = "bob", .room = "stored.a", .activity = RELAY_ACTIVE, .online = RELAY_SHARE_NONE};
  host_do(host, load, &bob);
  EXPECT(bob.is_awaited);
  peer_t *watcher = peer_open(host_port(host), "watcher", "");
  const char *joined = peer_join(watcher, "stored.a");
  EXPECT_CONTAINS(joined, "\"user\":\"bob\",\"online\":false,\"isFocused\":null}");
  EXPECT_CONTAINS(joined, "\"memberCount\":3,\"onlineCount\":2");
  host_pass(host, COALESCE);
  host_pass(host, TIME);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\""), "\"user\":\"ann\",\"online\":false");
  EXPECT(peer_receives_none_with(watcher, "\"user\":\"bob\""));
  EXPECT_INTEGER(host_notes(host, "away bob"), 1);
  peer_leave(watcher);
  host_end(host);
}

/* Expects that the next message of Bob is pushed to Eve at once. */
static void expect_delivery(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_delivery_t delivery;
  relay_room_delivery(hub, relay_room_named(hub, "pushed.a"), relay_user_named(hub, "bob"), &delivery, NULL,
                      0);
  EXPECT_INTEGER(delivery.away, 1);
  EXPECT_INTEGER(delivery.waiting, 0);
}

TEST(pushes, "returns: a push waits for the grace from the start, and not for the return") {
  host_t *host = restart();
  EXPECT(await_guest(host, "eve", "pushed.a", RELAY_ACTIVE));
  peer_t *bob = peer_open(host_port(host), "bob", "");
  EXPECT_CONTAINS(peer_join(bob, "pushed.a"), "\"user\":\"eve\",\"online\":true");
  peer_say(bob, "{\"type\":\"send\",\"room\":\"pushed.a\",\"body\":1,\"id\":1}");
  peer_receive_with(bob, "\"id\":1");
  host_pass(host, GRACE - 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a eve"), 0);
  host_pass(host, 1);
  EXPECT(host_noted(host, "push pushed.a eve 1"));
  host_do(host, expect_delivery, NULL);
  EXPECT(peer_receives_none_with(bob, "\"online\":false"));
  peer_leave(bob);
  host_end(host);
}

/* Loads Eve as a member of `pushed.a`. She was offline or in the background when the earlier run ended. */
static void load_absent(relay_hub_t *hub, void *data) {
  const bool *is_background = data;
  const relay_id_t room =
      relay_room_create(hub, "pushed.a", "epoch", 0, 0, RELAY_ROOM_STORED | RELAY_ROOM_PUSHES);
  const relay_id_t user = relay_user_create(hub, "eve", (relay_bytes_t){0}, 7000);
  relay_user_set_has_devices(hub, user, true);
  if (*is_background) EXPECT(relay_user_await(hub, user, RELAY_BACKGROUND));
  EXPECT_INTEGER(relay_room_restore_member(hub, room, user, 0, 0), RELAY_OK);
  relay_user_release(hub, user);
}

static void expect_push_without_wait(bool is_background) {
  host_t *host = restart();
  host_do(host, load_absent, &is_background);
  peer_t *bob = peer_open(host_port(host), "bob", "");
  EXPECT_CONTAINS(peer_join(bob, "pushed.a"),
                  is_background ? "\"user\":\"eve\",\"online\":true" : "\"user\":\"eve\",\"online\":false");
  peer_say(bob, "{\"type\":\"send\",\"room\":\"pushed.a\",\"body\":1,\"id\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"push\":1,\"waits\":false");
  peer_leave(bob);
  host_end(host);
}

TEST(offline, "returns: a push to a user who was offline before the start does not wait") {
  expect_push_without_wait(false);
}

TEST(background, "returns: a push to a user who was in the background before the start does not wait") {
  expect_push_without_wait(true);
}

static void drain(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_drain(hub, 4000, "the end");
}

static void flush(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_flush(hub);
}

TEST(drained, "returns: a drain leaves the users online for the next run, however long it lasts") {
  host_t *host = restart();
  peer_t *bob = peer_open(host_port(host), "bob", ""), *eve = peer_open(host_port(host), "eve", "");
  peer_leave(eve); /* has closed, so she does not return */
  EXPECT(host_noted(host, "away eve"));
  host_do(host, drain, NULL);
  host_pass(host, 10);
  peer_receive_with(bob, "\"bye\"");
  host_loses(host, bob);
  host_pass(host, TIME + SPREAD);
  EXPECT_INTEGER(host_notes(host, "away ann") + host_notes(host, "away bob"), 0);
  host_do(host, flush, NULL);
  host_counts(host); /* the events arrive before the next iteration */
  EXPECT(host_noted(host, "seen ann 1"));
  EXPECT_INTEGER(host_notes(host, "seen bob 2"), 2);
  EXPECT_INTEGER(host_notes(host, "seen eve"), 1);
  host_end(host);
}

TEST(many, "returns: many users who do not return go offline a few in a millisecond") {
  host_t *host = restart();
  for (int i = 1; i < 80; i++) {
    char name[16];
    snprintf(name, sizeof name, "user%d", i);
    EXPECT(await_guest(host, name, "stored.a", RELAY_ACTIVE));
  }
  host_pass(host, TIME);
  EXPECT_INTEGER(host_notes(host, "away"), 8);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "away"), 16);
  host_pass(host, 8);
  EXPECT_INTEGER(host_notes(host, "away"), 80);
  host_end(host);
}
