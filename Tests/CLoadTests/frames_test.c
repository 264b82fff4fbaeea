// SPDX-License-Identifier: Apache-2.0
/* Reading and writing of WebSocket frames. */
#include "frames.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const size_t lengths[] = {0, 1, 125, 126, 127, 255, 256, 65535, 65536, 65537, 200000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Writes a frame of a server, which has no mask. Returns its size. */
static size_t write_frame(char *bytes, uint8_t opcode, size_t length) {
  char header[LOAD_MAX_HEADER];
  const size_t size = load__frame_header(opcode, length, header) - 4;
  memcpy(bytes, header, size);
  bytes[1] &= 0x7f;
  for (size_t i = 0; i < length; i++) bytes[size + i] = (char)('a' + i % 26);
  return size + length;
}

TEST(every_size, "frames: each size of header is read, and an incomplete frame is not") {
  for (int i = 0; i < LENGTHS; i++) {
    char *bytes = malloc(lengths[i] + 32);
    const size_t size = write_frame(bytes, LOAD_TEXT, lengths[i]);
    load_frame_t frame = {0};
    for (size_t part = 0; part < size; part++)
      if (!EXPECT_INTEGER(load__frame_read(bytes, part, &frame), 0)) break;
    EXPECT_INTEGER(load__frame_read(bytes, size, &frame), size);
    EXPECT_INTEGER(frame.opcode, LOAD_TEXT);
    EXPECT_INTEGER(frame.length, lengths[i]);
    EXPECT(frame.payload == bytes + size - lengths[i]);
    /* Bytes behind the frame are not part of it. */
    EXPECT_INTEGER(load__frame_read(bytes, size + 7, &frame), size);
    free(bytes);
  }
}

TEST(exact_memory, "frames: no byte behind the received bytes is read") {
  char whole[512];
  const size_t size = write_frame(whole, LOAD_TEXT, 300);
  for (size_t part = 0; part <= size; part++) {
    char *bytes = malloc(part + 1); /* exact, so that the sanitizer sees a read past the end */
    char *end = bytes + 1;
    memcpy(end, whole, part);
    load_frame_t frame;
    EXPECT_INTEGER(load__frame_read(end, part, &frame), part == size ? size : 0);
    free(bytes);
  }
}

TEST(broken, "frames: frames that a server does not send are refused") {
  load_frame_t frame;
  EXPECT_INTEGER(load__frame_read("\x81\x80mask", 6, &frame), -1);              /* masked */
  EXPECT_INTEGER(load__frame_read("\x01\x01x", 3, &frame), -1);                 /* a fragment */
  EXPECT_INTEGER(load__frame_read("\x80\x01x", 3, &frame), -1);                 /* its end */
  EXPECT_INTEGER(load__frame_read("\xc1\x01x", 3, &frame), -1);                 /* compressed */
  EXPECT_INTEGER(load__frame_read("\x81\x7f\0\0\0\0\1\0\0\1", 10, &frame), -1); /* over the limit */
  EXPECT_INTEGER(load__frame_read("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10, &frame), -1);
}

TEST(masked, "frames: written frames are masked with the key in their header") {
  for (int i = 0; i < LENGTHS; i++) {
    char header[LOAD_MAX_HEADER];
    const size_t size = load__frame_header(LOAD_TEXT, lengths[i], header);
    EXPECT_INTEGER((uint8_t)header[0], 0x81);
    EXPECT((uint8_t)header[1] & 0x80);
    char *payload = malloc(lengths[i] + 1);
    memset(payload, 'x', lengths[i]);
    load__frame_mask(payload, lengths[i]);
    size_t wrong = 0;
    for (size_t at = 0; at < lengths[i]; at++) wrong += (payload[at] ^ header[size - 4 + at % 4]) != 'x';
    EXPECT_INTEGER(wrong, 0);
    free(payload);
  }
}
