// SPDX-License-Identifier: Apache-2.0
/* The iteration over members of JSON values. See fields.h. */
#include "fields.h"

#include <string.h>

static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
  return at;
}

/* Returns the closing quote of a string, or NULL. `at` is behind the opening quote. */
static const char *string_end(const char *at, const char *end) {
  for (; at < end && *at != '"'; at++)
    if (*at == '\\') at++;
  return at < end ? at : NULL;
}

/* Returns the position behind the value, or NULL. */
static const char *value_end(const char *at, const char *end) {
  int depth = 0;
  for (; at < end; at++) {
    switch (*at) {
    case '"':
      if (!(at = string_end(at + 1, end))) return NULL;
      if (!depth) return at + 1;
      break;
    case '{':
    case '[':
      depth++;
      break;
    case '}':
    case ']':
      if (!depth) return at;
      if (!--depth) return at + 1;
      break;
    case ',':
    case ' ':
    case '\t':
    case '\n':
    case '\r':
      if (!depth) return at;
      break;
    }
  }
  return depth ? NULL : at;
}

load_fields_t load__fields(load_slice_t json) {
  const char *end = json.text + json.length, *at = skip_space(json.text, end);
  load_fields_t fields = {.at = at, .end = end};
  if (at == end || (*at != '{' && *at != '[')) fields.at = end;
  return fields;
}

bool load__fields_next(load_fields_t *fields) {
  const char *end = fields->end, *at = fields->at;
  if (at == end) return false;
  fields->at = end; /* so that the iteration ends at a fault */
  const bool is_array = *at == '[' || (*at == ',' && !fields->key.text);
  at = skip_space(at + 1, end);
  fields->key = (load_slice_t){NULL, 0};
  if (!is_array) {
    if (at == end || *at != '"') return false;
    const char *key = at + 1;
    if (!(at = string_end(key, end))) return false;
    fields->key = (load_slice_t){key, (size_t)(at - key)};
    at = skip_space(at + 1, end);
    if (at == end || *at != ':') return false;
    at = skip_space(at + 1, end);
  }
  const char *past = at < end ? value_end(at, end) : NULL;
  if (!past || past == at) return false;
  fields->value = (load_slice_t){at, (size_t)(past - at)};
  if (*at == '"') fields->value = (load_slice_t){at + 1, (size_t)(past - at - 2)};
  at = skip_space(past, end);
  fields->at = at < end && *at == ',' ? at : end;
  return true;
}

bool load__is(load_slice_t slice, const char *text) {
  return slice.length == strlen(text) && !memcmp(slice.text, text, slice.length);
}

uint64_t load__number(load_slice_t slice) {
  uint64_t number = 0;
  if (slice.length > 19) return 0;
  for (size_t i = 0; i < slice.length; i++) {
    if (slice.text[i] < '0' || slice.text[i] > '9') return 0;
    number = number * 10 + (uint64_t)(slice.text[i] - '0');
  }
  return number;
}
