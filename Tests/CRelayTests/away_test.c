// SPDX-License-Identifier: Apache-2.0
/* The away queue: the messages that are due to be decided for a member, and their times, with a simulated
 * clock. */
#include "host.h"
#include "peer.h"
#include "test.h"

enum { NOON = 43200000, GRACE = 400, FLUSH = 1000, RECEIPT_WAIT = 5000, IDLE_WAIT = 30000 };

static host_t *start(void) {
  relay_config_t config = host_config();
  config.limits.presence_grace = GRACE;
  host_t *host = host_start(&config);
  host_set_clock(host, NOON);
  return host;
}

static peer_t *enter(host_t *host, const char *user, const char *fields) {
  peer_t *peer = peer_open(host_port(host), user, fields);
  EXPECT_CONTAINS(peer_join(peer, "pushed.a"), "\"ok\"");
  return peer;
}

static const char *say(peer_t *peer) {
  peer_say(peer, "{\"type\":\"send\",\"id\":\"say\",\"room\":\"pushed.a\",\"body\":1}");
  return peer_receive_with(peer, "\"id\":\"say\"");
}

/* Bob becomes a member, and closes his session. */
static void away_bob(host_t *host) {
  peer_leave(enter(host, "bob", ""));
  EXPECT(host_noted(host, "away bob"));
}

TEST(decided_at_once,
     "away: a member with a device who left cleanly is decided with the message, and never due") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  away_bob(host);
  EXPECT_CONTAINS(say(ann), "\"seq\":1,\"push\":1,\"waits\":false");
  EXPECT_CONTAINS(say(ann), "\"seq\":2,\"push\":1,\"waits\":false");
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 2"));
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  peer_leave(ann);
  host_end(host);
}

/* Publishes a message of Ann without a decision for any member. */
static void publish_undecided(relay_hub_t *hub, bool is_due_now) {
  relay_message_t message = {
      .from = "ann", .body = {"1", 1}, .seq = 1, .time = relay_hub_now(hub), .is_due_now = is_due_now};
  EXPECT_INTEGER(relay_room_publish(hub, relay_room_named(hub, "pushed.a"), &message), 1);
}

static void leave_undecided(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_named(hub, "pushed.a");
  bool needs_wait;
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", false, false, NULL, 0, NULL, 0, &needs_wait), 1);
  EXPECT(!needs_wait);
  publish_undecided(hub, false);
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", false, false, NULL, 0, NULL, 0, &needs_wait), 0);
  EXPECT(needs_wait);
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", true, false, NULL, 0, NULL, 0, &needs_wait),
                 1); /* a call */
}

static void away_of_named(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_named(hub, "pushed.a");
  const relay_id_t named[] = {relay_user_named(hub, "bob"), relay_user_named(hub, "nobody"), 0};
  relay_id_t users[4] = {0};
  bool needs_wait;
  EXPECT(relay_room_is_crowded(hub, room));
  EXPECT(!relay_room_pushes(hub, room));
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", false, false, NULL, 0, users, 4, &needs_wait), 0);
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", false, false, named, 3, users, 4, &needs_wait), 1);
  EXPECT(users[0] == named[0] && !needs_wait);
  relay_message_t plain = {.from = "ann", .body = {"1", 1}, .seq = 1, .time = relay_hub_now(hub)};
  EXPECT_INTEGER(relay_room_publish(hub, room, &plain), 1);
  relay_message_t mention = plain;
  mention.seq = 2;
  mention.named = named;
  mention.named_count = 3;
  EXPECT_INTEGER(relay_room_publish(hub, room, &mention), 2);
}

TEST(crowded, "away: in a room with too many members only named members are decided") {
  relay_config_t config = host_config();
  config.limits.presence_grace = GRACE;
  config.limits.pushed_members = 1;
  host_t *host = host_start(&config);
  host_set_clock(host, NOON);
  peer_t *ann = enter(host, "ann", "");
  away_bob(host);
  host_do(host, away_of_named, NULL);
  EXPECT(host_noted(host, "push pushed.a bob 2"));
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 2"));
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 0);
  peer_leave(ann);
  host_end(host);
}

