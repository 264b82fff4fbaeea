// SPDX-License-Identifier: Apache-2.0
/* Parses any bytes as the head of a request and the body behind it. Bytes in pieces must have the same result
 * as the same bytes at once, and each text must point into the memory of the head. The first byte of the
 * input selects the size of the pieces. */
#include "head.h"

#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "fuzz.h"

enum { MAX_BODY = 4096 };

typedef struct reading {
  relay__head_t head;
  relay__head_result_t result;
  relay__chunks_t chunks;
  relay__chunks_result_t body_result;
  relay__text_t body;
} reading_t;

/* Copies each piece, so that the sanitizer sees a read past its end. */
static void read_piece(reading_t *reading, const uint8_t *at, size_t size) {
  char *piece = malloc(size ? size : 1);
  memcpy(piece, at, size);
  size_t used = 0, more = 0;
  if (reading->result == RELAY__HEAD_MORE) {
    reading->result = relay__head_read(&reading->head, piece, size, &used);
    MUST(used <= size);
  }
  if (reading->result == RELAY__HEAD_WHOLE && reading->head.is_chunked && used < size &&
      reading->body_result == RELAY__CHUNKS_MORE) {
    reading->body_result =
        relay__chunks_read(&reading->chunks, piece + used, size - used, &more, &reading->body, MAX_BODY);
    MUST(more <= size - used && reading->body.size <= MAX_BODY);
  }
  free(piece);
}

static bool is_over(const reading_t *reading) {
  return reading->result == RELAY__HEAD_REFUSED || reading->body_result != RELAY__CHUNKS_MORE;
}

static void read_in_pieces(reading_t *reading, const uint8_t *at, size_t size, size_t step) {
  memset(reading, 0, sizeof *reading);
  relay__head_begin(&reading->head);
  for (size_t i = 0; i < size && !is_over(reading); i += step)
    read_piece(reading, at + i, size - i < step ? size - i : step);
}

static void check_text(const relay__head_t *head, relay_bytes_t text) {
  if (!text.at) return;
  const char *at = text.at;
  MUST(!memchr(at, 0, text.count));
  if (text.count == 1 && (*at == '/' || *at == '*')) return; /* the path of a URL without a path */
  MUST(at >= head->text.at && at + text.count < head->text.at + head->text.size);
}

static void check(const relay__head_t *head) {
  MUST(head->field_count <= RELAY__HEAD_FIELDS && head->read <= RELAY__HEAD_SIZE);
  MUST(head->length >= 0 && !(head->is_chunked && head->length));
  check_text(head, head->path);
  check_text(head, head->query);
  check_text(head, head->host);
  MUST(head->path.count && (*(const char *)head->path.at == '/' || *(const char *)head->path.at == '*'));
  for (uint32_t i = 0; i < head->field_count; i++) {
    check_text(head, head->fields[i].name);
    check_text(head, head->fields[i].value);
    MUST(!strpbrk(head->fields[i].value.at, "\r\n") && !strpbrk(head->fields[i].name.at, "\r\n: "));
  }
}

static void expect_same_text(relay_bytes_t one, relay_bytes_t other) {
  MUST(!one.at == !other.at && one.count == other.count);
  MUST(!one.count || !memcmp(one.at, other.at, one.count));
}

static void expect_same(const reading_t *one, const reading_t *other) {
  MUST(one->result == other->result && one->body_result == other->body_result);
  MUST(one->head.refusal.status == other->head.refusal.status);
  if (one->result != RELAY__HEAD_WHOLE) return;
  expect_same_text(one->head.path, other->head.path);
  expect_same_text(one->head.query, other->head.query);
  expect_same_text(one->head.host, other->head.host);
  MUST(one->head.field_count == other->head.field_count && one->head.length == other->head.length);
  MUST(one->head.is_chunked == other->head.is_chunked && one->head.upgrades == other->head.upgrades);
  for (uint32_t i = 0; i < one->head.field_count; i++) {
    expect_same_text(one->head.fields[i].name, other->head.fields[i].name);
    expect_same_text(one->head.fields[i].value, other->head.fields[i].value);
  }
  if (one->body_result == RELAY__CHUNKS_WHOLE)
    expect_same_text((relay_bytes_t){one->body.at, one->body.size},
                     (relay_bytes_t){other->body.at, other->body.size});
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
  if (!size) return -1;
  reading_t whole, pieces;
  read_in_pieces(&whole, at + 1, size - 1, size);
  if (whole.result == RELAY__HEAD_WHOLE) check(&whole.head);
  read_in_pieces(&pieces, at + 1, size - 1, 1 + at[0] % 64);
  expect_same(&whole, &pieces);
  relay__head_end(&whole.head);
  relay__head_end(&pieces.head);
  free(whole.body.at);
  free(pieces.body.at);
  return 0;
}
