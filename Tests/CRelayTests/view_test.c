// SPDX-License-Identifier: Apache-2.0
/* Sharing and blocks: the parts of a user's state that another user sees. */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

typedef struct order {
  const char *user, *other;
  relay_audience_t focus, online;
  bool is_blocked;
  relay_id_t session; /* the session that watches the user */
} order_t;

static void share(relay_hub_t *hub, void *argument) {
  const order_t *order = argument;
  EXPECT(relay_user_set_sharing(hub, relay_user_named(hub, order->user), order->focus, order->online));
}

static void block(relay_hub_t *hub, void *argument) {
  const order_t *order = argument;
  EXPECT(relay_user_set_blocked(hub, relay_user_named(hub, order->user), order->other, order->is_blocked));
}

static void watch(relay_hub_t *hub, void *argument) {
  const order_t *order = argument;
  const relay_id_t user = relay_user_named(hub, order->user);
  EXPECT_INTEGER(relay_session_watch(hub, order->session, user, false, false), RELAY_OK);
}

static void focus(relay_hub_t *hub, void *user) {
  relay_user_set_focus(hub, relay_user_named(hub, user), 1, 5000, 0);
}

static void unfocus(relay_hub_t *hub, void *user) {
  relay_user_set_focus(hub, relay_user_named(hub, user), 0, 0, 0);
}

static void set_status(relay_hub_t *hub, void *status) {
  const relay_bytes_t json = {status, strlen(status)};
  EXPECT(relay_user_set_status(hub, relay_user_named(hub, "bob"), json, 0));
}

typedef struct query {
  const char *room, *sender;
  relay_delivery_t delivery;
  char silenced[256]; /* names, each followed by a space */
} query_t;

static void query_delivery(relay_hub_t *hub, void *argument) {
  query_t *query = argument;
  relay_id_t silenced[8];
  const size_t count =
      relay_room_delivery(hub, relay_room_named(hub, query->room), relay_user_named(hub, query->sender),
                          &query->delivery, silenced, 8);
  query->silenced[0] = 0;
  for (size_t i = 0; i < count && i < 8; i++) {
    strcat(query->silenced, relay_user_name(hub, silenced[i]));
    strcat(query->silenced, " ");
  }
}

static peer_t *dial_as(host_t *host, const char *user, relay_id_t *session) {
  peer_t *peer = peer_dial(host_port(host));
  peer_upgrade(peer, "/v1/connect", "");
  peer_say(peer, "{\"type\":\"hello\",\"id\":0,\"user\":\"%s\"}", user);
  *session = host_session(peer_receive(peer));
  return peer;
}

static const char of_bob[] = "\"presence\",\"user\":\"bob\"";

