// SPDX-License-Identifier: Apache-2.0
/* Rooms, as clients see them: members, and the bytes of messages and events. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

TEST(bodies, "room: the others get a body byte for byte, in live and stored rooms") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  static const char *const rooms[] = {"live.a", "stored.a", "pushed.a"};
  static const char *const bodies[] = {"1.0",
                                       "-0",
                                       "1e2",
                                       "\"\\u00e9\\/ \xc3\xa9\"",
                                       "{\"b\" : 1,\t\"a\":2,\"b\":3}",
                                       "[ ]",
                                       "null",
                                       "123456789012345678901234567890.10",
                                       "1e400",
                                       "\"\\u0000\""};
  for (int i = 0; i < 3; i++) {
    peer_join(ann, rooms[i]);
    peer_join(bob, rooms[i]);
    for (size_t j = 0; j < sizeof bodies / sizeof *bodies; j++) {
      char expected[200];
      peer_say(ann, "{\"type\":\"send\",\"room\":\"%s\",\"body\": %s ,\"id\":1}", rooms[i], bodies[j]);
      snprintf(expected, sizeof expected, "\"body\":%s}", bodies[j]);
      EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), expected);
      snprintf(expected, sizeof expected,
               "{\"type\":\"message\",\"room\":\"%s\",\"seq\":%zu,\"from\":\"ann\",\"time\":", rooms[i],
               j + 1);
      EXPECT_CONTAINS(bob->text, expected);
      snprintf(expected, sizeof expected, "\"seq\":%zu", j + 1);
      EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), expected);
    }
  }
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(large_body, "room: the others get a large body completely") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "live.a");
  peer_join(bob, "live.a");
  char body[65001];
  for (size_t i = 0; i < sizeof body; i++) body[i] = (char)('a' + i % 26);
  body[65000] = 0;
  for (int i = 0; i < 20; i++) peer_say(ann, "{\"type\":\"send\",\"room\":\"live.a\",\"body\":\"%s\"}", body);
  for (int i = 0; i < 20; i++) EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), body);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(fan_out, "room: each session in the room but the sender gets a message") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *ann_too = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", ""), *eve = peer_open(host_port(host), "eve", "");
  peer_join(ann, "live.a");
  peer_join(ann_too, "live.a");
  peer_join(bob, "live.a");
  peer_join(eve, "live.b");
  peer_say(ann, "{\"type\":\"send\",\"room\":\"live.a\",\"body\":\"m\"}");
  peer_say(ann, "{\"type\":\"signal\",\"room\":\"live.a\",\"name\":\"typ\\u0069ng\",\"body\":{ }}");
  peer_say(ann, "{\"type\":\"signal\",\"room\":\"live.a\",\"name\":\"x\"}");
  peer_t *const receives[] = {ann_too, bob};
  for (int i = 0; i < 2; i++) {
    EXPECT_CONTAINS(peer_receive_with(receives[i], "\"message\""), "\"seq\":1,\"from\":\"ann\"");
    EXPECT_TEXT(
        peer_receive_with(receives[i], "\"signal\""),
        "{\"type\":\"signal\",\"room\":\"live.a\",\"from\":\"ann\",\"name\":\"typ\\u0069ng\",\"body\":{ }}");
    EXPECT_TEXT(peer_receive_with(receives[i], "\"signal\""),
                "{\"type\":\"signal\",\"room\":\"live.a\",\"from\":\"ann\",\"name\":\"x\"}");
  }
  EXPECT(peer_receives_none_with(ann, "\"from\""));
  EXPECT(peer_receives_none_with(eve, "\"from\""));
  peer_leave(ann);
  peer_leave(ann_too);
  peer_leave(bob);
  peer_leave(eve);
  host_end(host);
}

TEST(rights, "room: a session without the right to send gets an error, one without presence sees no others") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_say(ann, "{\"type\":\"join\",\"room\":\"live.a\",\"mute\":true}");
  peer_say(ann, "{\"type\":\"send\",\"id\":1,\"room\":\"live.a\",\"body\":1}");
  peer_say(ann, "{\"type\":\"signal\",\"id\":2,\"room\":\"live.a\",\"name\":\"n\"}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), "\"forbidden\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":2"), "\"forbidden\"");
  peer_say(bob, "{\"type\":\"join\",\"id\":1,\"room\":\"live.a\",\"hide\":true}");
  peer_receive_with(bob, "\"id\":1");
  peer_say(ann, "{\"type\":\"activity\",\"state\":\"idle\"}");
  peer_leave(ann);
  EXPECT(host_noted(host, "away ann"));
  EXPECT(peer_receives_none_with(bob, "ann"));
  peer_leave(bob);
  host_end(host);
}

TEST(members, "room: the others get events for a new member, with presence, and for a member who leaves") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "live.a");
  const char *reply = peer_join(bob, "live.a");
  EXPECT_CONTAINS(reply, "\"user\":\"ann\",\"name\":\"A person\",\"online\":true");
  EXPECT_CONTAINS(reply, "\"user\":\"bob\"");
  EXPECT_CONTAINS(reply, "\"memberCount\":2,\"onlineCount\":2");
  EXPECT_CONTAINS(
      peer_receive_with(ann, "\"member\""),
      "{\"type\":\"member\",\"room\":\"live.a\",\"user\":\"bob\",\"name\":\"A "
      "person\",\"event\":\"joined\",\"memberCount\":2,\"presence\":{\"user\":\"bob\",\"name\":\"A "
      "person\",\"online\":true,\"activity\":\"active\",\"isFocused\":null");
  EXPECT_CONTAINS(peer_receive(ann), "{\"type\":\"presence\",\"user\":\"bob\"");
  peer_join(bob, "live.a");
  EXPECT(peer_receives_none_with(ann, "joined"));
  peer_say(bob, "{\"type\":\"leave\",\"id\":9,\"room\":\"live.a\"}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"member\""),
                  "\"user\":\"bob\",\"name\":\"A person\",\"event\":\"left\",\"memberCount\":1");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"member\""), "\"event\":\"left\"");
  EXPECT_CONTAINS(peer_receive(bob), "\"ok\",\"id\":9");
  peer_say(bob, "{\"type\":\"send\",\"id\":10,\"room\":\"live.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":10"), "not_joined");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(leave_everywhere,
     "room: a leave removes all sessions of the user from the room, and each gets an event") {
  relay_config_t config = host_config();
  for (int is_large = 0; is_large < 2; is_large++) {
    config.limits.member_list = is_large ? 1 : 256;
    host_t *host = host_start(&config);
    peer_t *one = peer_open(host_port(host), "ann", ""), *two = peer_open(host_port(host), "ann", "");
    peer_t *bob = peer_open(host_port(host), "bob", "");
    peer_join(bob, "stored.a");
    peer_join(one, "stored.a");
    peer_say(two, "{\"type\":\"join\",\"id\":2,\"room\":\"stored.a\",\"hide\":true}");
    peer_receive_with(two, "\"id\":2");
    peer_say(one, "{\"type\":\"leave\",\"id\":3,\"room\":\"stored.a\"}");
    EXPECT_CONTAINS(peer_receive_with(one, "\"member\""), "\"event\":\"left\"");
    EXPECT_CONTAINS(peer_receive_with(one, "\"id\":3"), "\"ok\"");
    EXPECT_INTEGER(host_counts(host).seats, 1);
    EXPECT(!peer_receives_none_with(two, "\"event\":\"left\""));
    peer_leave(one);
    peer_leave(two);
    peer_leave(bob);
    host_end(host);
  }
}

TEST(stay, "room: a leave with stay removes only this session, and the membership stays") {
  host_t *host = host_start(NULL);
  peer_t *one = peer_open(host_port(host), "ann", ""), *two = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  peer_join(one, "stored.a");
  peer_join(two, "stored.a");
  peer_join(bob, "stored.a");
  peer_say(one, "{\"type\":\"leave\",\"id\":3,\"room\":\"stored.a\",\"stay\":true}");
  EXPECT_CONTAINS(peer_receive_with(one, "\"id\":3"), "\"ok\"");
  peer_say(bob, "{\"type\":\"send\",\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(two, "\"message\""), "\"seq\":1");
  EXPECT(peer_receives_none_with(one, "\"message\""));
  EXPECT(peer_receives_none_with(bob, "left"));
  EXPECT_INTEGER(host_counts(host).members, 2);
  peer_leave(one);
  peer_leave(two);
  peer_leave(bob);
  host_end(host);
}

TEST(rooms_per_session,
     "room: a join above the limit of a session is refused, until the session leaves a room") {
  relay_config_t config = host_config();
  config.limits.rooms_per_session = 3;
  host_t *host = host_start(&config);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(peer_join(ann, "live.a"), "\"ok\"");
  EXPECT_CONTAINS(peer_join(ann, "live.b"), "\"ok\"");
  EXPECT_CONTAINS(peer_join(ann, "live.c"), "\"ok\"");
  EXPECT_CONTAINS(peer_join(ann, "live.d"), "too_large");
  EXPECT_CONTAINS(peer_join(ann, "live.a"), "\"ok\"");
  peer_say(ann, "{\"type\":\"leave\",\"room\":\"live.b\"}");
  EXPECT_CONTAINS(peer_join(ann, "live.d"), "\"ok\"");
  peer_leave(ann);
  host_end(host);
}

static bool has_no_rooms(relay_hub_t *hub, void *unused) {
  (void)unused;
  return !relay_hub_counts(hub).rooms;
}

TEST(deserted,
     "room: a live room is freed with its last member: after a leave, a close or a lost connection") {
  host_t *host = host_start(NULL);
  for (int way = 0; way < 3; way++) {
    peer_t *ann = peer_open(host_port(host), "ann", "");
    EXPECT_CONTAINS(peer_join(ann, "live.a"), "\"seq\":0");
    peer_say(ann, "{\"type\":\"send\",\"id\":5,\"room\":\"live.a\",\"body\":1}");
    EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":5"), "\"seq\":1");
    if (way == 0) {
      peer_say(ann, "{\"type\":\"leave\",\"room\":\"live.a\"}");
      EXPECT(host_reaches(host, has_no_rooms, NULL));
    }
    if (way < 2)
      peer_leave(ann);
    else
      peer_cut(ann);
    EXPECT(host_reaches(host, has_no_rooms, NULL));
  }
  host_end(host);
}

static void notify_and_delete(relay_hub_t *hub, void *unused) {
  (void)unused;
  static const char frame[] = "{\"type\":\"room\",\"event\":\"deleted\"}";
  const relay_id_t room = relay_room_named(hub, "stored.a");
  relay_id_t sessions[4];
  EXPECT_INTEGER(relay_room_member_sessions(hub, room, sessions, 1), 3);
  const size_t count = relay_room_member_sessions(hub, room, sessions, 4);
  EXPECT_INTEGER(count, 3);
  relay_sessions_push(hub, sessions, count, (relay_bytes_t){frame, sizeof frame - 1});
  relay_room_delete(hub, room);
  EXPECT(!relay_room_named(hub, "stored.a"));
}

TEST(deleted, "room: a deleted room notifies all sessions of its members, and ends without events") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  peer_t *tablet = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  peer_say(ann, "{\"type\":\"send\",\"id\":5,\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":5"), "\"seq\":1");
  host_do(host, notify_and_delete, NULL);
  peer_t *const all[] = {ann, bob, tablet};
  for (int i = 0; i < 3; i++) EXPECT_CONTAINS(peer_receive_with(all[i], "\"type\":\"room\""), "deleted");
  /* The sessions are open, but not in the room. The next frame is the error, and no `member` event. */
  peer_say(bob, "{\"type\":\"send\",\"id\":6,\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive(bob), "not_joined");
  EXPECT_INTEGER(host_counts(host).rooms, 0);
  EXPECT_INTEGER(host_counts(host).members, 0);
  EXPECT_INTEGER(host_counts(host).seats, 0);
  for (int i = 0; i < 3; i++) peer_leave(all[i]);
  host_end(host);
}

