// SPDX-License-Identifier: Apache-2.0
/* frames.h -- WebSocket frames (RFC 6455, section 5.2): read where they lie, written masked. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_TEXT = 1, LOAD_CLOSE = 8, LOAD_PING = 9, LOAD_PONG = 10 };
enum { LOAD_LONGEST_FRAME = 16 << 20, LOAD_LONGEST_HEADER = 14 };

typedef struct {
  uint8_t opcode;
  const char *payload;
  size_t length;
} load_frame_t;

/* The bytes that the frame at the beginning takes, 0 when it is not whole yet, -1 when a server does
 * not send such: masked, in fragments, with reserved bits, or over LOAD_LONGEST_FRAME. */
ptrdiff_t load__frame_read(const char *bytes, size_t size, load_frame_t *frame);

/* Writes the header for a payload of that length and returns its size. */
size_t load__frame_header(uint8_t opcode, size_t length, char header[LOAD_LONGEST_HEADER]);
/* Masks what follows such a header. */
void load__frame_mask(char *payload, size_t length);

#endif
