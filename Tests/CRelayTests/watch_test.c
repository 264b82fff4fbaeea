// SPDX-License-Identifier: Apache-2.0
/* Watches of users without a shared room. */
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

typedef struct order {
  relay_id_t session;
  const char *user;
  bool is_related, is_evaluated;
  relay_status_t status;
} order_t;

static void watch(relay_hub_t *hub, void *argument) {
  order_t *order = argument;
  const relay_id_t user = relay_user_create(hub, order->user, (relay_bytes_t){0}, 0);
  order->status = relay_session_may_watch(hub, order->session, &user, 1);
  if (order->status == RELAY_OK)
    order->status = relay_session_watch(hub, order->session, user, order->is_related, order->is_evaluated);
  else
    relay_user_release(hub, user);
}

static void unwatch(relay_hub_t *hub, void *argument) {
  const order_t *order = argument;
  relay_session_unwatch(hub, order->session, relay_user_named(hub, order->user));
}

static void relate(relay_hub_t *hub, void *argument) {
  const order_t *order = argument;
  relay_session_watch_relate(hub, order->session, relay_user_named(hub, order->user), order->is_related,
                             order->is_evaluated);
}

static void focus(relay_hub_t *hub, void *argument) {
  relay_user_set_focus(hub, relay_user_named(hub, argument), 1, 5000, 0);
}

static void unfocus(relay_hub_t *hub, void *argument) {
  relay_user_set_focus(hub, relay_user_named(hub, argument), 0, 0, 0);
}

/* Returns a client that watches Bob, and writes its session to `session`. */
static peer_t *watcher_of_bob(host_t *host, relay_id_t *session, bool is_related) {
  peer_t *watcher = peer_dial(host_port(host));
  peer_upgrade(watcher, "/v1/connect", "");
  peer_say(watcher, "{\"type\":\"hello\",\"id\":0,\"user\":\"watcher\"}");
  *session = host_session(peer_receive(watcher));
  order_t order = {.session = *session, .user = "bob", .is_related = is_related};
  host_do(host, watch, &order);
  EXPECT_INTEGER(order.status, RELAY_OK);
  return watcher;
}

TEST(receives, "watch: a watcher gets one event when the user becomes online or offline") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *watcher = watcher_of_bob(host, &session, false), *bob = peer_open(host_port(host), "bob", "");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"user\":\"bob\""), "\"online\":true");
  peer_join(bob, "live.a");
  peer_join(watcher, "live.a");
  EXPECT(peer_receives_none_with(watcher, "\"type\":\"presence\",\"user\":\"bob\""));
  peer_leave(bob);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"type\":\"presence\",\"user\":\"bob\""), "\"online\":false");
  EXPECT(peer_receives_none_with(watcher, "\"type\":\"presence\",\"user\":\"bob\""));
  peer_leave(watcher);
  host_end(host);
}

TEST(focus_is_hidden, "watch: without a shared room a watcher sees neither the focus nor its changes") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *bob = peer_open(host_port(host), "bob", ""), *watcher = watcher_of_bob(host, &session, false);
  host_do(host, focus, "bob");
  EXPECT(peer_receives_none_with(watcher, "presence"));
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"idle\"}");
  const char *entry = peer_receive_with(watcher, "\"user\":\"bob\"");
  EXPECT_CONTAINS(entry, "\"activity\":\"idle\",\"isFocused\":null");
  EXPECT_LACKS(entry, "focusSince");
  peer_leave(bob);
  peer_leave(watcher);
  host_end(host);
}

TEST(focus_follows, "watch: a watcher sees the focus only while a room is shared") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *bob = peer_open(host_port(host), "bob", ""), *watcher = watcher_of_bob(host, &session, false);
  peer_t *second = peer_open(host_port(host), "watcher", ""); /* the first session does not join the room */
  peer_join(bob, "stored.a");
  host_do(host, focus, "bob");
  EXPECT(peer_receives_none_with(watcher, "presence"));
  peer_join(second, "stored.a");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"bob\""),
                  "\"isFocused\":true,\"focusSince\":5000");
  host_do(host, unfocus, "bob");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"bob\""), "\"isFocused\":false");
  peer_say(second, "{\"type\":\"leave\",\"room\":\"stored.a\"}");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"bob\""), "\"isFocused\":null");
  order_t order = {.session = session, .user = "bob", .is_related = true};
  host_do(host, relate, &order); /* another stored room is shared */
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"bob\""), "\"isFocused\":false");
  peer_leave(bob);
  peer_leave(second);
  peer_leave(watcher);
  host_end(host);
}