static relay_bytes_t bytes_of(const char *text) {
  return (relay_bytes_t){text, strlen(text)};
}

/* Publishes a message that answers the message before it, and an event of each of the two. */
static void publish_answer(relay_hub_t *hub, void *seq) {
  const relay_id_t room = relay_room_named(hub, "stored.a");
  const int64_t answer = *(int64_t *)seq, quoted = answer - 1;
  char quote[64], edit[64], pin[64];
  snprintf(quote, sizeof quote, ",\"quote\":{\"seq\":%lld}", (long long)quoted);
  snprintf(edit, sizeof edit, "{\"type\":\"edited\",\"of\":%lld}", (long long)quoted);
  snprintf(pin, sizeof pin, "{\"type\":\"pinned\",\"of\":%lld}", (long long)quoted);
  relay_message_t message = {.from = "ann",
                             .body = bytes_of("1"),
                             .more = bytes_of(",\"replyTo\":1"),
                             .quote = bytes_of(quote),
                             .quoted = quoted,
                             .seq = answer,
                             .time = 1};
  EXPECT_INTEGER(relay_room_publish(hub, room, &message), answer);
  EXPECT_INTEGER(relay_room_send_event(hub, room, 0, quoted, bytes_of(edit)), RELAY_OK);
  EXPECT_INTEGER(relay_room_send_event(hub, room, 0, 0, bytes_of(pin)), RELAY_OK);
  size_t size, count;
  char *tail = relay_room_tail(hub, room, quoted, &size, &count);
  EXPECT_CONTAINS(tail, quote);
  free(tail);
}

