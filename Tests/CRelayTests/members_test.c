// SPDX-License-Identifier: Apache-2.0
/* Members of a room: pages of members, the close of all sessions of a user, and batches of events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { MEMBERS = 50 };

typedef struct page {
  const char *after;
  size_t limit;
  char users[2048]; /* names, each followed by a space */
  bool has_more;
} page_t;

static void read_page(relay_hub_t *hub, void *argument) {
  page_t *page = argument;
  size_t size;
  char *entries = relay_room_entries_after(hub, relay_room_named(hub, "stored.a"), 0, page->after,
                                           page->limit, &size, &page->has_more);
  char *json = strndup(entries, size);
  static const char key[] = "\"user\":\"";
  page->users[0] = 0;
  for (const char *at = json; (at = strstr(at, key)) != NULL;) {
    at += strlen(key);
    strncat(page->users, at, strcspn(at, "\""));
    strcat(page->users, " ");
  }
  free(json);
  free(entries);
}

/* Adds the members in another order than that of their names: 7 and 50 have no common divisor. */
static void fill(relay_hub_t *hub, void *argument) {
  (void)argument;
  const relay_id_t room = relay_room_create(hub, "stored.a", "e", 0, 0, RELAY_ROOM_STORED);
  for (int i = 0; i < MEMBERS; i++) {
    char name[16];
    snprintf(name, sizeof name, "u%02d", i * 7 % MEMBERS);
    relay_room_add_member(hub, room, relay_user_create(hub, name, (relay_bytes_t){0}, 0), RELAY_ROLE_MEMBER,
                          "joined", NULL);
  }
}

TEST(pages, "members: the pages contain each member once, in the order of names") {
  host_t *host = host_start(NULL);
  host_do(host, fill, NULL);
  static const size_t limits[] = {1, 7, 25, 49, 50, 51, 100};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    char all[2048] = "", expected[2048] = "", last[16];
    page_t page = {.limit = limits[i]};
    do {
      host_do(host, read_page, &page);
      const size_t count = strlen(page.users) / 4;
      EXPECT(count == limits[i] || !page.has_more);
      strcat(all, page.users);
      snprintf(last, sizeof last, "%.3s", page.users + (count - 1) * 4);
      page.after = last;
    } while (page.has_more);
    for (int j = 0; j < MEMBERS; j++) sprintf(expected + strlen(expected), "u%02d ", j);
    EXPECT_TEXT(all, expected);
  }
  page_t rest = {.after = "u48x", .limit = 10};
  host_do(host, read_page, &rest);
  EXPECT_TEXT(rest.users, "u49 ");
  EXPECT(!rest.has_more);
  rest.after = "u49";
  host_do(host, read_page, &rest);
  EXPECT_TEXT(rest.users, "");
  host_cut(host);
}

static void close_ann(relay_hub_t *hub, void *count) {
  *(size_t *)count = relay_user_close_sessions(hub, relay_user_named(hub, "ann"), 4506, "enough");
}

TEST(closed_sessions, "members: the hub closes all sessions of one user, and none of another user") {
  host_t *host = host_start(NULL);
  peer_t *ann[5], *bob = peer_open(host_port(host), "bob", "");
  for (int i = 0; i < 5; i++) ann[i] = peer_open(host_port(host), "ann", "");
  size_t count = 0, again = 0;
  host_do(host, close_ann, &count);
  host_do(host, close_ann, &again);
  EXPECT_INTEGER(count, 5);
  EXPECT_INTEGER(again, 0);
  for (int i = 0; i < 5; i++) {
    EXPECT_CONTAINS(peer_receive_with(ann[i], "\"bye\""), "\"code\":4506,\"reason\":\"enough\"");
    EXPECT(!peer_receive(ann[i]));
    EXPECT_INTEGER(ann[i]->close_code, 4506);
    peer_cut(ann[i]);
  }
  EXPECT(peer_receives_none_with(bob, "bye"));
  peer_leave(bob);
  host_end(host);
}

enum { NOON = 43200000, SEATS = 33, BATCH = 20 };

static void receives(peer_t *peer, const char *type, const char *user) {
  char part[64];
  snprintf(part, sizeof part, "\"user\":\"%s\"", user);
  const char *event = peer_receive(peer);
  EXPECT_CONTAINS(event, type);
  EXPECT_CONTAINS(event, part);
}

static void receives_join(peer_t *peer, const char *user) {
  receives(peer, "\"type\":\"member\"", user);
  receives(peer, "\"type\":\"presence\"", user);
}

static peer_t *join_as(host_t *host, const char *user) {
  peer_t *peer = peer_open(host_port(host), user, "");
  peer_join(peer, "live.a");
  return peer;
}

TEST(batches, "members: a room with many sessions gets joins in batches, in their order") {
  host_t *host = host_start(NULL);
  host_set_clock(host, NOON);
  peer_t *peers[SEATS];
  char name[16];
  for (int i = 0; i < SEATS; i++) {
    snprintf(name, sizeof name, "u%02d", i);
    peers[i] = join_as(host, name);
  }
  host_pass(host, 1000);
  peer_t *watcher = peers[0];
  for (int i = 1; i < SEATS; i++) {
    snprintf(name, sizeof name, "u%02d", i);
    receives_join(watcher, name);
  }
  /* After a pause the first event is written at once, and the next ones together. */
  peer_t *ann = join_as(host, "ann");
  receives_join(watcher, "ann");
  peer_t *bob = join_as(host, "bob"), *carol = join_as(host, "carol");
  EXPECT(!peer_receive_within(watcher, 100));
  host_pass(host, BATCH);
  receives_join(watcher, "bob");
  receives_join(watcher, "carol");
  /* A reply is written together with waiting events. */
  peer_t *eve = join_as(host, "eve");
  peer_say(watcher, "{\"type\":\"ping\",\"id\":1}");
  receives_join(watcher, "eve");
  EXPECT_CONTAINS(peer_receive(watcher), "\"pong\"");
  /* A message is written together with waiting events. */
  peer_t *fred = join_as(host, "fred");
  peer_say(fred, "{\"type\":\"send\",\"room\":\"live.a\",\"body\":1}");
  receives_join(watcher, "fred");
  EXPECT_CONTAINS(peer_receive(watcher), "\"message\"");
  EXPECT(!peer_receive_within(watcher, 100));
  peer_t *others[] = {ann, bob, carol, eve, fred};
  for (int i = 0; i < 5; i++) peer_leave(others[i]);
  for (int i = 0; i < SEATS; i++) peer_leave(peers[i]);
  host_end(host);
}
