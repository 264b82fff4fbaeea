// SPDX-License-Identifier: Apache-2.0
/* head.h -- the head of an HTTP request: bytes in, checked fields out. No hub and no socket.
 *
 * libhttp_parser finds the lines and the fields. Debian builds it without its strict mode, and RFC 9112
 * refuses more than it does, so head.c checks on top: line ends, white space, names, the target, Host and the
 * length of the body. */
#ifndef RELAY_HEAD_H
#define RELAY_HEAD_H

#include "../base.h"

enum { RELAY__HEAD_SIZE = 16384, RELAY__HEAD_FIELDS = 100 };

/* The answer to a request that the relay does not carry out. `code` is one of relay_error_names. */
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
  } place;
  uint32_t spaces;  /* in the request line */
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
  relay_bytes_t path, query; /* of the target, percent-encoded; a query without its question mark */
  relay_bytes_t host;        /* of the target, or else the field Host; at: NULL when there is none */
  int64_t length;            /* of the body, in bytes; 0 if it is chunked */
  bool is_chunked;
  bool expects_continue; /* the client waits for 100 before it sends the body */
  bool keeps_alive;      /* the client permits another request on this connection */
  bool upgrades;         /* the request asks for a WebSocket */
  relay__refusal_t refusal;
} relay__head_t;

/* Begins a head in memory of the caller. */
void relay__head_begin(relay__head_t *head);
/* Reads bytes until the head is whole or wrong. `*used` of them belong to the head; the others stay the
 * caller's. A wrong head has its `refusal`, and is not to be read on. */
relay__head_result_t relay__head_read(relay__head_t *head, const char *at, size_t size, size_t *used);
/* Frees what the head keeps. */
void relay__head_end(relay__head_t *head);

/* True if the head is whole and has this method. */
bool relay__head_is(const relay__head_t *head, const char *method);
/* The value of the first field with this name in lower case; at: NULL when there is none, or the head is not
 * whole. */
relay_bytes_t relay__head_field(const relay__head_t *head, const char *name);
/* Appends the values of all fields with this name, with commas between them (RFC 9110, section 5.3). */
void relay__head_join(const relay__head_t *head, const char *name, relay__text_t *out);
/* True if a field with this name lists the token, in any case of letters. */
bool relay__head_lists(const relay__head_t *head, const char *name, const char *token);
/* The same with the case of letters as it is. */
bool relay__head_lists_exactly(const relay__head_t *head, const char *name, const char *token);

#endif
