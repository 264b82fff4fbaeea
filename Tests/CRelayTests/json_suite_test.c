// SPDX-License-Identifier: Apache-2.0
/* The cases of JSONTestSuite as whole frames, as a member, and inside `body`. */
#include "json_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relay_json.h"
#include "test.h"

/* True for JSON. Numbers of any length are accepted; text that is not UTF-8 is rejected. */
static bool is_taken(const json_case_t *one) {
  return one->name[0] == 'y' || !strncmp(one->name, "i_number_", strlen("i_number_"));
}

/* True for a text with half of a surrogate pair: JSON by the grammar, but an error with its own status. */
static bool has_half(const json_case_t *one) {
  static const char *const names[] = {
      "i_object_key_lone_2nd_surrogate",          "i_string_1st_surrogate_but_2nd_missing",
      "i_string_1st_valid_surrogate_2nd_invalid", "i_string_incomplete_surrogate_and_escape_valid",
      "i_string_incomplete_surrogate_pair",       "i_string_incomplete_surrogates_escape_valid",
      "i_string_invalid_lonely_surrogate",        "i_string_invalid_surrogate",
      "i_string_inverted_surrogates_U+1D11E",     "i_string_lone_second_surrogate",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(one->name, names[i])) return true;
  return false;
}

/* True for a text with a duplicate key: RFC 8259 permits it, and the protocol does not. */
static bool has_key_twice(const json_case_t *one) {
  return !strncmp(one->name, "y_object_duplicated_key", strlen("y_object_duplicated_key"));
}

typedef struct frame {
  char *bytes;
  size_t size, begin, end; /* begin and end of the case in the frame */
} frame_t;

static frame_t frame_of(const char *before, const json_case_t *one, const char *behind) {
  const size_t size = one->size * one->times;
  frame_t frame = {.begin = strlen(before)};
  frame.end = frame.begin + size;
  frame.size = frame.end + strlen(behind);
  frame.bytes = malloc(frame.size + !frame.size); /* exact, so that the sanitizer sees a read past the end */
  memcpy(frame.bytes, before, frame.begin);
  for (size_t i = 0; i < one->times; i++)
    memcpy(frame.bytes + frame.begin + i * one->size, one->bytes, one->size);
  memcpy(frame.bytes + frame.end, behind, strlen(behind));
  return frame;
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Parses a frame with the case. Sets `body` to true if the member `body` is the case without the space around
 * it. */
static relay_json_status_t parse(const char *before, const json_case_t *one, const char *behind, bool *body) {
  frame_t frame = frame_of(before, one, behind);
  relay_json_parser_t *parser = relay_json_parser_create();
  relay_json_t json;
  const relay_json_status_t status = relay_json_parse(parser, frame.bytes, frame.size, 128, &json, NULL);
  const relay_json_node_t *node = status == RELAY_JSON_OK ? relay_json_member(&json, "body") : NULL;
  while (frame.begin < frame.end && is_space(frame.bytes[frame.begin])) frame.begin++;
  while (frame.begin < frame.end && is_space(frame.bytes[frame.end - 1])) frame.end--;
  *body = node && node->start == frame.begin && node->end == frame.end;
  relay_json_parser_destroy(parser);
  free(frame.bytes);
  return status;
}

TEST(suite_in_members, "json suite: the parser accepts JSON as a member, and rejects other text") {
  bool body;
  for (size_t i = 0; i < json_suite_count; i++) {
    const json_case_t *one = &json_suite[i];
    const relay_json_status_t expected = has_half(one)        ? RELAY_JSON_SURROGATE
                                         : !is_taken(one)     ? RELAY_JSON_SYNTAX
                                         : has_key_twice(one) ? RELAY_JSON_TWICE
                                                              : RELAY_JSON_OK;
    if (!EXPECT_INTEGER(parse("{\"a\":", one, "}", &body), expected)) printf("  %s\n", one->name);
    if (!EXPECT_INTEGER(parse("{\"a\":[0,", one, "],\"b\":0}", &body), expected)) printf("  %s\n", one->name);
  }
}

TEST(suite_in_bodies, "json suite: the parser accepts JSON in body, byte for byte, and rejects other text") {
  bool body, part;
  for (size_t i = 0; i < json_suite_count; i++) {
    const json_case_t *one = &json_suite[i];
    const relay_json_status_t expected = has_half(one)   ? RELAY_JSON_SURROGATE
                                         : is_taken(one) ? RELAY_JSON_OK
                                                         : RELAY_JSON_SYNTAX;
    if (!EXPECT_INTEGER(parse("{\"body\":", one, "}", &body), expected)) printf("  %s\n", one->name);
    if (!EXPECT(body == is_taken(one))) printf("  %s\n", one->name);
    if (!EXPECT_INTEGER(parse("{\"body\":[{\"x\":", one, "}]}", &part), expected))
      printf("  %s\n", one->name);
  }
}

TEST(suite_as_frames,
     "json suite: the parser accepts an object as a frame, and rejects other values and other text") {
  bool body;
  for (size_t i = 0; i < json_suite_count; i++) {
    const json_case_t *one = &json_suite[i];
    const relay_json_status_t status = parse("", one, "", &body);
    const bool is_object = one->bytes[strspn(one->bytes, " \t\r\n")] == '{';
    const bool is_right = has_half(one) ? status == (is_object ? RELAY_JSON_SURROGATE : RELAY_JSON_NOT_OBJECT)
                          : !is_taken(one) ? status == RELAY_JSON_SYNTAX || status == RELAY_JSON_NOT_OBJECT
                          : has_key_twice(one) ? status == RELAY_JSON_TWICE
                          : is_object          ? status == RELAY_JSON_OK
                                               : status == RELAY_JSON_NOT_OBJECT;
    if (!EXPECT(is_right)) printf("  %s: %d\n", one->name, status);
  }
}
