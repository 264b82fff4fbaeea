// SPDX-License-Identifier: Apache-2.0
/* Reads and writes WebSocket frames. See frames.h. */
#include "frames.h"

#include <string.h>

/* All frames have the same mask. A random mask protects proxies from scripts in browsers (RFC 6455,
 * section 10.3), which this program does not run. */
static const uint8_t mask[8] = {0x37, 0xfa, 0x21, 0x3d, 0x37, 0xfa, 0x21, 0x3d};

ptrdiff_t load__frame_read(const char *bytes, size_t size, load_frame_t *frame) {
  if (size < 2) return 0;
  const uint8_t *head = (const uint8_t *)bytes;
  const uint8_t opcode = head[0] & 0x0f;
  if ((head[0] & 0xf0) != 0x80 || !opcode || head[1] & 0x80) return -1;
  size_t header = 2;
  uint64_t length = head[1];
  if (length >= 126) {
    header = length == 126 ? 4 : 10;
    if (size < header) return 0;
    length = 0;
    for (size_t i = 2; i < header; i++) length = length << 8 | head[i];
  }
  if (length > LOAD_MAX_FRAME) return -1;
  if (size - header < length) return 0;
  *frame = (load_frame_t){opcode, bytes + header, length};
  return (ptrdiff_t)(header + length);
}

size_t load__frame_header(uint8_t opcode, size_t length, char header[LOAD_MAX_HEADER]) {
  size_t size = 0;
  header[size++] = (char)(0x80 | opcode);
  if (length < 126) {
    header[size++] = (char)(0x80 | length);
  } else {
    const int bytes = length < 65536 ? 2 : 8;
    header[size++] = (char)(0x80 | (bytes == 2 ? 126 : 127));
    for (int i = bytes - 1; i >= 0; i--) header[size++] = (char)((uint64_t)length >> (8 * i));
  }
  memcpy(header + size, mask, 4);
  return size + 4;
}

void load__frame_mask(char *payload, size_t length) {
  uint64_t eight, key;
  memcpy(&key, mask, 8);
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    memcpy(&eight, payload + i, 8);
    eight ^= key;
    memcpy(payload + i, &eight, 8);
  }
  for (; i < length; i++) payload[i] = (char)(payload[i] ^ mask[i & 7]);
}
