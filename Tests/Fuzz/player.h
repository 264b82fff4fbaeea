// SPDX-License-Identifier: Apache-2.0
/* player.h -- a WebSocket client on a stage. It checks what it receives: whole frames, JSON, one reply for
 * each id, the messages of a room in their order, `bye` before a close, and nothing after it. */
#ifndef PLAYER_H
#define PLAYER_H

#include "stage.h"

enum { ROOMS = 4, IDS = 1024 };

extern const char *const player_rooms[ROOMS];

typedef struct player {
  int socket;      /* -1: none */
  int connection;  /* the number of its connections before this one */
  bool reads;      /* false: received bytes stay in the socket */
  bool is_wild;    /* it has violated the protocol: only the format of received frames is checked */
  bool is_open;    /* it has received `welcome` */
  bool has_closed; /* it has received a close frame or the end of the stream */
  bool has_bye, has_upgraded;
  char *out, *in;
  size_t out_size, in_size, in_capacity;
  bool receives[ROOMS];
  int64_t seq[ROOMS];
} player_t;

/* The requests of all players. */
typedef struct request {
  const player_t *by;
  int connection;
  int room; /* -1: neither `send` nor `join` */
  int replies;
} request_t;

typedef struct play {
  request_t requests[IDS];
  int ids;
} play_t;

void player_dial(stage_t *stage, player_t *player);
/* Closes the socket. */
void player_cut(player_t *player);
/* Queues raw bytes. */
void player_write(player_t *player, const void *bytes, size_t size);
/* Queues a masked frame with the first byte `head`. */
void player_frame(player_t *player, int head, const void *payload, size_t size);
/* Queues a request with a new id. `fields` is empty or begins with a comma. */
void player_ask(play_t *play, player_t *player, const char *type, int room, const char *fields);
/* Writes queued bytes, and reads if `reads` is true. Returns true if bytes were written or read. */
bool player_turn(play_t *play, player_t *player);

#endif
