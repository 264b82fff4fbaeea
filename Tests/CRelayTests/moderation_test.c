// SPDX-License-Identifier: Apache-2.0
/* Members who cannot send: restrictions with an end, and rooms that are read-only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

typedef struct restriction {
  const char *room, *user, *by;
  int64_t until;
  relay_status_t status;
  int64_t shown; /* the end that the hub returns afterwards */
} restriction_t;

static void restrict_member(relay_hub_t *hub, void *argument) {
  restriction_t *change = argument;
  const relay_id_t room = relay_room_named(hub, change->room), user = relay_user_named(hub, change->user);
  change->status = relay_room_restrict(hub, room, user, change->until, true, change->by);
  change->shown = relay_room_restricted_until(hub, room, user);
}

typedef struct sending {
  const char *room, *user;
  bool is_read_only;
  relay_role_t role;
  unsigned rights; /* of the sessions of the user */
} sending_t;

static void set_sending(relay_hub_t *hub, void *argument) {
  const sending_t *change = argument;
  const relay_id_t room = relay_room_named(hub, change->room), user = relay_user_named(hub, change->user);
  relay_room_set_read_only(hub, room, change->is_read_only);
  EXPECT(relay_room_is_read_only(hub, room) == change->is_read_only);
  EXPECT_INTEGER(relay_room_set_role(hub, room, user, change->role, false, NULL), RELAY_OK);
  relay_id_t sessions[8];
  const size_t count = relay_user_sessions(hub, user, sessions, 8);
  for (size_t i = 0; i < count; i++) relay_room_set_rights(hub, room, sessions[i], change->rights);
}

static void read_members(relay_hub_t *hub, void *argument) {
  size_t size;
  char *entries = relay_room_entries(hub, relay_room_named(hub, "stored.a"), 0, &size);
  snprintf(argument, 2048, "%.*s", (int)size, entries);
  free(entries);
}

static const char *members(host_t *host) {
  static char text[2048];
  host_do(host, read_members, text);
  return text;
}

TEST(restriction, "moderation: a restricted member cannot send until the end, and the others get the state") {
  host_t *host = host_start(NULL);
  host_set_clock(host, 1000000);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  restriction_t change = {"stored.a", "ann", "bob", 1060000, RELAY_OK, 0};
  host_do(host, restrict_member, &change);
  EXPECT_INTEGER(change.status, RELAY_OK);
  EXPECT_INTEGER(change.shown, 1060000);
  peer_t *const receivers[] = {ann, bob};
  for (int i = 0; i < 2; i++) {
    EXPECT_CONTAINS(peer_receive_with(receivers[i], "\"restricted\""), "\"user\":\"ann\"");
    EXPECT_CONTAINS(receivers[i]->text,
                    "\"event\":\"restricted\",\"by\":\"bob\",\"restrictedUntil\":1060000,");
    EXPECT_CONTAINS(receivers[i]->text, "\"memberCount\":2}");
  }
  EXPECT_CONTAINS(members(host), "\"restrictedUntil\":1060000");
  peer_say(ann, "{\"type\":\"send\",\"id\":1,\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), "\"code\":\"restricted\"");
  EXPECT_CONTAINS(ann->text, "\"temporary\":false,\"until\":1060000}");
  peer_say(ann, "{\"type\":\"signal\",\"id\":2,\"room\":\"stored.a\",\"name\":\"n\"}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":2"), "\"code\":\"restricted\"");
  peer_say(bob, "{\"type\":\"send\",\"id\":1,\"room\":\"stored.a\",\"body\":2}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"message\""), "\"body\":2");

  /* The restriction ends by time alone. */
  host_pass(host, 59999);
  peer_say(ann, "{\"type\":\"send\",\"id\":3,\"room\":\"stored.a\",\"body\":3}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":3"), "\"restricted\"");
  host_pass(host, 1);
  peer_say(ann, "{\"type\":\"send\",\"id\":4,\"room\":\"stored.a\",\"body\":4}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":4"), "\"ok\"");
  EXPECT(!strstr(members(host), "restrictedUntil"));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(end_of_restriction, "moderation: the end of a restriction is an event, and a repetition is none") {
  host_t *host = host_start(NULL);
  host_set_clock(host, 1000000);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  restriction_t change = {"stored.a", "ann", NULL, 1060000, RELAY_OK, 0};
  host_do(host, restrict_member, &change);
  EXPECT_CONTAINS(peer_receive_with(ann, "\"restricted\""), "\"restrictedUntil\":1060000");
  EXPECT(!strstr(ann->text, "\"by\""));
  host_do(host, restrict_member, &change);
  change.until = 0;
  host_do(host, restrict_member, &change);
  EXPECT_INTEGER(change.shown, 0);
  EXPECT_CONTAINS(peer_receive_with(ann, "\"member\""), "\"event\":\"unrestricted\"");
  EXPECT(!strstr(ann->text, "restrictedUntil"));
  host_do(host, restrict_member, &change);
  peer_say(ann, "{\"type\":\"send\",\"id\":1,\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), "\"ok\"");
  EXPECT(peer_receives_none_with(ann, "\"member\""));
  change.user = "eve";
  host_do(host, restrict_member, &change);
  EXPECT_INTEGER(change.status, RELAY_GONE);
  change.room = "stored.b";
  host_do(host, restrict_member, &change);
  EXPECT_INTEGER(change.status, RELAY_GONE);
  peer_leave(ann);
  host_end(host);
}