static void has_inbox(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_named(hub, "pushed.a");
  bool needs_wait;
  EXPECT(relay_user_set_has_inbox(hub, relay_user_named(hub, "bob"), true));
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", false, false, NULL, 0, NULL, 0, &needs_wait), 0);
  EXPECT(needs_wait);
  EXPECT_INTEGER(relay_room_away(hub, room, "ann", true, false, NULL, 0, NULL, 0, &needs_wait),
                 1); /* a call */
}

TEST(inbox, "away: a member with the list of rooms in a session is not decided with the message") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  away_bob(host);
  host_do(host, has_inbox, NULL);
  peer_leave(ann);
  host_end(host);
}

static void push_unread(relay_hub_t *hub, void *unused) {
  (void)unused;
  EXPECT(relay_user_set_pushes_unread(hub, relay_user_named(hub, "bob"), true));
  EXPECT(!relay_user_set_pushes_unread(hub, 0, true));
}

TEST(pushes_unread, "away: a received message is decided for a member who wants a push if it stays unread") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  peer_t *bob = enter(host, "bob", ",\"acks\":true");
  host_do(host, push_unread, NULL);
  say(ann);
  peer_say(bob, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":"), "ok");
  host_pass(host, RECEIPT_WAIT);
  EXPECT(host_noted(host, "due pushed.a bob 1"));
  say(ann);
  peer_say(bob, "{\"type\":\"read\",\"id\":2,\"room\":\"pushed.a\",\"seq\":2}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":"), "ok");
  host_pass(host, RECEIPT_WAIT);
  EXPECT_INTEGER(host_notes(host, "due"), 1);
  peer_leave(bob);
  peer_leave(ann);
  host_end(host);
}

TEST(left_undecided, "away: a message waits while an earlier message of the room is undecided") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  away_bob(host);
  host_do(host, leave_undecided, NULL);
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_CONTAINS(say(ann), "\"seq\":2,\"push\":1,\"waits\":false");
  peer_leave(ann);
  host_end(host);
}

static void query_now(relay_hub_t *hub, void *unused) {
  (void)unused;
  publish_undecided(hub, true);
}

static void do_nothing(relay_hub_t *hub, void *unused) {
  (void)hub;
  (void)unused;
}

TEST(is_due_now, "away: a message with is_due_now is due before the wait for a receipt") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  host_do(host, query_now, NULL);
  EXPECT(host_noted(host, "due pushed.a bob 1"));
  host_do(host, do_nothing, NULL); /* runs after the decision to wait */
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

static void without_devices(relay_hub_t *hub, void *name) {
  EXPECT(relay_user_set_has_devices(hub, relay_user_named(hub, name), false));
}

TEST(no_device, "away: a member without a device gets no push") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  away_bob(host);
  host_do(host, without_devices, "bob");
  EXPECT_CONTAINS(say(ann), "\"push\":0,\"waits\":false");
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  peer_leave(ann);
  host_end(host);
}

TEST(no_receipt, "away: a message that a connected member does not acknowledge is due after 5 s") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  peer_t *eve = enter(host, "eve", ",\"acks\":true");
  EXPECT_CONTAINS(say(ann), "\"waits\":true");
  peer_receive_with(eve, "\"message\"");
  peer_say(eve, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(eve, "\"id\":1"), "\"ok\"");
  host_pass(host, RECEIPT_WAIT - 1);
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "due pushed.a bob 1"), 1);
  EXPECT_INTEGER(host_notes(host, "due pushed.a eve"), 0);
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(eve);
  host_end(host);
}

