// SPDX-License-Identifier: Apache-2.0
/* Random frames and bytes, with the same seed in each run. The hub must answer or close. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { PARSES = 20000, FRAMES = 20000, CONNECTIONS = 200, MAX_SIZE = 2048 };

static uint64_t state;

static uint32_t chance(uint32_t below) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 2685821657736338717u) >> 33) % below;
}

static const char *const frames[] = {
    "{\"type\":\"hello\",\"id\":1,\"user\":\"ann\",\"device\":\"d\",\"acks\":true,\"activity\":\"idle\"}",
    "{\"type\":\"join\",\"id\":\"j\",\"room\":\"live.a\",\"hide\":false}",
    "{\"type\":\"join\",\"id\":\"j\",\"room\":\"pushed.a\"}",
    "{\"type\":\"send\",\"id\":7,\"room\":\"live.a\",\"body\":{\"a\":[1.0,1e2,\"\\u00e9\\ud834\\udd1e\",null,"
    "true]}}",
    "{\"type\":\"send\",\"id\":-7,\"room\":\"pushed.a\",\"body\":\"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\","
    "\"key\":\"k\"}",
    "{\"type\":\"signal\",\"room\":\"live.a\",\"name\":\"typing\",\"body\":[[[[]]],{\"x\":{}}]}",
    "{\"type\":\"received\",\"room\":\"pushed.a\",\"seq\":1}",
    "{\"type\":\"read\",\"id\":8,\"room\":\"pushed.a\",\"seq\":2}",
    "{\"type\":\"activity\",\"state\":\"background\"}",
    "{\"type\":\"activity\",\"state\":\"active\"}",
    "{\"type\":\"leave\",\"room\":\"live.a\",\"stay\":true}",
    "{\"type\":\"leave\",\"id\":9,\"room\":\"pushed.a\"}",
    "{\"type\":\"ping\",\"id\":\"0123456789\"}",
    "{ \"a\" : [ -0.5E-3 , 1e400 ] , \"type\" : \"nonsense\" , \"b\" : { \"c\" : \"\\\"\" } }",
};
enum { KINDS = sizeof frames / sizeof *frames };

/* Changes up to three parts of the text, and returns its new size. */
static size_t mutate(char *at, size_t size) {
  static const char likely[] = "{}[]\",:\\u0\xed\xa0\xc0\xff"
                               "e-.1 \n";
  for (uint32_t i = chance(4); i > 0 && size > 1 && size < MAX_SIZE / 2; i--) {
    const size_t position = chance((uint32_t)size), length = chance((uint32_t)(size - position)) + 1;
    switch (chance(6)) {
    case 0:
      at[position] = likely[chance(sizeof likely)];
      break;
    case 1:
      at[position] = (char)chance(256);
      break;
    case 2:
      size = position + 1;
      break;
    case 3: /* repeats a part */
      memmove(at + position + length, at + position, size - position);
      size += length;
      break;
    case 4: /* removes a part */
      memmove(at + position, at + position + length, size - position - length);
      size -= length;
      break;
    default: { /* swaps two bytes */
      const size_t other = chance((uint32_t)size);
      const char byte = at[position];
      at[position] = at[other];
      at[other] = byte;
    }
    }
  }
  return size;
}

/* Writes a frame, and returns its size. On average one of `one_in` frames is mutated. */
static size_t make(char *at, uint32_t one_in) {
  const char *frame = frames[chance(KINDS)];
  const size_t size = strlen(frame);
  memcpy(at, frame, size);
  return chance(one_in) ? size : mutate(at, size);
}

TEST(parses, "chance: the parser returns slices of a broken frame, or an error") {
  state = 88172645463325252u;
  relay_json_parser_t *parser = relay_json_parser_create();
  int read = 0;
  for (int i = 0; i < PARSES; i++) {
    char text[MAX_SIZE * 2];
    const size_t size = make(text, 1);
    char *exact = malloc(size ? size : 1);
    memcpy(exact, text, size);
    relay_json_t json;
    size_t offset;
    const relay_json_status_t status = relay_json_parse(parser, exact, size, 8, &json, &offset);
    EXPECT(offset <= size);
    if (status == RELAY_JSON_OK || status == RELAY_JSON_TWICE) {
      for (uint32_t at = 1; at < json.count; at = json.nodes[at].next)
        if (!EXPECT(json.nodes[at].next > at && json.nodes[at].next <= json.count)) break;
      relay_json_t *copy = relay_json_copy(&json);
      const relay_json_node_t *body = relay_json_member(copy, "body");
      EXPECT(!body || status != RELAY_JSON_OK || (body->start < body->end && body->end < size));
      relay_json_member(copy, "no such key");
      free(copy);
      read += status == RELAY_JSON_OK;
    }
    free(exact);
  }
  EXPECT(read > PARSES / 20 && read < PARSES / 2);
  relay_json_parser_destroy(parser);
}

