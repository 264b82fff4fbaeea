// SPDX-License-Identifier: Apache-2.0
/* The decoder of chunked bodies. See chunks.h. */
#include "chunks.h"

enum { MAX_DIGITS = 15 };

/* Counts a byte of an extension or a trailer. Returns false for a control character other than a tab. */
static bool takes_extra(relay__chunks_t *chunks, char c) {
  chunks->extra++;
  return ((unsigned char)c >= ' ' && c != 0x7f) || c == '\t';
}

/* Reads a byte behind the size: white space or the begin of an extension. */
static bool read_space(relay__chunks_t *chunks, char c) {
  chunks->state = c == ';' ? RELAY__CHUNK_EXTENSION : RELAY__CHUNK_SPACE;
  return (c == ';' || c == ' ' || c == '\t') && takes_extra(chunks, c);
}

/* Reads one byte outside the data of a chunk. Returns false if the byte is not allowed there. */
static bool read_byte(relay__chunks_t *chunks, char c) {
  switch (chunks->state) {
  case RELAY__CHUNK_SIZE: {
    const int digit = relay__hex_digit(c);
    if (digit >= 0) {
      chunks->left = chunks->left << 4 | (unsigned)digit;
      return ++chunks->digits <= MAX_DIGITS;
    }
    if (!chunks->digits) return false;
    if (c == '\r') {
      chunks->state = RELAY__CHUNK_SIZE_END;
      return true;
    }
    return read_space(chunks, c);
  }
  case RELAY__CHUNK_SPACE:
    return read_space(chunks, c);
  case RELAY__CHUNK_EXTENSION:
    if (c != '\r') return takes_extra(chunks, c);
    chunks->state = RELAY__CHUNK_SIZE_END;
    return true;
  case RELAY__CHUNK_SIZE_END:
    chunks->state = chunks->left ? RELAY__CHUNK_DATA : RELAY__CHUNK_TRAILER_BEGIN;
    chunks->digits = 0;
    return c == '\n';
  case RELAY__CHUNK_DATA_RETURN:
    chunks->state = RELAY__CHUNK_DATA_END;
    return c == '\r';
  case RELAY__CHUNK_DATA_END:
    chunks->state = RELAY__CHUNK_SIZE;
    return c == '\n';
  case RELAY__CHUNK_TRAILER_BEGIN:
    chunks->state = c == '\r' ? RELAY__CHUNKS_END : RELAY__CHUNK_TRAILER;
    return c == '\r' || (c != ' ' && c != '\t' && takes_extra(chunks, c));
  case RELAY__CHUNK_TRAILER:
    if (c != '\r') return takes_extra(chunks, c);
    chunks->state = RELAY__CHUNK_TRAILER_END;
    return true;
  case RELAY__CHUNK_TRAILER_END:
    chunks->state = RELAY__CHUNK_TRAILER_BEGIN;
    return c == '\n';
  case RELAY__CHUNKS_END:
    return c == '\n';
  case RELAY__CHUNK_DATA:
    break;
  }
  return false;
}

relay__chunks_result_t relay__chunks_read(relay__chunks_t *chunks, const char *at, size_t size, size_t *used,
                                          relay__text_t *body, size_t max) {
  for (*used = 0; *used < size;) {
    if (chunks->state == RELAY__CHUNK_DATA) {
      const size_t rest = size - *used;
      const size_t part = rest < chunks->left ? rest : (size_t)chunks->left;
      relay__put(body, at + *used, part);
      *used += part;
      chunks->left -= part;
      if (!chunks->left) chunks->state = RELAY__CHUNK_DATA_RETURN;
      continue;
    }
    const bool is_end = chunks->state == RELAY__CHUNKS_END;
    if (!read_byte(chunks, at[(*used)++])) return RELAY__CHUNKS_BAD;
    if (is_end) return RELAY__CHUNKS_WHOLE;
    if (chunks->extra > RELAY__CHUNK_EXTRA || body->size + chunks->left > max) return RELAY__CHUNKS_TOO_LARGE;
  }
  return RELAY__CHUNKS_MORE;
}
