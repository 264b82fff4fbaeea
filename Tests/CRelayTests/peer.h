// SPDX-License-Identifier: Apache-2.0
/* peer.h -- a WebSocket and HTTP client on a plain blocking socket, for tests.
 *
 * It writes what it is told, right or wrong. Reads end after 5 s. What a read returns is valid until
 * the next one.
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
  char *in;           /* what was read and not used */
  size_t in_size, in_capacity;
  char *text;     /* the last frame or response, NUL-terminated */
  size_t size;    /* of the text */
  int status;     /* of the last HTTP response; 0: there was none */
  char *headers;  /* of the last HTTP response */
  int close_code; /* of the close frame that came; 0: none did */
  int pings;      /* how many came */
  bool has_ended; /* the other side ended the stream, or it is broken */
} peer_t;

peer_t *peer_dial(uint16_t port);
/* Ends the connection at once. */
void peer_cut(peer_t *peer);
/* Says 1000, waits for the end of the stream and frees. */
void peer_leave(peer_t *peer);

/* false when the stream is broken. */
bool peer_write(peer_t *peer, const void *bytes, size_t size);
/* printf of bytes. */
bool peer_print(peer_t *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Asks for an upgrade, with more header lines; returns the status, 101 when it is granted. */
int peer_upgrade(peer_t *peer, const char *path, const char *headers);
/* A masked frame. */
bool peer_frame(peer_t *peer, bool is_final, int opcode, const void *payload, size_t size);
/* A text frame. */
bool peer_say(peer_t *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The next text frame; NULL when there is none within the time, or `close_code` or `has_ended` is set. */
const char *peer_hear(peer_t *peer);
const char *peer_hear_within(peer_t *peer, int milliseconds);
/* The next text frame that contains the part; others are skipped. */
const char *peer_hear_of(peer_t *peer, const char *part);
/* Whether no text frame with the part comes before the reply to a ping. */
bool peer_hears_nothing_of(peer_t *peer, const char *part);
/* Skips what comes until the stream ends; false when it does not. */
bool peer_sees_end(peer_t *peer);

/* Dials, upgrades and says hello; `fields` begin with a comma or are empty. */
peer_t *peer_open(uint16_t port, const char *user, const char *fields);
/* Joins and returns the reply. */
const char *peer_join(peer_t *peer, const char *room);

/* Reads one HTTP response into `status`, `headers` and `text`; returns the status. */
int peer_response(peer_t *peer, bool is_head);
/* Reads as many raw bytes as there are now, or waits for some; returns `in`. */
const char *peer_raw_until(peer_t *peer, const char *part);

#endif
