// SPDX-License-Identifier: Apache-2.0
/* The second parser of JSON. See strict.h. The sections are those of RFC 8259. */
#include "strict.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
  const uint8_t *at, *end;
  strict_t *found;
  uint32_t depth;
  bool is_raw; /* inside the outermost `body` */
} reader_t;

typedef struct member_key {
  uint8_t *text;
  size_t size;
} member_key_t;

static bool take(reader_t *reader, int byte) {
  if (reader->at == reader->end || *reader->at != byte) return false;
  reader->at++;
  return true;
}

static bool take_word(reader_t *reader, const char *word) {
  const size_t size = strlen(word);
  if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size)) return false;
  reader->at += size;
  return true;
}

/* Section 2: the four characters of insignificant white space. */
static void skip_space(reader_t *reader) {
  while (take(reader, 0x20) || take(reader, 0x09) || take(reader, 0x0a) || take(reader, 0x0d)) continue;
}

static bool is_between(const reader_t *reader, int first, int last) {
  return reader->at < reader->end && *reader->at >= first && *reader->at <= last;
}

static bool take_between(reader_t *reader, int first, int last) {
  if (!is_between(reader, first, last)) return false;
  reader->at++;
  return true;
}

static bool digits(reader_t *reader) {
  if (!take_between(reader, '0', '9')) return false;
  while (take_between(reader, '0', '9')) continue;
  return true;
}

/* Section 6. */
static bool number(reader_t *reader) {
  take(reader, '-');
  if (!take(reader, '0') && (!is_between(reader, '1', '9') || !digits(reader))) return false;
  if (take(reader, '.') && !digits(reader)) return false;
  if (take(reader, 'e') || take(reader, 'E')) {
    if (!take(reader, '+')) take(reader, '-');
    return digits(reader);
  }
  return true;
}

/* RFC 3629, section 4: UTF8-2, UTF8-3, UTF8-4. */
static bool many_bytes(reader_t *reader) {
  int more = 1;
  if (take_between(reader, 0xc2, 0xdf))
    more = 1;
  else if (take(reader, 0xe0))
    more = take_between(reader, 0xa0, 0xbf) ? 1 : -1;
  else if (take(reader, 0xed))
    more = take_between(reader, 0x80, 0x9f) ? 1 : -1;
  else if (take_between(reader, 0xe1, 0xef))
    more = 2;
  else if (take(reader, 0xf0))
    more = take_between(reader, 0x90, 0xbf) ? 2 : -1;
  else if (take(reader, 0xf4))
    more = take_between(reader, 0x80, 0x8f) ? 2 : -1;
  else if (take_between(reader, 0xf1, 0xf3))
    more = 3;
  else
    more = -1;
  for (; more > 0; more--)
    if (!take_between(reader, 0x80, 0xbf)) return false;
  return more == 0;
}

/* Reads four hexadecimal digits. Returns -1 if there are none. */
static int unit(reader_t *reader) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    if (reader->at == reader->end) return -1;
    const int c = *reader->at++;
    if (c >= '0' && c <= '9')
      value = value * 16 + c - '0';
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      value = value * 16 + (c | 0x20) - 'a' + 10;
    else
      return -1;
  }
  return value;
}

/* Section 7: reads an escape behind its backslash. Notes half of a surrogate pair (section 8.2). */
static bool escape(reader_t *reader) {
  if (reader->at == reader->end) return false;
  const int c = *reader->at++;
  if (c != 'u') return c && strchr("\"\\/bfnrt", c);
  const int first = unit(reader);
  if (first < 0xd800 || first > 0xdfff) return first >= 0;
  const uint8_t *const behind = reader->at;
  if (first <= 0xdbff && take_word(reader, "\\u")) {
    const int second = unit(reader);
    if (second >= 0xdc00 && second <= 0xdfff) return true;
  }
  reader->at = behind; /* the next escape is read separately */
  reader->found->has_half = true;
  return true;
}

static bool string(reader_t *reader) {
  if (!take(reader, '"')) return false;
  while (!take(reader, '"')) {
    if (take(reader, '\\')) {
      if (!escape(reader)) return false;
    } else if (!take_between(reader, 0x20, 0x7f) && !many_bytes(reader)) {
      return false;
    }
  }
  return true;
}

static bool value(reader_t *reader);

static bool array(reader_t *reader) {
  skip_space(reader);
  if (take(reader, ']')) return true;
  do {
    if (!value(reader)) return false;
    if (take(reader, ']')) return true;
  } while (take(reader, ','));
  return false;
}