static peer_t *enter(host_t *host) {
  peer_t *peer = peer_dial(host_port(host));
  peer_upgrade(peer, "/v1/connect", "");
  if (chance(10)) {
    char user[16];
    snprintf(user, sizeof user, "u%u", chance(5));
    peer_say(peer, "{\"type\":\"hello\",\"user\":\"%s\",\"acks\":%s}", user, chance(2) ? "true" : "false");
    peer_say(peer, "{\"type\":\"join\",\"room\":\"live.a\"}");
    if (chance(2)) peer_say(peer, "{\"type\":\"join\",\"room\":\"pushed.a\"}");
  }
  return peer;
}

/* True if the session answers a ping, or is closed. */
static bool lives_or_is_closed(peer_t *peer) {
  static uint32_t number;
  char id[32];
  snprintf(id, sizeof id, "\"check %u\"", ++number);
  if (!peer_say(peer, "{\"type\":\"ping\",\"id\":%s}", id)) return true;
  return peer_receive_with(peer, id) || peer->close_code || peer->has_ended;
}

TEST(requests, "chance: the hub answers or closes each session, whatever it sends") {
  state = 2463534242u;
  relay_config_t config = host_config();
  config.limits.presence_grace = 5;
  config.limits.member_list = 3;
  config.limits.nesting = 6;
  config.limits.sessions_per_user = 3;
  host_t *host = host_start(&config);
  peer_t *peers[6];
  for (int i = 0; i < 6; i++) peers[i] = enter(host);
  for (int i = 0; i < FRAMES; i++) {
    const uint32_t who = chance(6);
    peer_t *peer = peers[who];
    char frame[MAX_SIZE * 2];
    const size_t size = make(frame, 4), cut_at = chance((uint32_t)size + 1);
    const bool in_pieces = !chance(8);
    if (in_pieces) peer_frame(peer, false, PEER_TEXT, frame, cut_at);
    peer_frame(peer, true, in_pieces ? PEER_CONTINUATION : PEER_TEXT, frame + (in_pieces ? cut_at : 0),
               size - (in_pieces ? cut_at : 0));
    const bool leaves = !chance(200);
    if (!chance(16) && !EXPECT(lives_or_is_closed(peer))) break;
    if (!leaves && !peer->close_code && !peer->has_ended) continue;
    if (chance(2))
      peer_leave(peer);
    else
      peer_cut(peer);
    peers[who] = enter(host);
  }
  for (int i = 0; i < 6; i++) {
    EXPECT(lives_or_is_closed(peers[i]));
    peer_cut(peers[i]);
  }
  host_end(host);
}

TEST(bytes, "chance: a connection ends when the client closes its side, whatever bytes it has sent") {
  state = 362436069u;
  host_t *host = host_start(NULL);
  static const char *const openings[] = {
      "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
      "GET /what?a=b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n",
      "",
  };
  for (int i = 0; i < CONNECTIONS; i++) {
    peer_t *peer = peer_dial(host_port(host));
    char bytes[MAX_SIZE * 2];
    size_t size = (size_t)snprintf(bytes, sizeof bytes, "%s", openings[chance(4)]);
    if (size && !chance(3)) size = mutate(bytes, size);
    for (uint32_t j = chance(40); j > 0; j--) bytes[size++] = (char)chance(256);
    peer_write(peer, bytes, size);
    if (chance(4))
      shutdown(peer->socket, SHUT_WR);
    else
      peer_say(peer, "%s", frames[0]), shutdown(peer->socket, SHUT_WR);
    if (chance(2)) EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  peer_t *peer = peer_open(host_port(host), "ann", "");
  EXPECT(lives_or_is_closed(peer));
  peer_leave(peer);
  host_end(host);
}
