// SPDX-License-Identifier: Apache-2.0
/* relay_json.h -- strict JSON objects (RFC 8259), read in one pass.
 *
 * THREADS   A parser belongs to one thread; several parsers are independent.
 * MEMORY    A parser owns its buffers and uses them again: what a parse returned is valid until the
 *           next parse with the same parser, and as long as the source is. relay_json_copy() makes a
 *           copy that stands alone.
 * STRICT    Syntax, UTF-8 and surrogate pairs are checked everywhere, also in what is not looked
 *           into. A key given twice in one object is refused, but not inside raw values. Half of a
 *           surrogate pair is valid by the grammar, but many readers reject it (RFC 8259, section
 *           8.2): it has a status of its own, so that a caller can name the fault.
 * WHY       RapidJSON reads the tokens. The tree is hand-written: it adds the strict checks, keeps the
 *           bytes of raw values and reuses its buffers, so that a frame costs no allocation.
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
  RELAY_JSON_RAW, /* checked, but not looked into: the member `body` of the outermost object */
} relay_json_kind_t;

/* A value. Node 0 is the outermost object; the children of a node follow it, up to `next`. */
typedef struct relay_json_node {
  relay_json_kind_t kind;
  uint32_t key, key_length; /* in `text`; the length is 0 in arrays (an empty key: also 0) */
  uint32_t text, length;    /* a string decoded, a number as spelled; in `text` */
  uint32_t start, end;      /* in the source; only for members of the outermost object */
  uint32_t next;            /* the node after this value and all inside it */
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
  RELAY_JSON_NOT_OBJECT, /* JSON, but no object */
  RELAY_JSON_TOO_DEEP,   /* more arrays and objects inside each other than allowed */
  RELAY_JSON_TWICE,      /* a key given twice; `offset` is behind it */
  RELAY_JSON_TOO_MANY,   /* more than 1,024 keys in one object */
  RELAY_JSON_SURROGATE,  /* a string has an escape such as \ud83d without its other half */
} relay_json_status_t;

typedef struct relay_json_parser relay_json_parser_t;

relay_json_parser_t *relay_json_parser_create(void);
void relay_json_parser_destroy(relay_json_parser_t *parser);

/* Parses `size` bytes (less than 2^31) that must be one object. `json` is filled unless the answer is
 * SYNTAX or NOT_OBJECT; after another error what was wrong is not in it. `offset` is where an error was
 * found. */
relay_json_status_t relay_json_parse(relay_json_parser_t *parser, const void *source, size_t size,
                                     uint32_t deepest, relay_json_t *json, size_t *offset);

/* A copy in one block, the source included; free() it. */
relay_json_t *relay_json_copy(const relay_json_t *json);

/* The member of the outermost object, or NULL. */
const relay_json_node_t *relay_json_member(const relay_json_t *json, const char *key);

#ifdef __cplusplus
}
#endif
#endif