typedef struct reading {
  relay_id_t session;
  bool before, since; /* may read the message 1, which is before the join, and the message 2 */
} reading_t;

static void expect_reading(relay_hub_t *hub, void *argument) {
  const reading_t *reading = argument;
  const relay_id_t room = relay_room_named(hub, "stored.a");
  EXPECT_INTEGER(relay_room_may_read(hub, room, reading->session, 1), reading->before);
  EXPECT_INTEGER(relay_room_may_read(hub, room, reading->session, 2), reading->since);
}

TEST(old_texts,
     "room: a session without the right to the history gets no text of a message before its join") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_t *eve = peer_open(host_port(host), "eve", "");
  reading_t by_bob = {host_session(bob->text), false, true};
  peer_join(ann, "stored.a");
  peer_say(ann, "{\"type\":\"send\",\"id\":5,\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":5"), "\"seq\":1");
  peer_say(bob, "{\"type\":\"join\",\"id\":1,\"room\":\"stored.a\",\"forget\":true}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"seq\":1");
  peer_join(eve, "stored.a");
  for (int64_t seq = 2; seq <= 3; seq++) host_do(host, publish_answer, &seq);
  peer_t *const readers[] = {ann, eve};
  for (int i = 0; i < 2; i++) {
    EXPECT_CONTAINS(peer_receive_with(readers[i], "\"message\""), "\"seq\":2");
    EXPECT_CONTAINS(readers[i]->text, "\"replyTo\":1,\"quote\":{\"seq\":1}}");
    EXPECT_CONTAINS(peer_receive_with(readers[i], "\"edited\""), "\"of\":1");
    EXPECT_CONTAINS(peer_receive_with(readers[i], "\"pinned\""), "\"of\":1");
    EXPECT_CONTAINS(peer_receive_with(readers[i], "\"message\""), "\"quote\":{\"seq\":2}");
  }
  EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), "\"seq\":2");
  EXPECT_CONTAINS(bob->text, "\"replyTo\":1}");
  EXPECT_CONTAINS(peer_receive(bob), "\"pinned\"");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), "\"replyTo\":1,\"quote\":{\"seq\":2}}");
  EXPECT_CONTAINS(peer_receive(bob), "\"edited\"");
  host_do(host, expect_reading, &by_bob);
  by_bob.session = 0;
  by_bob.since = false;
  host_do(host, expect_reading, &by_bob);
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(eve);
  host_end(host);
}

