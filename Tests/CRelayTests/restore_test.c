// SPDX-License-Identifier: Apache-2.0
/* A stored room in memory: its tail, and the decisions that are repeated after a start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { TAIL = 64 };

static void restore(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room =
      relay_room_create(hub, "pushed.a", "epoch", 6, 3, RELAY_ROOM_STORED | RELAY_ROOM_PUSHES);
  const relay_id_t ann = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  const relay_id_t bob = relay_user_create(hub, "bob", (relay_bytes_t){0}, 0);
  const relay_id_t eve = relay_user_create(hub, "eve", (relay_bytes_t){0}, 0);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, ann, 0, 0), RELAY_OK);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, bob, 3, 4), RELAY_OK);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, eve, 6, 6), RELAY_OK);
  EXPECT_INTEGER(relay_room_restore_message(hub, room, 4, 1, ann), RELAY_OK);
  EXPECT_INTEGER(relay_room_restore_message(hub, room, 6, 3, ann), RELAY_NOT_THERE); /* 5 is missing */
  EXPECT_INTEGER(relay_room_restore_message(hub, room, 5, 2, bob), RELAY_OK);
  EXPECT_INTEGER(relay_room_restore_message(hub, room, 6, 3, ann), RELAY_OK);
  EXPECT_INTEGER(relay_room_restore_message(hub, room + 1, 6, 3, ann), RELAY_GONE);
  relay_room_resume(hub, room);
  EXPECT(!relay_room_release(hub, room));
  size_t size, count;
  EXPECT(relay_room_tail(hub, room, 5, &size, &count) == NULL);
}

TEST(restored, "restore: undecided messages are decided again, except a member's received and own messages") {
  host_t *host = host_start(NULL);
  host_do(host, restore, NULL);
  EXPECT(host_noted(host, "due pushed.a ann 5 6"));
  EXPECT(host_noted(host, "due pushed.a bob 6"));
  EXPECT(host_noted(host, "cursor pushed.a 6"));
  EXPECT_INTEGER(host_notes(host, "due pushed.a eve"), 0);
  EXPECT_INTEGER(host_notes(host, "push pushed.a ann 5"), 1);
  EXPECT_INTEGER(host_notes(host, "push pushed.a bob 6"), 1);
  EXPECT_INTEGER(host_notes(host, "push"), 2);
  host_end(host);
}

static void expect_tail(relay_hub_t *hub, int64_t after, const char *expected, size_t expected_count) {
  size_t size, count;
  char *tail = relay_room_tail(hub, relay_room_named(hub, "stored.a"), after, &size, &count);
  if (expected)
    EXPECT_BYTES(tail, size, expected);
  else
    EXPECT(tail == NULL);
  EXPECT_INTEGER(count, expected_count);
  free(tail);
}

static void publish(relay_hub_t *hub, int64_t seq, const char *body) {
  relay_message_t message = {.from = "ann", .body = {body, strlen(body)}, .seq = seq, .time = 1000 + seq};
  EXPECT_INTEGER(relay_room_publish(hub, relay_room_named(hub, "stored.a"), &message), seq);
}

static void try_tail(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_room_create(hub, "stored.a", "epoch", 0, 0, RELAY_ROOM_STORED);
  expect_tail(hub, 0, "", 0);
  expect_tail(hub, 1, NULL, 0);
  publish(hub, 1, "[1 ]");
  publish(hub, 2, "\"two\"");
#define FIRST "{\"seq\":1,\"from\":\"ann\",\"time\":1001,\"body\":[1 ]}"
#define SECOND "{\"seq\":2,\"from\":\"ann\",\"time\":1002,\"body\":\"two\"}"
  expect_tail(hub, 0, FIRST "," SECOND, 2);
  expect_tail(hub, 1, SECOND, 1);
  expect_tail(hub, 2, "", 0);
  expect_tail(hub, 3, NULL, 0);
  expect_tail(hub, -1, NULL, 0);
}

