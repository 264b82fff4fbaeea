// SPDX-License-Identifier: Apache-2.0
/* fields.h -- the members of a JSON object that a relay sent, one after the other.
 *
 * A walk, not a judge: it finds where values begin and end and trusts that they are JSON.
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of a frame. Of a string it is what is between the quotes. */
typedef struct {
  const char *text;
  size_t length;
} load_slice_t;

typedef struct {
  load_slice_t key; /* empty in arrays */
  load_slice_t value;
  const char *at, *end;
} load_fields_t;

/* Begins a walk over an object or an array. */
load_fields_t load__fields(load_slice_t json);
/* Steps to the next member; false at the end and where the text is no JSON. */
bool load__fields_next(load_fields_t *fields);

bool load__is(load_slice_t slice, const char *text);
/* A whole number, or 0. */
uint64_t load__number(load_slice_t slice);

#endif