TEST(hides_focus, "view: a focus that is not shared is hidden, and so are its changes") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  host_do(host, focus, "bob");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"isFocused\":true"), of_bob);
  order_t order = {.user = "bob", .focus = RELAY_SHARE_NONE, .online = RELAY_SHARE_WATCHERS};
  host_do(host, share, &order);
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob),
                  "\"online\":true,\"activity\":\"active\",\"isFocused\":null");
  host_do(host, unfocus, "bob");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"isFocused\":false"), of_bob); /* the user's own sessions see it */
  host_do(host, focus, "bob");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"isFocused\":true"), of_bob);
  EXPECT(peer_receives_none_with(ann, of_bob));
  EXPECT_LACKS(peer_join(ann, "stored.a"), "\"isFocused\":true");
  order.focus = RELAY_SHARE_ROOMS;
  host_do(host, share, &order);
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob), "\"isFocused\":true");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(status, "view: those who see the online state see the status, and its changes") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  EXPECT_LACKS(peer_receive_with(ann, of_bob), "status");
  char first[] = "{\"text\":\"a\"}", second[] = "{\"text\":\"b\"}", none[] = "";
  host_do(host, set_status, first);
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob), ",\"status\":{\"text\":\"a\"}}");
  host_do(host, set_status, first);
  EXPECT(peer_receives_none_with(ann, of_bob));
  order_t order = {.user = "bob", .focus = RELAY_SHARE_WATCHERS, .online = RELAY_SHARE_NONE};
  host_do(host, share, &order);
  EXPECT_LACKS(peer_receive_with(ann, of_bob), "status");
  host_do(host, set_status, second);
  EXPECT_CONTAINS(peer_receive_with(bob, "{\"text\":\"b\"}"), of_bob);
  EXPECT(peer_receives_none_with(ann, of_bob));
  EXPECT_LACKS(peer_join(ann, "stored.a"), "\"text\":\"b\"");
  order.online = RELAY_SHARE_ROOMS;
  host_do(host, share, &order);
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob), "{\"text\":\"b\"}");
  host_do(host, set_status, none);
  EXPECT_LACKS(peer_receive_with(ann, of_bob), "status");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(hides_back,
     "view: a member who joins while an unshared focus is on gets no event when it is off again") {
  host_t *host = host_start(NULL);
  const int64_t noon = 43200000;
  host_set_clock(host, noon);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  order_t order = {.user = "bob", .focus = RELAY_SHARE_NONE, .online = RELAY_SHARE_ROOMS};
  host_do(host, share, &order);
  peer_join(bob, "stored.a");
  peer_join(ann, "stored.a");
  host_set_clock(host, noon + 1000);
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"activity\":\"idle\""), of_bob);
  host_do(host, focus, "bob");
  EXPECT_CONTAINS(peer_join(ann, "stored.a"), "\"user\":\"bob\"");
  host_do(host, unfocus, "bob");
  host_set_clock(host, noon + 2000);
  EXPECT(peer_receives_none_with(ann, of_bob));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(hides_online, "view: a user who does not share the online state looks offline, and is not counted") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  order_t order = {.user = "bob", .focus = RELAY_SHARE_ROOMS, .online = RELAY_SHARE_NONE};
  host_do(host, share, &order);
  const char *entry = peer_receive_with(ann, "\"online\":false");
  EXPECT_CONTAINS(entry, of_bob);
  EXPECT_LACKS(entry, "activity");
  EXPECT_LACKS(entry, "lastSeen");
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT(peer_receives_none_with(bob, "error"));
  EXPECT(peer_receives_none_with(ann, of_bob));
  EXPECT_CONTAINS(peer_join(ann, "stored.a"), "\"onlineCount\":1");
  EXPECT_CONTAINS(peer_join(bob, "stored.a"), "\"onlineCount\":2");
  host_do(host, focus, "bob"); /* the focus is shared */
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob), "\"online\":false,\"isFocused\":true");
  peer_leave(bob);
  EXPECT(peer_receives_none_with(ann, of_bob));
  peer_leave(ann);
  host_end(host);
}

TEST(counts, "view: a large room counts only users who share their online state") {
  relay_config_t config = host_config();
  config.limits.member_list = 2;
  host_t *host = host_start(&config);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", ""),
         *carol = peer_open(host_port(host), "carol", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  peer_join(carol, "stored.a");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"counts\""), "\"onlineCount\":3");
  order_t order = {.user = "bob", .focus = RELAY_SHARE_ROOMS, .online = RELAY_SHARE_NONE};
  host_do(host, share, &order);
  EXPECT_CONTAINS(peer_receive_with(ann, "\"counts\""), "\"onlineCount\":2");
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(carol);
  host_end(host);
}