static void note_key(reader_t *reader, const member_key_t *keys, size_t count, const member_key_t *key) {
  if (reader->is_raw) return;
  if (count >= STRICT_KEYS) reader->found->has_many = true;
  for (size_t i = 0; i < count; i++)
    if (keys[i].size == key->size && !memcmp(keys[i].text, key->text, key->size))
      reader->found->has_twice = true;
}

static bool members(reader_t *reader, member_key_t **keys, size_t *count) {
  skip_space(reader);
  if (take(reader, '}')) return true;
  do {
    skip_space(reader);
    const uint8_t *const literal = reader->at;
    if (!string(reader)) return false;
    member_key_t key = {.text = malloc((size_t)(reader->at - literal))};
    key.size = strict_decode(literal, (size_t)(reader->at - literal), key.text);
    note_key(reader, *keys, *count, &key);
    *keys = realloc(*keys, (*count + 1) * sizeof **keys);
    (*keys)[(*count)++] = key;
    skip_space(reader);
    if (!take(reader, ':')) return false;
    const bool begins_raw = reader->depth == 1 && key.size == 4 && !memcmp(key.text, "body", 4);
    if (begins_raw) reader->is_raw = true;
    if (!value(reader)) return false;
    if (begins_raw) reader->is_raw = false;
    if (take(reader, '}')) return true;
  } while (take(reader, ','));
  return false;
}

static bool object(reader_t *reader) {
  member_key_t *keys = NULL;
  size_t count = 0;
  const bool is_one = members(reader, &keys, &count);
  for (size_t i = 0; i < count; i++) free(keys[i].text);
  free(keys);
  return is_one;
}

/* Reads a value and the space around it. */
static bool value(reader_t *reader) {
  skip_space(reader);
  bool is_one;
  const bool is_object = take(reader, '{');
  if (is_object || take(reader, '[')) {
    if (++reader->depth > reader->found->depth) reader->found->depth = reader->depth;
    is_one = is_object ? object(reader) : array(reader);
    reader->depth--;
  } else if (is_between(reader, '"', '"')) {
    is_one = string(reader);
  } else {
    is_one = take_word(reader, "true") || take_word(reader, "false") || take_word(reader, "null") ||
             number(reader);
  }
  skip_space(reader);
  return is_one;
}

strict_t strict_read(const uint8_t *at, size_t size) {
  strict_t found = {0};
  reader_t reader = {at, at + size, &found, 0, false};
  skip_space(&reader);
  found.is_object = is_between(&reader, '{', '{');
  found.is_json = value(&reader) && reader.at == reader.end;
  return found;
}

bool strict_is_value(const uint8_t *at, size_t size) {
  static const char space[] = " \t\n\r";
  return size && !memchr(space, at[0], 4) && !memchr(space, at[size - 1], 4) && strict_read(at, size).is_json;
}

static size_t put(uint32_t code, uint8_t *to) {
  if (code < 0x80) return to[0] = (uint8_t)code, 1;
  if (code < 0x800) return to[0] = (uint8_t)(0xc0 | code >> 6), to[1] = (uint8_t)(0x80 | (code & 0x3f)), 2;
  size_t size = 0;
  if (code < 0x10000) {
    to[size++] = (uint8_t)(0xe0 | code >> 12);
  } else {
    to[size++] = (uint8_t)(0xf0 | code >> 18);
    to[size++] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
  }
  to[size++] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
  to[size++] = (uint8_t)(0x80 | (code & 0x3f));
  return size;
}

size_t strict_decode(const uint8_t *literal, size_t size, uint8_t *to) {
  static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  reader_t reader = {literal + 1, literal + size - 1, NULL, 0, false};
  size_t count = 0;
  while (reader.at < reader.end) {
    const int c = *reader.at++;
    if (c != '\\') {
      to[count++] = (uint8_t)c;
    } else if (!take(&reader, 'u')) {
      to[count++] = (uint8_t)meanings[strchr(escapes, *reader.at++) - escapes];
    } else {
      uint32_t code = (uint32_t)unit(&reader);
      if (code >= 0xd800 && code <= 0xdfff) {
        const uint8_t *const behind = reader.at;
        const int second = code <= 0xdbff && take_word(&reader, "\\u") ? unit(&reader) : -1;
        const bool is_pair = second >= 0xdc00 && second <= 0xdfff;
        if (!is_pair) reader.at = behind;
        code = is_pair ? 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)second - 0xdc00) : 0xfffd;
      }
      count += put(code, to + count);
    }
  }
  return count;
}