typedef struct part {
  const char *user;
  int64_t call;
  bool takes_part;
} part_t;

static void set_part(relay_hub_t *hub, void *argument) {
  const part_t *part = argument;
  const relay_id_t room = relay_room_named(hub, "stored.a"), user = relay_user_named(hub, part->user);
  EXPECT_INTEGER(relay_room_set_call(hub, room, user, part->call, part->takes_part), RELAY_OK);
  EXPECT_INTEGER(relay_room_set_call(hub, room, 0, part->call, part->takes_part), RELAY_GONE);
  EXPECT_INTEGER(relay_room_set_call(hub, 0, user, part->call, part->takes_part), RELAY_GONE);
}

static void close_sending(relay_hub_t *hub, void *argument) {
  (void)argument;
  relay_room_set_read_only(hub, relay_room_named(hub, "stored.a"), true);
}

/* Sends a signal of this name, and returns the reply. */
static const char *signal_as(peer_t *peer, const char *name) {
  char id[16];
  snprintf(id, sizeof id, "\"id\":\"%s\"", name);
  peer_say(peer, "{\"type\":\"signal\",\"id\":\"%s\",\"room\":\"stored.a\",\"name\":\"%s\"}", name, name);
  return peer_receive_with(peer, id);
}

TEST(signals_in_call,
     "moderation: in a room that is read-only, the members of a call send signals to each other alone") {
  host_t *host = host_start(NULL);
  host_set_clock(host, 1000000);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", ""),
         *eve = peer_open(host_port(host), "eve", "");
  peer_t *const peers[] = {ann, bob, eve};
  for (int i = 0; i < 3; i++) peer_join(peers[i], "stored.a");
  host_do(host, close_sending, NULL);
  host_do(host, set_part, &(part_t){"ann", 7, true});
  EXPECT_CONTAINS(signal_as(bob, "b1"), "\"code\":\"restricted\"");
  host_do(host, set_part, &(part_t){"bob", 7, true});
  EXPECT_CONTAINS(signal_as(bob, "b2"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"signal\""), "\"name\":\"b2\"");
  EXPECT_CONTAINS(signal_as(ann, "a1"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"signal\""), "\"name\":\"a1\"");
  EXPECT(peer_receives_none_with(eve, "\"signal\""));
  EXPECT_CONTAINS(signal_as(eve, "e1"), "\"code\":\"restricted\"");
  peer_say(bob, "{\"type\":\"send\",\"id\":\"s\",\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":\"s\""), "\"code\":\"restricted\"");

  /* The members of another call do not get the signal. The newest call counts. */
  host_do(host, set_part, &(part_t){"eve", 9, true});
  host_do(host, set_part, &(part_t){"bob", 5, true});
  EXPECT_CONTAINS(signal_as(bob, "b3"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"signal\""), "\"name\":\"b3\"");
  EXPECT(peer_receives_none_with(eve, "\"signal\""));
  host_do(host, set_part, &(part_t){"bob", 5, false});
  EXPECT_CONTAINS(signal_as(bob, "b4"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"signal\""), "\"name\":\"b4\"");

  /* After the end of the newest call, the older one counts again. */
  host_do(host, set_part, &(part_t){"bob", 9, true});
  EXPECT_CONTAINS(signal_as(bob, "n1"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(eve, "\"signal\""), "\"name\":\"n1\"");
  EXPECT(peer_receives_none_with(ann, "\"signal\""));
  host_do(host, set_part, &(part_t){"bob", 9, false});
  EXPECT_CONTAINS(signal_as(bob, "n2"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"signal\""), "\"name\":\"n2\"");
  EXPECT(peer_receives_none_with(eve, "\"signal\""));

  /* The hub knows 16 calls of a member: a further one replaces the oldest. The order of the seqs counts, and
   * a repeated call counts once. */
  static const int64_t later[] = {22, 21, 36, 24, 23, 25, 27, 26, 22, 28, 30, 29, 31, 33, 32, 34, 35, 6};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    host_do(host, set_part, &(part_t){"bob", later[i], true});
  for (int64_t call = 36; call > 21; call--) host_do(host, set_part, &(part_t){"bob", call, false});
  EXPECT_CONTAINS(signal_as(bob, "m1"), "\"ok\"");
  host_do(host, set_part, &(part_t){"bob", 21, false});
  EXPECT_CONTAINS(signal_as(bob, "m2"), "\"code\":\"restricted\"");
  host_do(host, set_part, &(part_t){"bob", 7, true});

  /* A restriction of the member counts also in a call, and the end of the call ends the signals. */
  restriction_t change = {"stored.a", "bob", "ann", 1060000, RELAY_OK, 0};
  host_do(host, restrict_member, &change);
  EXPECT_CONTAINS(signal_as(bob, "b5"), "\"until\":1060000");
  change.until = 0;
  host_do(host, restrict_member, &change);
  EXPECT_CONTAINS(signal_as(bob, "b6"), "\"ok\"");
  host_do(host, set_part, &(part_t){"bob", 7, false});
  EXPECT_CONTAINS(signal_as(bob, "b7"), "\"code\":\"restricted\"");
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(read_only,
     "moderation: only moderators, owners and sessions with the right send to a room that is read-only") {
  static const struct {
    relay_role_t role;
    unsigned rights;
    const char *reply;
  } cases[] = {
      {RELAY_ROLE_MEMBER, RELAY_RIGHT_SEND, "\"code\":\"restricted\""},
      {RELAY_ROLE_MODERATOR, RELAY_RIGHT_SEND, "\"ok\""},
      {RELAY_ROLE_OWNER, RELAY_RIGHT_SEND, "\"ok\""},
      {RELAY_ROLE_MEMBER, RELAY_RIGHT_SEND | RELAY_RIGHT_MODERATE, "\"ok\""},
      {RELAY_ROLE_OWNER, RELAY_RIGHT_MODERATE, "\"code\":\"forbidden\""},
  };
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", "");
  peer_join(ann, "stored.a");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    host_do(host, set_sending, &(sending_t){"stored.a", "ann", true, cases[i].role, cases[i].rights});
    peer_say(ann, "{\"type\":\"send\",\"id\":\"s%zu\",\"room\":\"stored.a\",\"body\":1}", i);
    char id[16];
    snprintf(id, sizeof id, "\"s%zu\"", i);
    EXPECT_CONTAINS(peer_receive_with(ann, id), cases[i].reply);
    EXPECT(!strstr(ann->text, "until"));
    peer_say(ann, "{\"type\":\"signal\",\"id\":\"n%zu\",\"room\":\"stored.a\",\"name\":\"n\"}", i);
    snprintf(id, sizeof id, "\"n%zu\"", i);
    EXPECT_CONTAINS(peer_receive_with(ann, id), cases[i].reply);
  }
  host_do(host, set_sending, &(sending_t){"stored.a", "ann", false, RELAY_ROLE_MEMBER, RELAY_RIGHT_SEND});
  peer_say(ann, "{\"type\":\"send\",\"id\":1,\"room\":\"stored.a\",\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":1"), "\"ok\"");
  peer_leave(ann);
  host_end(host);
}
