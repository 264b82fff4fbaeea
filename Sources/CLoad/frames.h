// SPDX-License-Identifier: Apache-2.0
/* frames.h -- WebSocket frames (RFC 6455, section 5.2): reads them without a copy, and writes masked ones. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_TEXT = 1, LOAD_CLOSE = 8, LOAD_PING = 9, LOAD_PONG = 10 };
enum { LOAD_MAX_FRAME = 16 << 20, LOAD_MAX_HEADER = 14 };

typedef struct {
  uint8_t opcode;
  const char *payload;
  size_t length;
} load_frame_t;

/* Returns the size of the frame at `bytes`; 0 if it is incomplete. Returns -1 for a frame that a relay does
 * not send: masked, fragmented, with reserved bits, or larger than LOAD_MAX_FRAME. */
ptrdiff_t load__frame_read(const char *bytes, size_t size, load_frame_t *frame);

/* Writes the header of a frame with a payload of this length. Returns the size of the header. */
size_t load__frame_header(uint8_t opcode, size_t length, char header[LOAD_MAX_HEADER]);
/* Masks the payload behind such a header. */
void load__frame_mask(char *payload, size_t length);

#endif
