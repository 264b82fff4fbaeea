// SPDX-License-Identifier: Apache-2.0
/* chunks.h -- a chunked body (RFC 9112, section 7.1): bytes in, the body out. No hub and no socket. */
#ifndef RELAY_CHUNKS_H
#define RELAY_CHUNKS_H

#include "../base.h"

enum { RELAY__CHUNK_EXTRA = 4096 /* bytes of extensions and trailers, which the relay ignores */ };

typedef enum relay__chunks_result {
  RELAY__CHUNKS_MORE,
  RELAY__CHUNKS_WHOLE,
  RELAY__CHUNKS_BAD,
  RELAY__CHUNKS_TOO_LARGE, /* the body is over its bound, or the extensions and trailers are over theirs */
} relay__chunks_result_t;

typedef struct relay__chunks {
  enum {
    RELAY__CHUNK_SIZE,  /* zero, as memory that is cleared */
    RELAY__CHUNK_SPACE, /* before an extension */
    RELAY__CHUNK_EXTENSION,
    RELAY__CHUNK_SIZE_END,
    RELAY__CHUNK_DATA,
    RELAY__CHUNK_DATA_RETURN,
    RELAY__CHUNK_DATA_END,
    RELAY__CHUNK_TRAILER_BEGIN,
    RELAY__CHUNK_TRAILER,
    RELAY__CHUNK_TRAILER_END,
    RELAY__CHUNKS_END,
  } place;
  uint64_t left;   /* bytes of the chunk */
  uint32_t digits; /* of its size */
  uint32_t extra;
} relay__chunks_t;

/* Appends data to `body`, which may have at most `max` bytes. `*used` bytes belong to the body; those behind
 * a whole body stay the caller's. */
relay__chunks_result_t relay__chunks_read(relay__chunks_t *chunks, const char *at, size_t size, size_t *used,
                                          relay__text_t *body, size_t max);

#endif
