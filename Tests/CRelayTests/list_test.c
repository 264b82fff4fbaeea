// SPDX-License-Identifier: Apache-2.0
/* Lists of all sessions and rooms, in slices. */
#include <stdio.h>

#include "host.h"
#include "peer.h"
#include "test.h"

/* A whole list, read in slices of `step` objects. */
typedef struct listing {
  size_t step, slices, count;
  bool of_rooms;
  relay_id_t after, ids[64];
} listing_t;

static void read_list(relay_hub_t *hub, void *argument) {
  listing_t *listing = argument;
  relay_id_t position = listing->after;
  listing->count = listing->slices = 0;
  do {
    relay_id_t *ids = listing->ids + listing->count;
    listing->count += listing->of_rooms ? relay_live_rooms_after(hub, &position, ids, listing->step)
                                        : relay_sessions_after(hub, &position, ids, listing->step);
    listing->slices++;
  } while (position);
}

static const relay_id_t *list(host_t *host, listing_t *listing) {
  host_do(host, read_list, listing);
  return listing->ids;
}

static void has_existed(relay_hub_t *hub, void *argument) {
  relay_id_t *id = argument;
  *id = relay_session_has_existed(hub, *id);
}

static bool existed(host_t *host, relay_id_t id) {
  host_do(host, has_existed, &id);
  return id;
}

TEST(sessions, "list: each open session is in the list once, in the same order, with slices of any size") {
  host_t *host = host_start(NULL);
  peer_t *peers[7];
  for (int i = 0; i < 7; i++) {
    char user[24];
    snprintf(user, sizeof user, "user%d", i);
    peers[i] = peer_open(host_port(host), user, "");
  }
  listing_t whole = {.step = 64};
  list(host, &whole);
  EXPECT_INTEGER(whole.count, 7);
  EXPECT_INTEGER(whole.slices, 1);
  for (size_t step = 1; step <= 8; step++) {
    listing_t part = {.step = step};
    list(host, &part);
    EXPECT_INTEGER(part.count, 7);
    EXPECT_INTEGER(part.slices, (7 + step - 1) / step);
    for (int i = 0; i < 7; i++) EXPECT_INTEGER(part.ids[i], whole.ids[i]);
  }
  for (int i = 0; i < 7; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(ended, "list: the list goes on behind a session that has ended, and new sessions do not move others") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_t *eve = peer_open(host_port(host), "eve", "");
  listing_t all = {.step = 2};
  list(host, &all);
  EXPECT_INTEGER(all.count, 3);
  const relay_id_t first = all.ids[0], second = all.ids[1], third = all.ids[2];
  peer_leave(bob);
  listing_t rest = {.step = 2, .after = second};
  do list(host, &all);
  while (all.count == 3);
  list(host, &rest);
  EXPECT_INTEGER(rest.count, 1);
  EXPECT_INTEGER(rest.ids[0], third);
  EXPECT(existed(host, second) && existed(host, first));
  peer_t *dan = peer_open(host_port(host), "dan", "");
  list(host, &rest);
  EXPECT_INTEGER(rest.ids[rest.count - 1], third);
  peer_leave(ann);
  peer_leave(eve);
  peer_leave(dan);
  host_end(host);
}

TEST(unknown, "list: an id that the hub has not given to a session has not existed") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  listing_t all = {.step = 9};
  const relay_id_t id = list(host, &all)[0];
  EXPECT(existed(host, id));
  EXPECT(!existed(host, 0));
  EXPECT(!existed(host, id + 1));                     /* another slot */
  EXPECT(!existed(host, id + ((relay_id_t)1 << 32))); /* a later session of the slot */
  EXPECT(!existed(host, (uint32_t)id));
  listing_t beyond = {.step = 9, .after = UINT64_MAX};
  list(host, &beyond);
  EXPECT_INTEGER(beyond.count, 0);
  peer_leave(ann);
  listing_t none = {.step = 9};
  do list(host, &none);
  while (none.count);
  EXPECT(existed(host, id));
  EXPECT(!existed(host, id + ((relay_id_t)1 << 32)));
  host_end(host);
}

TEST(rooms, "list: the rooms that are not stored, while they have members") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  const char *const rooms[] = {"live.a", "stored.a", "live.b", "pushed.a", "live.c"};
  for (int i = 0; i < 5; i++) peer_join(ann, rooms[i]);
  for (size_t step = 1; step <= 6; step++) {
    listing_t all = {.step = step, .of_rooms = true};
    list(host, &all);
    EXPECT_INTEGER(all.count, 3);
  }
  peer_leave(ann);
  listing_t all = {.step = 9, .of_rooms = true};
  do list(host, &all);
  while (all.count);
  host_end(host);
}