TEST(evaluated, "watch: with is_evaluated a shared room alone does not show the focus") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *bob = peer_open(host_port(host), "bob", ""), *watcher = watcher_of_bob(host, &session, false);
  order_t order = {.session = session, .user = "bob", .is_evaluated = true};
  host_do(host, relate, &order);
  peer_join(bob, "stored.a");
  peer_say(watcher, "{\"type\":\"join\",\"id\":1,\"room\":\"stored.a\",\"hide\":true}");
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"id\":1"), "\"ok\"");
  host_do(host, focus, "bob");
  EXPECT(peer_receives_none_with(watcher, "\"isFocused\":true"));
  order.is_related = true;
  host_do(host, relate, &order);
  EXPECT_CONTAINS(peer_receive_with(watcher, "\"presence\",\"user\":\"bob\""), "\"isFocused\":true");
  peer_leave(bob);
  peer_leave(watcher);
  host_end(host);
}

TEST(ends, "watch: a watch ends with unwatch, and with its session") {
  host_t *host = host_start(NULL);
  relay_id_t session;
  peer_t *watcher = watcher_of_bob(host, &session, true);
  order_t order = {.session = session, .user = "bob"};
  host_do(host, unwatch, &order);
  host_do(host, unwatch, &order); /* harmless */
  peer_t *bob = peer_open(host_port(host), "bob", "");
  EXPECT(peer_receives_none_with(watcher, "presence"));
  order.user = "carol";
  host_do(host, watch, &order);
  EXPECT_INTEGER(host_counts(host).watches, 1);
  peer_leave(watcher);
  peer_leave(bob);
  host_end(host); /* expects that no watch is left */
}

typedef struct list {
  relay_watching_t found[4];
  size_t count, room;
} list_t;

static void list_all(relay_hub_t *hub, void *argument) {
  list_t *list = argument;
  list->count = relay_watches(hub, list->found, list->room);
}

TEST(lists, "watch: the watches of all sessions are listed, up to the given maximum") {
  host_t *host = host_start(NULL);
  list_t list = {.room = 4};
  host_do(host, list_all, &list);
  EXPECT_INTEGER(list.count, 0);
  relay_id_t first, second;
  peer_t *watcher = watcher_of_bob(host, &first, false), *other = watcher_of_bob(host, &second, false);
  order_t order = {.session = second, .user = "carol"};
  host_do(host, watch, &order);
  host_do(host, list_all, &list);
  EXPECT_INTEGER(list.count, 3);
  size_t of_first = 0;
  for (size_t i = 0; i < 3; i++) of_first += list.found[i].session == first;
  EXPECT_INTEGER(of_first, 1);
  list = (list_t){.room = 1};
  host_do(host, list_all, &list);
  EXPECT_INTEGER(list.count, 3);
  EXPECT(list.found[0].session && !list.found[1].session);
  peer_leave(watcher);
  host_do(host, list_all, &list);
  EXPECT_INTEGER(list.count, 2);
  peer_leave(other);
  host_end(host);
}

TEST(watched_limit, "watch: a session may watch as many users as the limit, and not one more") {
  relay_config_t config = host_config();
  config.limits.watched = 2;
  host_t *host = host_start(&config);
  relay_id_t session;
  peer_t *watcher = watcher_of_bob(host, &session, false);
  order_t order = {.session = session, .user = "carol"};
  host_do(host, watch, &order);
  EXPECT_INTEGER(order.status, RELAY_OK);
  order.user = "dave";
  host_do(host, watch, &order);
  EXPECT_INTEGER(order.status, RELAY_TOO_MANY);
  order.user = "bob"; /* it watches Bob already */
  host_do(host, watch, &order);
  EXPECT_INTEGER(order.status, RELAY_OK);
  peer_leave(watcher);
  host_end(host);
}