static void try_marks(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_create(hub, "stored.a", "epoch", 2, 2, RELAY_ROOM_STORED);
  const relay_id_t ann = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, ann, 1, 1), RELAY_OK);
  const relay_bytes_t body = {"1", 1};
  relay_message_t answer = {.from = "ann", .body = body, .seq = 3, .time = 1, .keeps_marks = true};
  EXPECT_INTEGER(relay_room_publish(hub, room, &answer), 3);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).read, 1);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).received, 1);
  relay_message_t message = {.from = "ann", .body = body, .seq = 4, .time = 1};
  EXPECT_INTEGER(relay_room_publish(hub, room, &message), 4);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).read, 4);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).received, 4);
  relay_user_release(hub, ann);
}

TEST(marks, "restore: a message raises the read mark of its sender, unless it keeps the marks") {
  host_t *host = host_start(NULL);
  host_do(host, try_marks, NULL);
  host_end(host);
}

static void try_new_marks(relay_hub_t *hub, void *unused) {
  (void)unused;
  const unsigned flags = RELAY_ROOM_STORED | RELAY_ROOM_PUSHES | RELAY_ROOM_PAIR;
  const relay_id_t room = relay_room_create(hub, "stored.a", "epoch", 5, 5, flags);
  const relay_id_t ann = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  EXPECT_INTEGER(relay_room_set_marks(hub, room, ann, 2), RELAY_NOT_THERE);
  EXPECT_INTEGER(relay_room_add_member(hub, room, ann, RELAY_ROLE_MEMBER, "joined", NULL), RELAY_OK);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).read, 5);
  EXPECT_INTEGER(relay_room_set_marks(hub, room, ann, 2), RELAY_OK);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).read, 2);
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).received, 2);
  EXPECT(!relay_room_take_marks(hub, room, ann)); /* the store has them */
  /* The room of two people shows both. */
  EXPECT_INTEGER(relay_room_facts(hub, room, ann).members, 2);
  EXPECT_INTEGER(relay_room_member_count(hub, room), 1);
  relay_user_release(hub, ann);
}

TEST(new_marks, "restore: a new member may have earlier marks, and a room of two people shows both") {
  host_t *host = host_start(NULL);
  host_do(host, try_new_marks, NULL);
  EXPECT_INTEGER(host_notes(host, "mark"), 0);
  host_end(host);
}

static void try_take_marks(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_id_t room = relay_room_create(hub, "stored.a", "epoch", 2, 2, RELAY_ROOM_STORED);
  const relay_id_t ann = relay_user_create(hub, "ann", (relay_bytes_t){0}, 0);
  EXPECT_INTEGER(relay_room_restore_member(hub, room, ann, 0, 0), RELAY_OK);
  EXPECT(!relay_room_take_marks(hub, room, ann));
  EXPECT_INTEGER(relay_room_read(hub, room, ann, 1), RELAY_OK);
  EXPECT(relay_room_take_marks(hub, room, ann));
  EXPECT(!relay_room_take_marks(hub, room, ann));
  EXPECT(!relay_room_take_marks(hub, room, ann + 1));
  relay_hub_flush(hub); /* no event of the taken marks */
  EXPECT_INTEGER(relay_room_read(hub, room, ann, 2), RELAY_OK);
  relay_hub_flush(hub);
  EXPECT(!relay_room_take_marks(hub, room, ann));
  relay_user_release(hub, ann);
}

TEST(take_marks, "restore: marks that the caller takes cause no event") {
  host_t *host = host_start(NULL);
  host_do(host, try_take_marks, NULL);
  EXPECT(host_noted(host, "mark stored.a ann 2 2"));
  EXPECT_INTEGER(host_notes(host, "mark"), 1);
  host_end(host);
}

TEST(tail, "restore: the tail has the messages after a seq, if all of them are in memory") {
  host_t *host = host_start(NULL);
  host_do(host, try_tail, NULL);
  host_end(host);
}

