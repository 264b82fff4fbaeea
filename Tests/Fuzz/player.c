// SPDX-License-Identifier: Apache-2.0
/* A WebSocket client of a fuzzed hub, and its checks. See player.h. */
#include "player.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "strict.h"

enum { MAX_OUT = 1 << 18, MAX_FIELDS = 8192 };

const char *const player_rooms[ROOMS] = {"live.a", "stored.b", "marked.c", "pushed.d"};

void player_dial(stage_t *stage, player_t *player) {
  if (player->socket >= 0) return;
  *player = (player_t){.socket = stage_connect(stage), .connection = player->connection + 1, .reads = true};
  static const char upgrade[] =
      "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  player_write(player, upgrade, sizeof upgrade - 1);
}

void player_cut(player_t *player) {
  if (player->socket < 0) return;
  close(player->socket);
  free(player->in);
  free(player->out);
  *player = (player_t){.socket = -1, .connection = player->connection};
}

void player_write(player_t *player, const void *bytes, size_t size) {
  if (player->socket < 0 || player->out_size + size > MAX_OUT || !size) return;
  player->out = realloc(player->out, player->out_size + size);
  memcpy(player->out + player->out_size, bytes, size);
  player->out_size += size;
}

void player_frame(player_t *player, int head, const void *payload, size_t size) {
  static const uint8_t mask[4] = {0x5a, 0x01, 0xc3, 0x7e};
  uint8_t *frame = malloc(size + 8), *at = frame;
  *at++ = (uint8_t)head;
  *at++ = (uint8_t)(0x80 | (size < 126 ? size : 126));
  if (size >= 126) {
    *at++ = (uint8_t)(size >> 8);
    *at++ = (uint8_t)size;
  }
  memcpy(at, mask, 4);
  at += 4;
  for (size_t i = 0; i < size; i++) *at++ = ((const uint8_t *)payload)[i] ^ mask[i % 4];
  player_write(player, frame, (size_t)(at - frame));
  free(frame);
}

void player_ask(play_t *play, player_t *player, const char *type, int room, const char *fields) {
  if (player->socket < 0 || play->ids == IDS || player->out_size > MAX_OUT / 2) return;
  static char text[MAX_FIELDS];
  const bool has_reply = !strcmp(type, "send") || !strcmp(type, "join");
  play->requests[play->ids] = (request_t){player, player->connection, has_reply ? room : -1, 0};
  int size = snprintf(text, sizeof text, "{\"type\":\"%s\",\"id\":%d", type, play->ids++);
  if (room >= 0)
    size += snprintf(text + size, sizeof text - (size_t)size, ",\"room\":\"%s\"", player_rooms[room]);
  size += snprintf(text + size, sizeof text - (size_t)size, "%s}", fields);
  player_frame(player, 0x81, text, (size_t)size);
}

/* Received frames */

static int64_t integer_of(const relay_json_t *json, const char *key) {
  const relay_json_node_t *node = relay_json_member(json, key);
  return node && node->kind == RELAY_JSON_NUMBER ? strtoll((const char *)json->source + node->start, NULL, 10)
                                                 : -1;
}

static bool is_text(const relay_json_t *json, const char *key, const char *text) {
  const relay_json_node_t *node = relay_json_member(json, key);
  return node && node->kind == RELAY_JSON_STRING && node->length == strlen(text) &&
         !memcmp(json->text + node->text, text, node->length);
}

static void receive_seq(player_t *player, int room, int64_t seq) {
  if (!player->receives[room]) return;
  MUST(seq == player->seq[room] + 1);
  player->seq[room] = seq;
}

static void receive_reply(play_t *play, player_t *player, const relay_json_t *json) {
  const int64_t id = integer_of(json, "id");
  if (id < 0) return;
  MUST(id < play->ids);
  request_t *request = &play->requests[id];
  MUST(request->by == player && request->connection == player->connection);
  MUST(++request->replies == 1);
  if (request->room < 0 || !is_text(json, "type", "ok")) return;
  const bool is_join = relay_json_member(json, "memberCount");
  if (is_join) {
    player->receives[request->room] = true;
    player->seq[request->room] = integer_of(json, "seq");
  } else {
    receive_seq(player, request->room, integer_of(json, "seq"));
  }
}

