// SPDX-License-Identifier: Apache-2.0
/* head.h -- parses and checks the head of an HTTP request, as its bytes arrive. Called by http.c, on the
 * hub's thread. It knows neither hubs nor sockets.
 *
 * libhttp_parser finds the lines and the fields. Debian builds it without its strict mode, and it accepts
 * requests that RFC 9112 forbids. So head.c also checks line ends, white space, names, the target, Host and
 * the length of the body. */
#ifndef RELAY_HEAD_H
#define RELAY_HEAD_H

#include "../base.h"

enum { RELAY__HEAD_SIZE = 16384, RELAY__HEAD_FIELDS = 100 };

/* The answer to a request that the relay refuses. `code` is one of relay_error_names. */
typedef struct relay__refusal {
  int status;
  const char *code, *detail;
} relay__refusal_t;

typedef enum relay__head_result {
  RELAY__HEAD_MORE,
  RELAY__HEAD_WHOLE,
  RELAY__HEAD_REFUSED
} relay__head_result_t;

/* The state of the checks of lines. It persists from one read to the next. */
typedef struct relay__lines {
  enum {
    RELAY__BEFORE_LINES,
    RELAY__REQUEST_LINE,
    RELAY__LINE_BEGIN,
    RELAY__FIELD_NAME,
    RELAY__FIELD_VALUE
  } state;
  uint32_t spaces;  /* in the request line */
  uint32_t fields;  /* lines behind the request line */
  uint32_t version; /* bytes of `HTTP/` that have matched */
  bool has_return;  /* the last byte was a carriage return */
} relay__lines_t;

typedef struct relay__head {
  struct http_parser *parser;
  relay__lines_t lines;
  relay__text_t text; /* the target, the names in lower case and the values, each with a NUL */
  relay_field_t *fields;
  uint32_t field_count, field_capacity;
  uint32_t read; /* bytes of the head so far */
  uint32_t target_size;
  enum { RELAY__IN_TARGET, RELAY__IN_NAME, RELAY__IN_VALUE } part; /* the part that the parser reads */
  bool is_whole;
  bool is_old; /* the request is of HTTP/1.0 */
  /* Valid once the head is whole, until relay__head_end(). */
  const char *method;
  relay_bytes_t path, query; /* of the target, percent-encoded; `query` has no question mark */
  relay_bytes_t host;        /* of the target, or else the field Host; at: NULL if there is none */
  int64_t length;            /* of the body, in bytes; 0 if it is chunked */
  bool is_chunked;
  bool expects_continue; /* the client waits for 100 before it sends the body */
  bool keeps_alive;      /* the client permits another request on this connection */
  bool upgrades;         /* the request is a WebSocket handshake */
  relay__refusal_t refusal;
} relay__head_t;

/* Prepares a head in the caller's memory. */
void relay__head_begin(relay__head_t *head);
/* Reads bytes until the head is whole or refused. Sets `*used` to the number of bytes that belong to the
 * head; the others are left to the caller. After RELAY__HEAD_REFUSED `refusal` is set, and no more bytes may
 * be read. */
relay__head_result_t relay__head_read(relay__head_t *head, const char *at, size_t size, size_t *used);
/* Frees the memory of the head, but not the head itself. */
void relay__head_end(relay__head_t *head);

/* True if the head is whole and has this method. */
bool relay__head_is(const relay__head_t *head, const char *method);
/* Returns the value of the first field with this name, in lower case; at: NULL if there is none, or the head
 * is not whole. */
relay_bytes_t relay__head_field(const relay__head_t *head, const char *name);
/* Appends the values of all fields with this name, with commas between them (RFC 9110, section 5.3). */
void relay__head_join(const relay__head_t *head, const char *name, relay__text_t *out);
/* True if a field with this name lists the token. Ignores the case of letters. */
bool relay__head_lists(const relay__head_t *head, const char *name, const char *token);
/* The same, but respects the case of letters. */
bool relay__head_lists_exactly(const relay__head_t *head, const char *name, const char *token);

#endif
