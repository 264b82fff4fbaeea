// SPDX-License-Identifier: Apache-2.0
/* peer.h -- a WebSocket and HTTP client on a blocking socket, for tests.
 *
 * It writes any bytes, valid or not. A read has a timeout of 5 s. Its result is valid until the next read.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEER_CONTINUATION = 0, PEER_TEXT = 1, PEER_BINARY = 2, PEER_CLOSE = 8, PEER_PING = 9, PEER_PONG = 10 };

typedef struct peer {
  int socket;
  bool answers_pings; /* true after peer_dial() */
  char *in;           /* bytes that were read but not used */
  size_t in_size, in_capacity;
  char *text;     /* the last frame or response, NUL-terminated */
  size_t size;    /* of the text */
  int status;     /* of the last HTTP response; 0: there was none */
  char *headers;  /* of the last HTTP response */
  int close_code; /* of the received close frame; 0: none */
  int pings;      /* received pings */
  bool has_ended; /* the other side has ended the stream, or the connection is broken */
} peer_t;

peer_t *peer_dial(uint16_t port);
/* Ends the connection at once, and frees the peer. */
void peer_cut(peer_t *peer);
/* Closes with 1000, waits for the end of the stream, and frees the peer. */
void peer_leave(peer_t *peer);
/* Reads all frames that the hub has written to the peer. */
void peer_catch_up(peer_t *peer);

/* Returns false if the connection is broken. */
bool peer_write(peer_t *peer, const void *bytes, size_t size);
/* Formats and writes text. */
bool peer_print(peer_t *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sends a handshake with additional header lines. Returns the status; 101: success. */
int peer_upgrade(peer_t *peer, const char *path, const char *headers);
/* Writes a masked frame. */
bool peer_frame(peer_t *peer, bool is_final, int opcode, const void *payload, size_t size);
/* Writes a text frame. */
bool peer_say(peer_t *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the next text frame. Returns NULL after the timeout, or when `close_code` or `has_ended` is set. */
const char *peer_receive(peer_t *peer);
const char *peer_receive_within(peer_t *peer, int milliseconds);
/* Returns the next text frame that contains the part, and skips the others. */
const char *peer_receive_with(peer_t *peer, const char *part);
/* True if no text frame with the part arrives before the reply to a ping. */
bool peer_receives_none_with(peer_t *peer, const char *part);
/* Skips bytes until the stream ends. Returns false after the timeout. */
bool peer_sees_end(peer_t *peer);

/* Connects, sends a handshake and `hello`, and reads the reply. `fields` is empty or begins with a comma. */
peer_t *peer_open(uint16_t port, const char *user, const char *fields);
/* Joins a room, and returns the reply. */
const char *peer_join(peer_t *peer, const char *room);

/* Reads one HTTP response into `status`, `headers` and `text`. Returns the status. */
int peer_response(peer_t *peer, bool is_head);
/* Reads raw bytes until they contain the part. Returns `in`, or NULL after the timeout. */
const char *peer_raw_until(peer_t *peer, const char *part);

#endif