static void receive_text(play_t *play, player_t *player, const uint8_t *text, size_t size) {
  static relay_json_parser_t *parser;
  if (!parser) parser = relay_json_parser_create();
  if (player->is_wild) return;
  const strict_t strict = strict_read(text, size);
  MUST(strict.is_json && strict.is_object && !strict.has_twice);
  relay_json_t json;
  MUST(relay_json_parse(parser, text, size, 64, &json, NULL) == RELAY_JSON_OK);
  MUST(!player->has_bye);
  player->has_bye = is_text(&json, "type", "bye");
  if (is_text(&json, "type", "welcome")) player->is_open = true;
  for (int room = 0; room < ROOMS; room++)
    if (is_text(&json, "type", "message") && is_text(&json, "room", player_rooms[room]))
      receive_seq(player, room, integer_of(&json, "seq"));
  receive_reply(play, player, &json);
}

static void receive_frame(play_t *play, player_t *player, int head, const uint8_t *at, size_t size) {
  MUST(head == 0x81 || head == 0x88 || head == 0x89 || (player->is_wild && head == 0x8a));
  /* libwebsockets answers a violation of the protocol with its own close frame, even between frames of the
   * hub. */
  MUST(!player->has_closed || player->is_wild);
  if (head == 0x81) receive_text(play, player, at, size);
  if (head == 0x89) player_frame(player, 0x8a, at, size);
  if (head != 0x88) return;
  player->has_closed = true;
  const int code = size >= 2 ? at[0] << 8 | at[1] : 0;
  if (!player->is_wild) MUST(code < 4000 || player->has_bye);
  player_frame(player, 0x88, at, size < 2 ? size : 2);
}

/* Handles the first frame, or the answer to the handshake. Returns its size; 0: it is incomplete. */
static size_t receive_one(play_t *play, player_t *player) {
  const uint8_t *in = (const uint8_t *)player->in;
  if (!player->has_upgraded) {
    const char *end = memmem(in, player->in_size, "\r\n\r\n", 4);
    if (!end) return 0;
    player->has_upgraded = !memcmp(in, "HTTP/1.1 101", 12);
    if (!player->has_upgraded) return player->in_size;
    return (size_t)(end - player->in) + 4;
  }
  if (player->in_size < 2) return 0;
  size_t header = 2, size = in[1];
  MUST(size < 128); /* a server does not mask frames */
  if (size >= 126) {
    header = size == 126 ? 4 : 10;
    if (player->in_size < header) return 0;
    size = 0;
    for (size_t i = 2; i < header; i++) size = size << 8 | in[i];
    MUST(size >= (header == 4 ? 126 : 65536));
  }
  if (player->in_size < header + size) return 0;
  receive_frame(play, player, in[0], in + header, size);
  return header + size;
}

static void receive(play_t *play, player_t *player) {
  for (size_t size; player->in_size && (size = receive_one(play, player));) {
    player->in_size -= size;
    memmove(player->in, player->in + size, player->in_size);
  }
}

bool player_turn(play_t *play, player_t *player) {
  if (player->socket < 0) return false;
  bool has_done = false;
  const ssize_t sent =
      player->out_size ? send(player->socket, player->out, player->out_size, MSG_NOSIGNAL) : 0;
  if (sent > 0) {
    player->out_size -= (size_t)sent;
    memmove(player->out, player->out + sent, player->out_size);
    has_done = true;
  } else if (sent < 0 && errno != EAGAIN) {
    player->out_size = 0;
  }
  while (player->reads) {
    if (player->in_capacity - player->in_size < 4096)
      player->in = realloc(player->in, player->in_capacity += 8192);
    const ssize_t size =
        recv(player->socket, player->in + player->in_size, player->in_capacity - player->in_size, 0);
    if (size == 0) player->has_closed = true;
    if (size <= 0) break;
    player->in_size += (size_t)size;
    receive(play, player);
    has_done = true;
  }
  return has_done;
}
