// SPDX-License-Identifier: Apache-2.0
/* player.h -- a WebSocket client on a stage, that judges what it hears: whole frames, JSON, one reply for
 * each id, the messages of a room one after another, `bye` before a close, and nothing behind it. */
#ifndef PLAYER_H
#define PLAYER_H

#include "stage.h"

enum { ROOMS = 4, IDS = 1024 };

extern const char *const player_rooms[ROOMS];

typedef struct player {
  int socket;      /* -1: none */
  int connection;  /* how many it had before */
  bool reads;      /* false: what comes stays in the socket */
  bool is_wild;    /* it said what is no protocol: only the frames it hears are judged */
  bool is_open;    /* `welcome` came */
  bool has_closed; /* a close frame came, or the end */
  bool has_bye, has_upgraded;
  char *out, *in;
  size_t out_size, in_size, in_capacity;
  bool hears[ROOMS];
  int64_t seq[ROOMS];
} player_t;

/* What every player has asked. */
typedef struct asked {
  const player_t *by;
  int connection;
  int room; /* -1: no `send` or `join` */
  int replies;
} asked_t;

typedef struct play {
  asked_t asked[IDS];
  int ids;
} play_t;

void player_dial(stage_t *stage, player_t *player);
/* Closes the socket. */
void player_cut(player_t *player);
/* Bytes as they are. */
void player_write(player_t *player, const void *bytes, size_t size);
/* A masked frame; the first byte of a frame is `head`. */
void player_frame(player_t *player, int head, const void *payload, size_t size);
/* A request with an id of its own. `fields` begin with a comma. */
void player_ask(play_t *play, player_t *player, const char *type, int room, const char *fields);
/* Writes what waits, and reads what came unless it does not read; whether there was something. */
bool player_turn(play_t *play, player_t *player);

#endif
