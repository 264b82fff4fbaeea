// SPDX-License-Identifier: Apache-2.0
/* strict.h -- a second parser of RFC 8259, written from its grammar. The results of the parser under test are
 * compared with it. It is slow and recursive, and shares no code with that parser. */
#ifndef STRICT_H
#define STRICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRICT_KEYS = 1024 /* in one object */ };

typedef struct strict {
  bool is_json, is_object;
  bool has_twice; /* an object outside of the outermost `body` has a duplicate key */
  bool has_many;  /* such an object has more than STRICT_KEYS keys */
  bool has_half;  /* a string has half of a surrogate pair */
  uint32_t depth; /* of nested arrays and objects */
} strict_t;

/* Parses a text. */
strict_t strict_read(const uint8_t *at, size_t size);
/* True if the text is one value, without space around it. */
bool strict_is_value(const uint8_t *at, size_t size);
/* Decodes a string literal, and writes at most `size` bytes. Half of a surrogate pair becomes U+FFFD. Returns
 * the number of bytes. */
size_t strict_decode(const uint8_t *literal, size_t size, uint8_t *to);

#endif