static void try_long_tail(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_room_create(hub, "stored.a", "epoch", 0, 0, RELAY_ROOM_STORED);
  for (int seq = 1; seq <= 1000; seq++) {
    char body[300];
    snprintf(body, sizeof body, "\"%0*d\"", seq % 250 + 5, seq); /* headers of both sizes */
    publish(hub, seq, body);
    size_t size, count;
    const relay_id_t room = relay_room_named(hub, "stored.a");
    const int64_t kept = seq < TAIL ? seq : TAIL;
    char *tail = relay_room_tail(hub, room, seq - kept, &size, &count), first[32];
    EXPECT_INTEGER(count, kept);
    snprintf(first, sizeof first, "{\"seq\":%d,", (int)(seq - kept + 1));
    EXPECT(tail && !strncmp(tail, first, strlen(first)));
    free(tail);
    if (seq > TAIL) EXPECT(relay_room_tail(hub, room, seq - TAIL - 1, &size, &count) == NULL);
    EXPECT_INTEGER(relay_hub_counts(hub).frames, kept);
  }
}

TEST(long_tail, "restore: the number of messages in the tail is bounded") {
  host_t *host = host_start(NULL);
  host_do(host, try_long_tail, NULL);
  EXPECT(host_noted(host, "cursor stored.a 1000"));
  host_end(host);
}

static void try_wide_tail(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_room_create(hub, "stored.a", "epoch", 0, 0, RELAY_ROOM_STORED);
  char *body = malloc(70001);
  memset(body, '7', 70000);
  body[70000] = 0;
  for (int seq = 1; seq <= 10; seq++) publish(hub, seq, seq % 5 ? "0" : body);
  size_t size, count;
  char *tail = relay_room_tail(hub, relay_room_named(hub, "stored.a"), 9, &size, &count);
  EXPECT(tail && size > 70000 && !strncmp(tail, "{\"seq\":10,", 10));
  free(tail);
  expect_tail(hub, 8, NULL, 0);
  EXPECT(relay_hub_counts(hub).frame_bytes < 71000);
  free(body);
}

TEST(wide_tail, "restore: the bytes of the tail are bounded") {
  host_t *host = host_start(NULL);
  host_do(host, try_wide_tail, NULL);
  host_end(host);
}

