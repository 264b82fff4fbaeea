// SPDX-License-Identifier: Apache-2.0
/* The input is a script for WebSocket clients, for the policy and for the time. The first byte selects
 * limits. Each act begins with a byte: five bits select the act, two select the client, and one bit starts
 * the next act before the hub has handled this one. The arguments of the act follow. */
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "player.h"

enum { MAX_SIZE = 1024, PLAYERS = 4, TURNS = 100000 };

static const char *const users[] = {"ann", "bob", "cid", "dan"};

typedef struct script {
  const uint8_t *at, *end;
} script_t;

typedef struct scene {
  stage_t *stage;
  play_t play;
  player_t players[PLAYERS];
  script_t script;
} scene_t;

static uint8_t next(script_t *script) {
  return script->at < script->end ? *script->at++ : 0;
}

/* Runs the hub and the clients until nothing happens any more. */
static void settle(scene_t *scene) {
  bool has_done = true;
  for (int turns = 0; has_done; turns++) {
    MUST(turns < TURNS);
    stage_settle(scene->stage);
    has_done = false;
    for (int i = 0; i < PLAYERS; i++)
      if (player_turn(&scene->play, &scene->players[i])) has_done = true;
  }
  stage_check(scene->stage->hub);
}

static void hello(scene_t *scene, player_t *player) {
  static const char *const activities[] = {"active", "idle", "background", "active"};
  const uint8_t how = next(&scene->script);
  char fields[160];
  snprintf(fields, sizeof fields, ",\"user\":\"%s\",\"acks\":%s,\"activity\":\"%s\"%s",
           how & 64 ? (how & 128 ? "nobody" : "unanswered") : users[how & 3], how & 4 ? "true" : "false",
           activities[how >> 4 & 3], how & 8 ? ",\"device\":\"phone\"" : "");
  player_ask(&scene->play, player, "hello", -1, fields);
}

static void join(scene_t *scene, player_t *player) {
  const uint8_t how = next(&scene->script);
  player_ask(&scene->play, player, "join", how & 3,
             how & 4   ? ",\"mute\":true"
             : how & 8 ? ",\"hide\":true"
                       : "");
}

static void leave(scene_t *scene, player_t *player) {
  const uint8_t how = next(&scene->script);
  player_ask(&scene->play, player, "leave", how & 3, how & 4 ? ",\"stay\":true" : "");
}

static void send_(scene_t *scene, player_t *player) {
  static const char *const bodies[] = {"1",           "null",        "{}",         "[[[[[[[[[]]]]]]]]]",
                                       "\"\\u00e9\"", "{\"a\":[1]}", " -1e99999 ", "\"\x80\""};
  const uint8_t how = next(&scene->script);
  char fields[64];
  snprintf(fields, sizeof fields, ",\"body\":%s", bodies[how >> 2 & 7]);
  if ((how >> 2 & 7) == 7) player->is_wild = true; /* invalid UTF-8 closes the session without a reply */
  player_ask(&scene->play, player, "send", how & 3, fields);
}

static void send_large(scene_t *scene, player_t *player) {
  const uint8_t how = next(&scene->script);
  char fields[5200];
  const size_t size = (size_t)next(&scene->script) * 17;
  const int start = snprintf(fields, sizeof fields, ",\"body\":\"");
  memset(fields + start, 'x', size);
  strcpy(fields + start + size, "\"");
  if (size > 3900) player->is_wild = true; /* over the limit */
  for (int i = how >> 2 & 15; i >= 0; i--) player_ask(&scene->play, player, "send", how & 3, fields);
}

static void mark(scene_t *scene, player_t *player, const char *type) {
  const uint8_t room = next(&scene->script);
  char fields[32];
  snprintf(fields, sizeof fields, ",\"seq\":%u", next(&scene->script));
  player_ask(&scene->play, player, type, room & 3, fields);
}

static void activity(scene_t *scene, player_t *player) {
  static const char *const states[] = {",\"state\":\"active\"", ",\"state\":\"idle\"",
                                       ",\"state\":\"background\"", ",\"state\":0"};
  player_ask(&scene->play, player, "activity", -1, states[next(&scene->script) & 3]);
}

