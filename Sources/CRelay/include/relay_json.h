// SPDX-License-Identifier: Apache-2.0
/* relay_json.h -- a strict parser of JSON objects (RFC 8259) that reads the text once.
 *
 * THREADS   A parser belongs to one thread; several parsers are independent.
 * MEMORY    A parser owns its buffers and reuses them. The result of a parse is valid until the next
 *           parse with the same parser, and as long as the source is valid. relay_json_copy() makes an
 *           independent copy.
 * STRICT    The parser checks syntax, UTF-8 and surrogate pairs everywhere, also inside raw values. It
 *           rejects a duplicate key in an object, but not inside raw values. Half of a surrogate pair
 *           is valid by the grammar, but many parsers reject it (RFC 8259, section 8.2). It has its own
 *           status, so that a caller can name the fault.
 * WHY       RapidJSON reads the tokens. The tree is hand-written: it adds the strict checks, keeps the
 *           bytes of raw values and reuses its buffers, so that a frame needs no allocation.
 */
#ifndef RELAY_JSON_H
#define RELAY_JSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum relay_json_kind {
  RELAY_JSON_NULL,
  RELAY_JSON_FALSE,
  RELAY_JSON_TRUE,
  RELAY_JSON_NUMBER,
  RELAY_JSON_STRING,
  RELAY_JSON_ARRAY,
  RELAY_JSON_OBJECT,
  RELAY_JSON_RAW, /* checked, but without nodes: the member `body` of the outermost object */
} relay_json_kind_t;

/* A value. Node 0 is the outermost object. The children of a node follow it, up to `next`. */
typedef struct relay_json_node {
  relay_json_kind_t kind;
  uint32_t key, key_length; /* the position in `text`; the length is 0 in an array and for an empty key */
  uint32_t text, length;    /* the position in `text`: a decoded string, or a number as it was written */
  uint32_t start, end;      /* the position in the source; only for members of the outermost object */
  uint32_t next;            /* the index of the first node after this value and its children */
} relay_json_node_t;

typedef struct relay_json {
  const uint8_t *source;
  size_t size;
  const char *text;
  const relay_json_node_t *nodes;
  uint32_t count;
} relay_json_t;

typedef enum relay_json_status {
  RELAY_JSON_OK,
  RELAY_JSON_SYNTAX,     /* not JSON, or not UTF-8 */
  RELAY_JSON_NOT_OBJECT, /* JSON, but not an object */
  RELAY_JSON_TOO_DEEP,   /* arrays and objects are nested deeper than allowed */
  RELAY_JSON_TWICE,      /* an object has a duplicate key; `offset` is behind it */
  RELAY_JSON_TOO_MANY,   /* more than 1,024 keys in one object */
  RELAY_JSON_SURROGATE,  /* a string has an escape such as \ud83d without its other half */
} relay_json_status_t;

typedef struct relay_json_parser relay_json_parser_t;

relay_json_parser_t *relay_json_parser_create(void);
void relay_json_parser_destroy(relay_json_parser_t *parser);

/* Parses `size` bytes (less than 2^31) that must be one object, with at most `max_depth` nested arrays and
 * objects. `json` is filled unless the status is SYNTAX or NOT_OBJECT. After another error it is filled
 * as far as possible, so that an answer can have the `id` of the request. `offset` is the position of
 * the error. */
relay_json_status_t relay_json_parse(relay_json_parser_t *parser, const void *source, size_t size,
                                     uint32_t max_depth, relay_json_t *json, size_t *offset);

/* Returns a copy in one block, with the source. The caller frees it with free(). */
relay_json_t *relay_json_copy(const relay_json_t *json);

/* Returns the member of the outermost object with this key, or NULL. */
const relay_json_node_t *relay_json_member(const relay_json_t *json, const char *key);

#ifdef __cplusplus
}
#endif
#endif