/* Calls the functions of relay.h with stale ids, and expects no effect. */
static void try_stale(relay_hub_t *hub, void *unused) {
  (void)unused;
  size_t size, count;
  bool needs_wait = true;
  const relay_bytes_t none = {0}, body = {"1", 1};
  relay_message_t message = {.from = "ann", .sender = 77, .body = body, .seq = 1};
  relay_delivery_t delivery;
  relay_member_facts_t facts;
  relay_undecided_t messages[1];
  const relay_id_t stale[] = {0, 1, 1ull << 32 | 77, 2ull << 32, UINT64_MAX};
  for (int i = 0; i < 5; i++) {
    const relay_id_t id = stale[i];
    EXPECT_INTEGER(relay_session_open(hub, id, id, NULL, false, RELAY_ACTIVE), RELAY_GONE);
    relay_session_finish(hub, id, body);
    relay_session_push(hub, id, body);
    relay_session_close(hub, id, 4000, "", -1);
    EXPECT_INTEGER(relay_session_user(hub, id), 0);
    EXPECT(!relay_session_is_open(hub, id) && !relay_session_device(hub, id));
    EXPECT(!relay_session_authorization(hub, id).at);
    EXPECT(!relay_user_name(hub, id) && !relay_user_profile(hub, id).at);
    EXPECT(!relay_user_set_profile(hub, id, none, 0) && !relay_user_set_focus(hub, id, 1, 1, 0));
    EXPECT(!relay_user_shares_room(hub, id, id) && !relay_user_entry(hub, id, 0, true, NULL, 0));
    relay_user_retain(hub, id);
    relay_user_release(hub, id);
    EXPECT(!relay_room_name(hub, id) && !relay_room_epoch(hub, id) && !relay_room_seq(hub, id));
    EXPECT(!relay_room_release(hub, id));
    relay_room_delete(hub, id);
    EXPECT_INTEGER(relay_room_member_sessions(hub, id, NULL, 0), 0);
    relay_sessions_push(hub, &id, 1, body);
    EXPECT(!relay_room_may_read(hub, id, id, 1));
    EXPECT_INTEGER(relay_room_add_member(hub, id, id, RELAY_ROLE_MEMBER, "joined", NULL), RELAY_GONE);
    EXPECT_INTEGER(relay_room_set_marks(hub, id, id, 1), RELAY_GONE);
    EXPECT_INTEGER(relay_room_remove_member(hub, id, id, "left", NULL), RELAY_GONE);
    EXPECT_INTEGER(relay_room_join(hub, id, id, 3, 0), RELAY_GONE);
    EXPECT_INTEGER(relay_room_leave(hub, id, id), RELAY_GONE);
    EXPECT_INTEGER(relay_session_may_join(hub, id, id), RELAY_GONE);
    EXPECT_INTEGER(relay_room_facts(hub, id, id).read, -1);
    EXPECT(!relay_room_tail(hub, id, 0, &size, &count));
    EXPECT_INTEGER(relay_room_publish(hub, id, &message), 0);
    EXPECT_INTEGER(relay_room_send_event(hub, id, id, 1, body), RELAY_GONE);
    EXPECT(!relay_room_pushes(hub, id) && !relay_room_delivery(hub, id, id, &delivery, NULL, 0));
    EXPECT(!relay_user_set_sharing(hub, id, RELAY_SHARE_NONE, RELAY_SHARE_NONE));
    EXPECT(!relay_user_set_blocked(hub, id, "ann", true) && !relay_user_set_has_filter(hub, id, true));
    EXPECT_INTEGER(relay_room_signal(hub, id, "ann", id, body, none), RELAY_GONE);
    EXPECT_INTEGER(relay_room_read(hub, id, id, 1), RELAY_NOT_THERE);
    EXPECT_INTEGER(relay_room_away(hub, id, "ann", false, false, NULL, 0, NULL, 0, &needs_wait), 0);
    EXPECT(!relay_member_get(hub, id, id, &facts));
    relay_member_ping(hub, id, id);
    EXPECT_INTEGER(relay_room_hidden(hub, id, id, NULL, 0), 0);
    EXPECT_INTEGER(relay_member_undecided(hub, id, id, messages, 1), 0);
    relay_member_decide(hub, id, id, &(relay_decided_t){.seq = 1, .delay = 1}, 1);
    relay_room_resume(hub, id);
    relay_http_respond(hub, id, 200, "", body);
    relay_http_stream(hub, id, "");
    EXPECT(!relay_http_stream_write(hub, id, body));
    char *entries = relay_room_entries(hub, id, id, &size);
    EXPECT_BYTES(entries, size, "[]");
    free(entries);
  }
  const relay_id_t user = relay_user_create(hub, "ann", (relay_bytes_t){",\"name\":\"A\"", 11}, 0);
  static const char entry[] = "{\"user\":\"ann\",\"name\":\"A\",\"online\":false,\"isFocused\":null}";
  char at[16];
  EXPECT_INTEGER(relay_user_entry(hub, user, 0, true, NULL, 0), sizeof entry - 1);
  EXPECT_INTEGER(relay_user_entry(hub, user, 0, true, at, sizeof at), sizeof entry - 1);
  EXPECT(!memcmp(at, entry, sizeof at));
}

TEST(stale_ids, "restore: functions with stale ids do nothing") {
  host_t *host = host_start(NULL);
  host_do(host, try_stale, NULL);
  host_end(host);
}