TEST(own_due_time, "away: a message is due at its own time while an earlier one waits for longer") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  peer_t *bob = enter(host, "bob", ",\"acks\":true,\"activity\":\"idle\"");
  say(ann);
  peer_say(bob, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  host_pass(host, 2000); /* from now on Bob acknowledges nothing */
  say(ann);
  host_pass(host, RECEIPT_WAIT - 1);
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 2"), 1);
  host_pass(host, FLUSH);
  EXPECT_INTEGER(host_notes(host, "cursor"), 0);
  host_pass(host, IDLE_WAIT - 2000 - RECEIPT_WAIT - FLUSH - 1);
  EXPECT_INTEGER(host_notes(host, "push"), 1);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 1);
  EXPECT_INTEGER(host_notes(host, "push"), 2);
  host_pass(host, FLUSH);
  EXPECT_INTEGER(host_notes(host, "cursor pushed.a 2"), 1);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(decided_once, "away: a message that was decided before an earlier one is not handed over again") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  peer_t *bob = enter(host, "bob", ",\"acks\":true,\"activity\":\"idle\"");
  say(ann);
  peer_say(bob, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  for (int i = 0; i < 100; i++) {
    host_pass(host, 10);
    say(ann);
  }
  host_pass(host, RECEIPT_WAIT);
  EXPECT_INTEGER(host_notes(host, "push"), 100);
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"background\"}");
  EXPECT(peer_receives_none_with(bob, "bye"));
  host_pass(host, 1);
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  EXPECT_INTEGER(host_notes(host, "push"), 101);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(clean_leave, "away: unreceived messages are due at once when the member leaves cleanly") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  EXPECT_CONTAINS(say(ann), "\"push\":0,\"waits\":true");
  say(ann);
  say(ann);
  EXPECT(peer_receives_none_with(ann, "bye"));
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  peer_leave(bob);
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  EXPECT(host_noted(host, "push pushed.a bob 3"));
  EXPECT_INTEGER(host_notes(host, "due pushed.a bob 1 2 3"), 1);
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 3"));
  peer_leave(ann);
  host_end(host);
}

TEST(stay, "away: a leave with stay is a clean end in the room") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  peer_say(bob, "{\"type\":\"leave\",\"room\":\"pushed.a\",\"stay\":true}");
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  EXPECT_CONTAINS(say(ann), "\"push\":1,\"waits\":false");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(lost, "away: after a lost connection a message waits for the grace") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  host_loses(host, bob);
  host_pass(host, GRACE - 1);
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 1);
  peer_leave(ann);
  host_end(host);
}

TEST(said_in_the_grace, "away: a message that is sent in the grace waits for its end") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  host_loses(host, bob);
  host_pass(host, 100);
  EXPECT_CONTAINS(say(ann), "\"push\":0,\"waits\":true");
  host_pass(host, GRACE - 101);
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 1);
  EXPECT_INTEGER(host_notes(host, "due pushed.a bob"), 1);
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  peer_leave(ann);
  host_end(host);
}

TEST(back_in_the_grace, "away: a member who reconnects in the grace and receives the message gets no push") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  host_loses(host, bob);
  host_pass(host, GRACE - 1);
  bob = enter(host, "bob", ",\"acks\":true");
  peer_say(bob, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "mark pushed.a bob 0 1"));
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  peer_leave(bob);
  EXPECT(peer_receives_none_with(ann, "bye"));
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  peer_leave(ann);
  host_end(host);
}

TEST(received_part, "away: received messages need no decision, the others do") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  for (int i = 0; i < 4; i++) say(ann);
  peer_say(bob, "{\"type\":\"received\",\"room\":\"pushed.a\",\"seq\":1}");
  peer_say(bob, "{\"type\":\"read\",\"room\":\"pushed.a\",\"seq\":2}");
  peer_say(bob, "{\"type\":\"received\",\"room\":\"pushed.a\",\"seq\":1}");
  peer_leave(bob);
  EXPECT(host_noted(host, "push pushed.a bob 4"));
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 3"), 1);
  EXPECT_INTEGER(host_notes(host, "push"), 2);
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "mark pushed.a bob 2 2"));
  EXPECT(host_noted(host, "cursor pushed.a 4"));
  peer_leave(ann);
  host_end(host);
}

