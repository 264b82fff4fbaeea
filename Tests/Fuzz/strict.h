// SPDX-License-Identifier: Apache-2.0
/* strict.h -- RFC 8259 once more, written from its grammar alone: what the parser under test says is
 * compared with it. Slow, recursive, and without a line in common. */
#ifndef STRICT_H
#define STRICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRICT_KEYS = 1024 /* in one object */ };

typedef struct strict {
  bool is_json, is_object;
  bool has_twice; /* an object outside of the outermost `body` has a key twice */
  bool has_many;  /* or more than STRICT_KEYS of them */
  bool has_half;  /* a string has half of a surrogate pair */
  uint32_t depth; /* arrays and objects inside each other */
} strict_t;

/* What a text is. */
strict_t strict_read(const uint8_t *at, size_t size);
/* Whether it is one value, with nothing around it. */
bool strict_is_value(const uint8_t *at, size_t size);
/* The bytes that a string literal stands for, U+FFFD for half of a surrogate pair; at most `size` are
 * written. Returns how many. */
size_t strict_decode(const uint8_t *literal, size_t size, uint8_t *to);

#endif
