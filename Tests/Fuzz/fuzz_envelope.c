// SPDX-License-Identifier: Apache-2.0
/* Parses any bytes as a frame. The parser must accept exactly the texts that RFC 8259 allows, and return
 * correct values. */
#include <string.h>

#include "fuzz.h"
#include "relay_json.h"
#include "strict.h"

enum { MAX_DEPTH = 16, MAX_SIZE = 16384 };

static relay_json_parser_t *parser, *second;

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  parser = relay_json_parser_create();
  second = relay_json_parser_create();
  return 0;
}

static void check_status(relay_json_status_t status, const strict_t *strict) {
  const bool is_too_deep = strict->depth > MAX_DEPTH;
  switch (status) {
  case RELAY_JSON_OK:
    MUST(strict->is_json && strict->is_object);
    MUST(!is_too_deep && !strict->has_twice && !strict->has_many && !strict->has_half);
    return;
  case RELAY_JSON_SURROGATE:
    MUST(strict->is_json && strict->is_object && strict->has_half);
    return;
  case RELAY_JSON_TOO_DEEP:
    MUST(strict->is_json && strict->is_object && is_too_deep);
    return;
  case RELAY_JSON_TWICE:
    MUST(strict->is_json && strict->is_object && strict->has_twice);
    return;
  case RELAY_JSON_TOO_MANY:
    MUST(strict->is_json && strict->is_object && strict->has_many);
    return;
  case RELAY_JSON_NOT_OBJECT: /* the parser does not read the rest */
    MUST(!strict->is_object);
    return;
  case RELAY_JSON_SYNTAX:
    MUST(!strict->is_json);
    return;
  }
  MUST(false);
}

static void check_text(const relay_json_t *json, uint32_t text, uint32_t length, const uint8_t *literal,
                       size_t size) {
  uint8_t *expected = malloc(size);
  MUST(strict_decode(literal, size, expected) == length);
  MUST(!length || !memcmp(json->text + text, expected, length));
  free(expected);
}

/* Checks that a slice of the frame is JSON by itself and inside another frame. */
static void check_slice(const uint8_t *at, size_t size) {
  MUST(strict_is_value(at, size));
  char *frame = malloc(size + 16);
  memcpy(frame, "{\"body\":", 8);
  memcpy(frame + 8, at, size);
  frame[8 + size] = '}';
  relay_json_t json;
  MUST(relay_json_parse(second, frame, size + 9, MAX_DEPTH, &json, NULL) == RELAY_JSON_OK);
  const relay_json_node_t *body = relay_json_member(&json, "body");
  MUST(body && body->start == 8 && body->end == 8 + size);
  free(frame);
}

/* Checks a member of the outermost object: its kind, its slice of the source, its text and its key. */
static void check_member(const relay_json_t *json, const relay_json_node_t *node) {
  MUST(node->start < node->end && node->end <= json->size);
  const uint8_t *literal = json->source + node->start;
  const size_t size = node->end - node->start;
  check_slice(literal, size);
  const bool is_body = node->key_length == 4 && !memcmp(json->text + node->key, "body", 4);
  MUST(is_body == (node->kind == RELAY_JSON_RAW));
  switch (node->kind) {
  case RELAY_JSON_STRING:
    check_text(json, node->text, node->length, literal, size);
    break;
  case RELAY_JSON_NUMBER:
    MUST(node->length == size && !memcmp(json->text + node->text, literal, size));
    break;
  case RELAY_JSON_NULL:
    MUST(size == 4 && !memcmp(literal, "null", 4));
    break;
  case RELAY_JSON_TRUE:
    MUST(size == 4 && !memcmp(literal, "true", 4));
    break;
  case RELAY_JSON_FALSE:
    MUST(size == 5 && !memcmp(literal, "false", 5));
    break;
  case RELAY_JSON_ARRAY:
    MUST(literal[0] == '[');
    break;
  case RELAY_JSON_OBJECT:
    MUST(literal[0] == '{');
    break;
  case RELAY_JSON_RAW:
    break;
  }
  /* Keys are unique, so the key finds this member. */
  char *key = strndup(json->text + node->key, node->key_length);
  if (strlen(key) == node->key_length) MUST(relay_json_member(json, key) == node);
  free(key);
}

/* Checks that the children of each value follow it, and end before `next`. */
static uint32_t check_tree(const relay_json_t *json, uint32_t at, uint32_t end, uint32_t depth) {
  MUST(at < end && end <= json->count && depth <= MAX_DEPTH);
  const relay_json_node_t *node = &json->nodes[at];
  MUST(node->next > at && node->next <= end);
  const bool has_children = node->kind == RELAY_JSON_ARRAY || node->kind == RELAY_JSON_OBJECT;
  MUST(has_children || node->next == at + 1);
  for (uint32_t child = at + 1; child < node->next;) {
    if (depth == 0) check_member(json, &json->nodes[child]);
    child = check_tree(json, child, node->next, depth + 1);
  }
  return node->next;
}

static void check_copy(const relay_json_t *json) {
  relay_json_t *copy = relay_json_copy(json);
  MUST(copy->size == json->size && !memcmp(copy->source, json->source, json->size));
  MUST(copy->count == json->count);
  for (uint32_t i = 0; i < json->count; i++) {
    const relay_json_node_t *one = &json->nodes[i], *other = &copy->nodes[i];
    MUST(!memcmp(one, other, sizeof *one));
    MUST(!one->key_length || !memcmp(json->text + one->key, copy->text + other->key, one->key_length));
    MUST(!one->length || !memcmp(json->text + one->text, copy->text + other->text, one->length));
  }
  free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
  if (size > MAX_SIZE) return -1;
  relay_json_t json;
  size_t offset = 0;
  const relay_json_status_t status = relay_json_parse(parser, at, size, MAX_DEPTH, &json, &offset);
  const strict_t strict = strict_read(at, size);
  check_status(status, &strict);
  MUST(offset <= size);
  if (status == RELAY_JSON_SYNTAX || status == RELAY_JSON_NOT_OBJECT) return 0;
  check_copy(&json);
  if (status == RELAY_JSON_OK) MUST(check_tree(&json, 0, json.count, 0) == json.count);
  return 0;
}