TEST(pong, "away: without acknowledgements, the pong to a ping behind a message confirms the message") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", "");
  say(ann);
  EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), "\"seq\":1");
  EXPECT(peer_receives_none_with(bob, "bye"));
  EXPECT_INTEGER(bob->pings, 1);
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "mark pushed.a bob 0 1"));
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  peer_leave(bob);
  EXPECT(peer_receives_none_with(ann, "bye"));
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  peer_leave(ann);
  host_end(host);
}

TEST(no_pong, "away: an unanswered ping confirms no message") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", "");
  bob->answers_pings = false;
  say(ann);
  EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), "\"seq\":1");
  peer_leave(bob);
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  peer_leave(ann);
  host_end(host);
}

TEST(cursor_in_between, "away: the cursor moves while a later message still waits") {
  host_t *host = host_start(NULL);
  const int64_t noon = 43200000;
  host_set_clock(host, noon);
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  host_set_clock(host, noon + 3000);
  say(ann);
  host_set_clock(host, noon + 4000);
  host_set_clock(host, noon + 5000);
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  host_set_clock(host, noon + 6000);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 2"), 0);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(cursor_left, "away: the cursor does not wait for a member who has left the room") {
  host_t *host = host_start(NULL);
  const int64_t noon = 43200000;
  host_set_clock(host, noon);
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  host_set_clock(host, noon + 1000);
  EXPECT_INTEGER(host_notes(host, "cursor pushed.a 1"), 0);
  peer_say(bob, "{\"type\":\"leave\",\"id\":1,\"room\":\"pushed.a\"}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  host_set_clock(host, noon + 2000);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 0);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(cursor_read, "away: the cursor passes read messages while a later message still waits") {
  host_t *host = host_start(NULL);
  const int64_t noon = 43200000;
  host_set_clock(host, noon);
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  say(ann);
  peer_say(bob, "{\"type\":\"read\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  host_set_clock(host, noon + 1000);
  EXPECT(host_noted(host, "mark pushed.a bob 1 1"));
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(gap, "away: messages received behind a gap count when the gap is read") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", "");
  away_bob(host);
  say(ann);
  peer_t *bob = enter(host, "bob", "");
  say(ann);
  EXPECT_CONTAINS(peer_receive_with(bob, "\"message\""), "\"seq\":2");
  EXPECT(peer_receives_none_with(bob, "bye"));
  EXPECT_INTEGER(bob->pings, 1);
  EXPECT_INTEGER(host_notes(host, "mark pushed.a bob"), 0);
  peer_say(bob, "{\"type\":\"read\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "mark pushed.a bob 1 2"));
  peer_leave(bob);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob"), 0);
  peer_leave(ann);
  host_end(host);
}

TEST(idle, "away: messages that an idle session has received count when it becomes active") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true,\"activity\":\"idle\"");
  say(ann);
  peer_say(bob, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  EXPECT_INTEGER(host_notes(host, "mark pushed.a bob"), 0);
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"active\"}");
  EXPECT(peer_receives_none_with(bob, "bye"));
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "mark pushed.a bob 0 1"));
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(background, "away: a session that goes to the background is away at once, without a grace") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  peer_say(bob, "{\"type\":\"activity\",\"state\":\"background\"}");
  EXPECT(host_noted(host, "push pushed.a bob 1"));
  EXPECT_CONTAINS(say(ann), "\"push\":1,\"waits\":false");
  host_loses(host, bob);
  EXPECT_CONTAINS(say(ann), "\"push\":1,\"waits\":false");
  peer_leave(ann);
  host_end(host);
}