static void add_member(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_create(hub, "live.a", "epoch", 0, 0, 0);
  const relay_id_t user = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  relay_room_add_member(hub, room, user, RELAY_ROLE_MEMBER, "joined", NULL);
}

TEST(member_without_session, "room: a member of a live room who never joins is removed after the grace") {
  host_t *host = host_start(NULL);
  host_set_clock(host, 43200000);
  host_do(host, add_member, NULL);
  host_pass(host, 199);
  EXPECT_INTEGER(host_counts(host).members, 1);
  host_pass(host, 1);
  EXPECT(host_reaches(host, has_no_rooms, NULL));
  EXPECT_INTEGER(host_counts(host).users, 0);
  host_end(host);
}

static void try_three_members(relay_hub_t *hub, void *statuses) {
  const relay_id_t room = relay_room_create(hub, "live.a", "epoch", 0, 0, 0);
  relay_room_configure(hub, room, 0, 0, 2);
  static const char *const names[] = {"ann", "bob", "cid", "bob"};
  for (int i = 0; i < 4; i++) {
    const relay_id_t user = relay_user_create(hub, names[i], (relay_bytes_t){0}, 0);
    ((relay_status_t *)statuses)[i] =
        relay_room_add_member(hub, room, user, RELAY_ROLE_MEMBER, "joined", NULL);
    relay_user_release(hub, user);
  }
}

TEST(max_members, "room: a live room accepts members up to its limit, and present members again") {
  host_t *host = host_start(NULL);
  relay_status_t statuses[4];
  host_do(host, try_three_members, statuses);
  EXPECT_INTEGER(statuses[0], RELAY_OK);
  EXPECT_INTEGER(statuses[1], RELAY_OK);
  EXPECT_INTEGER(statuses[2], RELAY_TOO_MANY);
  EXPECT_INTEGER(statuses[3], RELAY_OK);
  EXPECT_INTEGER(host_counts(host).members, 2);
  host_end(host);
}

typedef struct list {
  const char *room;
  uint32_t max;
} list_t;