TEST(watchers, "view: a watcher sees the parts that the user shares with watchers") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *bob = peer_open(host_port(host), "bob", ""), *watcher = dial_as(host, "watcher", &session);
  order_t order = {
      .user = "bob", .session = session, .focus = RELAY_SHARE_WATCHERS, .online = RELAY_SHARE_ROOMS};
  host_do(host, focus, "bob");
  host_do(host, watch, &order);
  host_do(host, share, &order);
  EXPECT_CONTAINS(peer_receive_with(watcher, of_bob), "\"online\":false,\"isFocused\":true");
  host_do(host, unfocus, "bob");
  EXPECT_CONTAINS(peer_receive_with(watcher, of_bob), "\"isFocused\":false");
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"idle\"}");
  EXPECT(peer_receives_none_with(bob, "error"));
  EXPECT(peer_receives_none_with(watcher, of_bob));
  peer_join(bob, "stored.a");
  peer_say(watcher, "{\"type\":\"join\",\"room\":\"stored.a\"}"); /* a member of the same room sees more */
  EXPECT_CONTAINS(peer_receive_with(watcher, of_bob), "\"online\":true");
  peer_leave(bob);
  peer_leave(watcher);
  host_end(host);
}

TEST(blocked,
     "view: a blocked user sees the blocker as unknown, in rooms and when watching, and gets no receipts") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *ann = dial_as(host, "ann", &session), *bob = peer_open(host_port(host), "bob", ""),
         *carol = peer_open(host_port(host), "carol", "");
  peer_join(ann, "marked.a");
  peer_join(carol, "marked.a");
  peer_join(bob, "marked.a");
  peer_say(ann, "{\"type\":\"send\",\"id\":1,\"room\":\"marked.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), "\"seq\":1");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), "ok");
  order_t order = {.user = "bob", .other = "ann", .is_blocked = true, .session = session};
  host_do(host, block, &order);
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob),
                  "{\"type\":\"presence\",\"user\":\"bob\",\"online\":false,\"isFocused\":null}");
  EXPECT(peer_receives_none_with(carol, "\"online\":false"));
  peer_say(bob, "{\"type\":\"read\",\"room\":\"marked.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(carol, "receipt"), "\"user\":\"bob\"");
  host_do(host, focus, "bob");
  EXPECT_CONTAINS(peer_receive_with(carol, of_bob), "\"isFocused\":true");
  host_do(host, watch, &order);
  peer_leave(bob);
  EXPECT(peer_receives_none_with(ann, "bob"));
  EXPECT_CONTAINS(peer_join(ann, "marked.a"), "{\"user\":\"bob\",\"online\":false,\"isFocused\":null}");
  order.is_blocked = false;
  host_do(host, block, &order);
  EXPECT_CONTAINS(peer_receive_with(ann, of_bob), "\"isFocused\":true");
  EXPECT(peer_receives_none_with(ann, of_bob)); /* one event, although the session also watches */
  peer_leave(ann);
  peer_leave(carol);
  host_end(host);
}

TEST(delivery, "view: the delivery counts members as the sender may see them") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", ""),
         *carol = peer_open(host_port(host), "carol", ""), *dave = peer_open(host_port(host), "dave", "");
  peer_join(ann, "pushed.a");
  peer_join(bob, "pushed.a");
  peer_join(carol, "pushed.a");
  peer_join(dave, "pushed.a");
  peer_say(carol, "{\"type\":\"activity\",\"id\":1,\"state\":\"background\"}");
  EXPECT_CONTAINS(peer_receive_with(carol, "\"id\":1"), "ok");
  host_do(host, focus, "bob");
  host_do(host, focus, "carol");
  query_t query = {.room = "pushed.a", .sender = "ann"};
  host_do(host, query_delivery, &query);
  EXPECT_INTEGER(query.delivery.live, 2);
  EXPECT_INTEGER(query.delivery.away, 1);
  EXPECT_TEXT(query.silenced, "bob carol ");
  order_t order = {.user = "bob", .other = "ann", .is_blocked = true};
  host_do(host, block, &order);
  order = (order_t){.user = "carol", .focus = RELAY_SHARE_NONE, .online = RELAY_SHARE_WATCHERS};
  host_do(host, share, &order);
  host_do(host, query_delivery, &query);
  EXPECT_INTEGER(query.delivery.live, 1);
  EXPECT_INTEGER(query.delivery.away, 2);
  EXPECT_TEXT(query.silenced, "");
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(carol);
  peer_leave(dave);
  host_end(host);
}
