// SPDX-License-Identifier: Apache-2.0
/* fields.h -- iterates over the members of a JSON object or array.
 *
 * It finds the begin and the end of each value, but does not check that the text is valid JSON: the text is
 * from the relay.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a frame. For a string it is the text between the quotes. */
typedef struct {
  const char *text;
  size_t length;
} load_slice_t;

typedef struct {
  load_slice_t key; /* empty in arrays */
  load_slice_t value;
  const char *at, *end;
} load_fields_t;

/* Begins an iteration over an object or an array. */
load_fields_t load__fields(load_slice_t json);
/* Moves to the next member. Returns false at the end, and if the text is not JSON there. */
bool load__fields_next(load_fields_t *fields);

bool load__is(load_slice_t slice, const char *text);
/* Returns a whole number; 0 if the text is not one. */
uint64_t load__number(load_slice_t slice);

#endif