/* Cuts the connection of Bob's desktop while his phone is in the background. */
static peer_t *lose_desktop(host_t *host) {
  peer_t *phone = enter(host, "bob", ",\"acks\":true,\"activity\":\"background\"");
  host_loses(host, enter(host, "bob", ",\"acks\":true"));
  return phone;
}

TEST(grace_beside_background, "away: a session in the background does not end the grace of a lost session") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *phone = lose_desktop(host);
  EXPECT_CONTAINS(say(ann), "\"push\":0,\"waits\":true");
  host_pass(host, GRACE - 1);
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  host_pass(host, 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 1);
  EXPECT_CONTAINS(say(ann), "\"push\":1,\"waits\":false");
  peer_leave(phone);
  peer_leave(ann);
  host_end(host);
}

TEST(background_ends, "away: the end of a session in the background neither ends nor begins a grace") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *phone = lose_desktop(host);
  host_pass(host, GRACE / 2);
  host_loses(host, phone);
  EXPECT_CONTAINS(say(ann), "\"push\":0,\"waits\":true");
  host_pass(host, GRACE / 2);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 1);
  EXPECT_CONTAINS(say(ann), "\"push\":1,\"waits\":false");
  host_loses(host, enter(host, "bob", ",\"activity\":\"background\""));
  EXPECT_CONTAINS(say(ann), "\"push\":1,\"waits\":false");
  peer_leave(ann);
  host_end(host);
}

static void set_wall_clock(relay_hub_t *hub, void *hours) {
  relay_hub_set_wall_clock(hub, relay_hub_now(hub) + *(const int64_t *)hours * 3600000);
}

TEST(clock_set, "away: a change of the wall clock changes no wait") {
  for (int64_t hours = -1; hours <= 1; hours += 2) {
    host_t *host = start();
    peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
    peer_t *eve = enter(host, "eve", ",\"acks\":true");
    say(ann);
    host_loses(host, bob);
    host_pass(host, 100);
    host_do(host, set_wall_clock, &hours);
    EXPECT(host_noted(host, hours < 0 ? "clock -3600000 0" : "clock 3600000 0"));
    host_pass(host, GRACE - 101);
    EXPECT_INTEGER(host_notes(host, "push"), 0);
    host_pass(host, 1);
    EXPECT_INTEGER(host_notes(host, "push pushed.a bob 1"), 1);
    host_pass(host, RECEIPT_WAIT - GRACE - 1);
    EXPECT_INTEGER(host_notes(host, "push pushed.a eve 1"), 0);
    host_pass(host, 1);
    EXPECT_INTEGER(host_notes(host, "push pushed.a eve 1"), 1);
    peer_leave(ann);
    peer_leave(eve);
    host_end(host);
  }
}

TEST(member_removed, "away: a removed member needs no decision, and the cursor does not wait for it") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  say(ann);
  peer_say(bob, "{\"type\":\"leave\",\"id\":1,\"room\":\"pushed.a\"}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_INTEGER(host_notes(host, "due"), 0);
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(two_sessions, "away: a member with another open session in the room is not away") {
  host_t *host = start();
  peer_t *ann = enter(host, "ann", ""), *bob = enter(host, "bob", ",\"acks\":true");
  peer_t *phone = enter(host, "bob", ",\"acks\":true");
  say(ann);
  peer_leave(bob);
  EXPECT(host_noted(host, "due pushed.a bob 1"));
  peer_say(phone, "{\"type\":\"received\",\"id\":1,\"room\":\"pushed.a\",\"seq\":1}");
  EXPECT_CONTAINS(peer_receive_with(phone, "\"id\":1"), "\"ok\"");
  host_pass(host, FLUSH);
  EXPECT(host_noted(host, "cursor pushed.a 1"));
  EXPECT_INTEGER(host_notes(host, "push"), 0);
  peer_leave(phone);
  peer_leave(ann);
  host_end(host);
}