/* Sends a `ping` in three fragments, of which the second is empty. */
static void pieces(scene_t *scene, player_t *player) {
  if (scene->play.ids == IDS || player->socket < 0) return;
  char text[64];
  scene->play.requests[scene->play.ids] = (request_t){player, player->connection, -1, 0};
  const int size = snprintf(text, sizeof text, "{\"type\":\"ping\",\"id\":%d}", scene->play.ids++);
  player_frame(player, 0x01, text, 5);
  player_frame(player, 0x00, text + 5, 0);
  player_frame(player, 0x80, text + 5, (size_t)size - 5);
}

static size_t raw(scene_t *scene, player_t *player, uint8_t *bytes) {
  player->is_wild = true;
  const size_t size = next(&scene->script);
  for (size_t i = 0; i < size; i++) bytes[i] = next(&scene->script);
  return size;
}

static void pass(scene_t *scene) {
  static const int64_t times[] = {1, 40, 200, 1000, 5000, 10000, 25000, 61000};
  stage_pass(scene->stage, times[next(&scene->script) & 7]);
}

/* Returns the id of any session; 0: the slot is empty. */
static relay_id_t session_of(const relay_hub_t *hub, uint8_t which) {
  const relay_session_t *session =
      hub->sessions.count ? hub->sessions.items[which % hub->sessions.count] : NULL;
  return session ? session->id : 0;
}

/* Calls a function that the policy of a server may call at any time. */
static void intervene(scene_t *scene) {
  relay_hub_t *hub = scene->stage->hub;
  const uint8_t what = next(&scene->script), which = next(&scene->script);
  const relay_id_t user = relay_user_named(hub, users[which & 3]);
  const relay_id_t room = relay_room_named(hub, player_rooms[which >> 2 & 3]);
  const relay_id_t session = session_of(hub, which >> 4);
  relay_limits_t limits = stage_limits();
  static const relay_bytes_t profile = {",\"name\":\"Else\"", 14}, text = {"{\"type\":\"news\"}", 15};
  switch (what % 18) {
  case 0:
    relay_user_set_focus(hub, user, (which >> 4 & 1) - (which >> 5 & 1), which, session);
    break;
  case 1:
    relay_user_set_profile(hub, user, which & 64 ? profile : (relay_bytes_t){0}, session);
    break;
  case 2:
    relay_session_watch(hub, session, user, which & 128, false);
    break;
  case 3:
    relay_session_unwatch(hub, session, user);
    break;
  case 4:
    relay_session_watch_relate(hub, session, user, which & 64, false);
    break;
  case 5:
    relay_session_close(hub, session, which & 64 ? 4506 : 4005, "at once", which & 128 ? 1.5 : -1);
    break;
  case 6:
    relay_user_close_sessions(hub, user, 4506, "at once");
    break;
  case 7:
    relay_room_leave(hub, room, session);
    break;
  case 8:
    relay_room_remove_member(hub, room, user, which & 64 ? "banned" : "left", which & 128 ? "ann" : NULL);
    break;
  case 9:
    relay_room_add_member(hub, room, user, RELAY_ROLE_MEMBER, "joined", NULL);
    break;
  case 10:
    relay_room_read(hub, room, user, relay_room_seq(hub, room));
    break;
  case 11:
    relay_room_release(hub, room);
    if (which & 64) relay_sessions_push(hub, &session, 1, text);
    if (which & 128) relay_room_delete(hub, room);
    break;
  case 12:
    relay_hub_flush(hub);
    break;
  case 13:
    relay_session_push(hub, session, text);
    break;
  case 14:
    relay_session_set_expiry(hub, session, relay_hub_now(hub) + which * 100);
    break;
  case 15:
    limits.member_list = which & 3;
    limits.outgoing_queue = which & 4 ? 16384 : 0;
    limits.send_rate = which & 8 ? 2 : 0;
    limits.send_burst = 2;
    relay_hub_set_limits(hub, &limits);
    break;
  case 16:
    relay_room_configure(hub, room, which >> 5, which >> 4 & 3, which & 64);
    break;
  default:
    relay_room_trim(hub, room, relay_room_seq(hub, room) - (which >> 6));
    break;
  }
}