static void list_members(relay_hub_t *hub, void *list) {
  const list_t *setting = list;
  relay_room_configure(hub, relay_room_named(hub, setting->room), 0, setting->max, 0);
}

TEST(own_member_list, "room: each room has its own bound for large rooms, which may change") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "live.a");
  peer_join(bob, "live.a");
  host_do(host, list_members, &(list_t){"live.a", 1});
  EXPECT_CONTAINS(peer_receive_with(ann, "\"counts\""), "\"memberCount\":2");
  host_do(host, list_members, &(list_t){"live.a", 0});
  EXPECT_CONTAINS(peer_receive_with(ann, "\"presence\""), "\"user\":");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

static void list_subscribed(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_named(hub, "stored.a"), bob = relay_user_named(hub, "bob");
  relay_id_t users[2];
  EXPECT_INTEGER(relay_room_inbox(hub, room, users, 2), 0);
  EXPECT(relay_user_set_has_inbox(hub, bob, true));
  EXPECT_INTEGER(relay_room_inbox(hub, room, users, 2), 1);
  EXPECT(users[0] == bob);
  EXPECT(relay_user_set_has_inbox(hub, relay_user_named(hub, "ann"), true));
  EXPECT_INTEGER(relay_room_inbox(hub, room, users, 1), 2);
  EXPECT(relay_user_set_has_inbox(hub, bob, false));
  EXPECT_INTEGER(relay_room_inbox(hub, room, users, 2), 1);
  EXPECT(users[0] == relay_user_named(hub, "ann"));
  EXPECT_INTEGER(relay_room_inbox(hub, 0, users, 2), 0);
  EXPECT(!relay_user_set_has_inbox(hub, 0, true));
  relay_id_t members[3] = {0, 0, 0};
  EXPECT_INTEGER(relay_room_members(hub, room, members, 2), 3);
  EXPECT(members[1] != 0 && members[2] == 0);
  EXPECT_INTEGER(relay_room_members(hub, room, members, 3), 3);
  EXPECT(members[0] == bob || members[1] == bob || members[2] == bob);
  EXPECT_INTEGER(relay_room_members(hub, 0, members, 3), 0);
}

TEST(subscribed_members,
     "room: the members with the events of their list of rooms are found, up to the size of the array") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_t *bob = peer_open(host_port(host), "bob", "");
  peer_t *eve = peer_open(host_port(host), "eve", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  peer_join(eve, "stored.a");
  host_do(host, list_subscribed, NULL);
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(eve);
  host_end(host);
}

static void allow_one_room(relay_hub_t *hub, void *host) {
  relay_limits_t limits = ((host_t *)host)->config.limits;
  limits.rooms_per_session = 1;
  relay_hub_set_limits(hub, &limits);
}

TEST(limits_at_run_time, "hub: changed limits are valid at once, also for open sessions") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(peer_join(ann, "live.a"), "\"ok\"");
  host_do(host, allow_one_room, host);
  EXPECT_CONTAINS(peer_join(ann, "live.b"), "too_large");
  peer_leave(ann);
  host_end(host);
}

typedef struct tails {
  size_t counts[4]; /* messages after each seq; SIZE_MAX: the hub does not have all of them */
} tails_t;

static void measure_tails(relay_hub_t *hub, void *tails) {
  for (size_t after = 0; after < 4; after++) {
    size_t size, count;
    char *text = relay_room_tail(hub, relay_room_named(hub, "stored.a"), (int64_t)after, &size, &count);
    ((tails_t *)tails)->counts[after] = text ? count : SIZE_MAX;
    free(text);
  }
}

static void trim_before_three(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_room_trim(hub, relay_room_named(hub, "stored.a"), 3);
}

TEST(trimmed_tail, "room: the tail has no trimmed messages, but still the newer ones") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  for (int i = 0; i < 3; i++) {
    peer_say(ann, "{\"type\":\"send\",\"id\":1,\"room\":\"stored.a\",\"body\":1}");
    peer_receive_with(ann, "\"id\":1");
  }
  tails_t tails;
  host_do(host, measure_tails, &tails);
  for (size_t after = 0; after < 4; after++) EXPECT_INTEGER(tails.counts[after], 3 - after);
  host_do(host, trim_before_three, NULL);
  host_do(host, measure_tails, &tails);
  EXPECT_INTEGER(tails.counts[1], SIZE_MAX);
  EXPECT_INTEGER(tails.counts[2], 1);
  EXPECT_INTEGER(tails.counts[3], 0);
  peer_leave(ann);
  host_end(host);
}
