// SPDX-License-Identifier: Apache-2.0
/* chunks.h -- decodes a chunked body (RFC 9112, section 7.1), as its bytes arrive. It knows neither hubs nor
 * sockets. */
#ifndef RELAY_CHUNKS_H
#define RELAY_CHUNKS_H

#include "../base.h"

enum { RELAY__CHUNK_EXTRA = 4096 /* bytes of extensions and trailers, which the relay ignores */ };

typedef enum relay__chunks_result {
  RELAY__CHUNKS_MORE,
  RELAY__CHUNKS_WHOLE,
  RELAY__CHUNKS_BAD,
  RELAY__CHUNKS_TOO_LARGE, /* the body, or its extensions and trailers, exceed their bound */
} relay__chunks_result_t;

typedef struct relay__chunks {
  enum {
    RELAY__CHUNK_SIZE,  /* 0, so that zeroed memory is a valid begin */
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
  } state;
  uint64_t left;   /* bytes of the chunk */
  uint32_t digits; /* of its size */
  uint32_t extra;
} relay__chunks_t;

/* Appends data to `body`, which may have at most `max` bytes. Sets `*used` to the number of bytes that belong
 * to the body; the bytes behind it are left to the caller. */
relay__chunks_result_t relay__chunks_read(relay__chunks_t *chunks, const char *at, size_t size, size_t *used,
                                          relay__text_t *body, size_t max);

#endif