/* Plays the next act of the script. */
static void act(scene_t *scene) {
  const uint8_t what = next(&scene->script);
  player_t *player = &scene->players[what >> 5 & 3];
  uint8_t bytes[256], head;
  size_t size;
  switch (what & 31) {
  case 0:
  case 1:
    player_dial(scene->stage, player);
    hello(scene, player);
    break;
  case 2:
    player_dial(scene->stage, player);
    break;
  case 3:
  case 4:
    join(scene, player);
    break;
  case 5:
    leave(scene, player);
    break;
  case 6:
  case 7:
    send_(scene, player);
    break;
  case 8:
    send_large(scene, player);
    break;
  case 9:
    player_ask(&scene->play, player, "signal", next(&scene->script) & 3, ",\"name\":\"typing\",\"body\":[ ]");
    break;
  case 10:
    mark(scene, player, "received");
    break;
  case 11:
    mark(scene, player, "read");
    break;
  case 12:
    activity(scene, player);
    break;
  case 13:
    player_ask(&scene->play, player, "ping", -1, "");
    break;
  case 14: /* stage_answer_held() answers it, without an id */
    player_frame(player, 0x81, "{\"type\":\"hold\"}", 15);
    break;
  case 15:
    stage_answer_held(scene->stage);
    break;
  case 16:
    pieces(scene, player);
    break;
  case 17:
    size = raw(scene, player, bytes);
    player_frame(player, 0x81, bytes, size);
    break;
  case 18:
    head = next(&scene->script);
    size = raw(scene, player, bytes);
    player_frame(player, head, bytes, size);
    break;
  case 19:
    size = raw(scene, player, bytes);
    player_write(player, bytes, size);
    break;
  case 20:
    player_frame(player, 0x88, next(&scene->script) & 1 ? "\x03\xe8" : "\x0f\xa1", 2);
    player->is_wild = true;
    break;
  case 21:
    player_cut(player);
    break;
  case 22:
    if (player->socket >= 0) shutdown(player->socket, SHUT_WR);
    player->is_wild = true;
    break;
  case 23:
  case 24:
    pass(scene);
    break;
  case 25:
    player->reads = !player->reads;
    break;
  case 26:
    relay_hub_drain(scene->stage->hub, 4000, "shutdown");
    break;
  case 27:
    hello(scene, player);
    break;
  default:
    intervene(scene);
    break;
  }
  if (!(what & 128)) settle(scene);
}

/* Expects that each request of a connected client has one reply. */
static void expect_replies(scene_t *scene) {
  for (int i = 0; i < PLAYERS; i++) scene->players[i].reads = true;
  do {
    settle(scene);
    stage_answer_held(scene->stage);
    settle(scene);
  } while (scene->stage->host.held_count);
  for (int i = 0; i < scene->play.ids; i++) {
    const request_t *request = &scene->play.requests[i];
    const player_t *by = request->by;
    if (by->socket >= 0 && by->connection == request->connection && by->is_open && !by->is_wild &&
        !by->has_closed && !by->has_bye)
      MUST(request->replies == 1);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
  if (size > MAX_SIZE) return -1;
  static scene_t scene;
  scene = (scene_t){.script = {at, at + size}};
  relay_limits_t limits = stage_limits();
  const uint8_t how = next(&scene.script);
  if (how & 1) limits.send_rate = limits.request_rate = 2, limits.send_burst = limits.request_burst = 3;
  if (how & 2) limits.member_list = 8;
  if (how & 4) limits.outgoing_queue = 0;
  if (how & 8) limits.presence_grace = 0;
  scene.stage = stage_open(&limits);
  for (int i = 0; i < PLAYERS; i++) scene.players[i] = (player_t){.socket = -1};
  while (scene.script.at < scene.script.end) act(&scene);
  expect_replies(&scene);
  for (int i = 0; i < PLAYERS; i++) player_cut(&scene.players[i]);
  settle(&scene);
  stage_close(scene.stage);
  return 0;
}
