// SPDX-License-Identifier: Apache-2.0
/* The result of a parse: slices, decoded text, keys, bounds and copies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relay_json.h"
#include "test.h"

static relay_json_parser_t *parser;
static relay_json_t json;
static size_t offset;

static relay_json_status_t parse(const char *text, uint32_t max_depth) {
  if (!parser) parser = relay_json_parser_create();
  return relay_json_parse(parser, text, strlen(text), max_depth, &json, &offset);
}

__attribute__((destructor)) static void destroy(void) {
  if (parser) relay_json_parser_destroy(parser);
}

static void expect_source(const relay_json_t *of, const char *key, const char *expected) {
  const relay_json_node_t *node = relay_json_member(of, key);
  if (EXPECT(node != NULL))
    EXPECT_BYTES(of->source + node->start, node->end - node->start, expected);
  else
    printf("  no member %s\n", key);
}

static void expect_text(const relay_json_t *of, const char *key, const char *expected) {
  const relay_json_node_t *node = relay_json_member(of, key);
  if (EXPECT(node != NULL)) EXPECT_BYTES(of->text + node->text, node->length, expected);
}

TEST(slices, "json: members are slices of the source, byte for byte") {
  EXPECT_INTEGER(parse("{\"a\":1.0,\"b\" :\t1e2 , \"c\": \"\\u00e9/\" ,\"d\":{ \"x\" : [ ] } ,\"e\":[1, 2]\n,"
                       "\"body\": {\"z\":0.10,\"z\":\"\\/\"} ,\"f\":null,\"g\":true}",
                       128),
                 RELAY_JSON_OK);
  expect_source(&json, "a", "1.0");
  expect_source(&json, "b", "1e2");
  expect_source(&json, "c", "\"\\u00e9/\"");
  expect_source(&json, "d", "{ \"x\" : [ ] }");
  expect_source(&json, "e", "[1, 2]");
  expect_source(&json, "body", "{\"z\":0.10,\"z\":\"\\/\"}");
  expect_source(&json, "f", "null");
  expect_source(&json, "g", "true");
  expect_text(&json, "a", "1.0");
  expect_text(&json, "c", "\xc3\xa9/");
}

TEST(beyond_doubles, "json: numbers beyond a double are numbers, and keep their spelling") {
  EXPECT_INTEGER(
      parse("{\"a\":-12.5e4000, \"s\":\"1e4000 \\\" 1e4000\",\"body\":[1e4000 ,{\"x\":2}],\"b\":7.10e5}",
            128),
      RELAY_JSON_OK);
  expect_text(&json, "a", "-12.5e4000");
  expect_source(&json, "a", "-12.5e4000");
  expect_text(&json, "s", "1e4000 \" 1e4000");
  expect_source(&json, "body", "[1e4000 ,{\"x\":2}]");
  expect_text(&json, "b", "7.10e5");
}

TEST(bodies, "json: a body of each kind is raw, and keeps its spelling") {
  static const char *const bodies[] = {"0",
                                       "-1.50E+01",
                                       "\"\\ud834\\udd1e \\/\"",
                                       "true",
                                       "null",
                                       "[]",
                                       "{}",
                                       "[[[1 ,2]] ]",
                                       "{\"body\":{\"body\":1}}",
                                       "{\"type\":\"x\",\"type\":\"x\"}",
                                       "123456789012345678901234567890.123456789012345678901234567890"};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[256];
    snprintf(text, sizeof text, "{\"type\":\"send\", \"body\" : %s ,\"id\":7}", bodies[i]);
    EXPECT_INTEGER(parse(text, 128), RELAY_JSON_OK);
    expect_source(&json, "body", bodies[i]);
    expect_source(&json, "id", "7");
    const relay_json_node_t *body = relay_json_member(&json, "body");
    if (EXPECT(body != NULL)) EXPECT_INTEGER(body->kind, RELAY_JSON_RAW);
    EXPECT_INTEGER(json.count, 4);
  }
}

TEST(inner_body, "json: only the outermost member `body` is raw") {
  EXPECT_INTEGER(parse("{\"a\":{\"body\":[1]},\"b\":[{\"body\":2}]}", 128), RELAY_JSON_OK);
  EXPECT_INTEGER(json.nodes[2].kind, RELAY_JSON_ARRAY);
  EXPECT_INTEGER(parse("{\"b\\u006fdy\":[1]}", 128), RELAY_JSON_OK);
  EXPECT_INTEGER(json.nodes[1].kind, RELAY_JSON_RAW);
}

TEST(escaped_keys, "json: the parser compares decoded keys") {
  EXPECT_INTEGER(parse("{\"ty\\u0070e\":\"a\\nb\",\"\\u00e9\":1}", 128), RELAY_JSON_OK);
  expect_text(&json, "type", "a\nb");
  expect_source(&json, "\xc3\xa9", "1");
  EXPECT(relay_json_member(&json, "ty") == NULL);
  EXPECT_INTEGER(parse("{\"type\":1,\"t\\u0079pe\":2}", 128), RELAY_JSON_TWICE);
}

TEST(keys_twice, "json: the parser rejects duplicate keys at each level, but not in body") {
  static const char *const twice[] = {
      "{\"a\":1,\"a\":1}",         "{\"a\":1,\"b\":2,\"a\":3}",
      "{\"x\":{\"a\":1,\"a\":2}}", "{\"x\":[0,{\"a\":{},\"a\":[]}]}",
      "{\"body\":1,\"body\":1}",   "{\"\":1,\"\":2}",
      "{\"a\":{\"b\":1},\"a\":2}", "{\"x\":[{\"a\":{\"q\":1}},{\"q\":1,\"q\":2}]}"};
  for (size_t i = 0; i < sizeof twice / sizeof *twice; i++)
    if (!EXPECT_INTEGER(parse(twice[i], 128), RELAY_JSON_TWICE)) printf("  %s\n", twice[i]);
  static const char *const once[] = {"{\"a\":{\"a\":{\"a\":1}}}", "{\"x\":[{\"a\":1},{\"a\":1}]}",
                                     "{\"body\":{\"a\":1,\"a\":1},\"a\":2}", "{\"a\":1,\"A\":2}",
                                     "{\"x\":{\"a\":1},\"y\":{\"a\":1},\"a\":1}"};
  for (size_t i = 0; i < sizeof once / sizeof *once; i++)
    if (!EXPECT_INTEGER(parse(once[i], 128), RELAY_JSON_OK)) printf("  %s\n", once[i]);
}

TEST(read_around_twice, "json: the members around a duplicate key can be read") {
  EXPECT_INTEGER(parse("{\"id\":\"x\",\"type\":\"send\",\"a\":{\"b\":[{\"c\":1,\"c\":2}]},\"z\":1}", 128),
                 RELAY_JSON_TWICE);
  EXPECT_INTEGER(offset, strlen("{\"id\":\"x\",\"type\":\"send\",\"a\":{\"b\":[{\"c\":1,\"c\""));
  expect_source(&json, "id", "\"x\"");
  expect_text(&json, "type", "send");
  expect_text(&json, "z", "1");
}

/* Returns {"KEY":[[...]]} with this number of levels. */
static char *nested(int levels, const char *key) {
  char *text = malloc((size_t)levels * 2 + 32);
  int at = sprintf(text, "{\"%s\":", key);
  memset(text + at, '[', (size_t)levels - 1);
  memset(text + at + levels - 1, ']', (size_t)levels - 1);
  strcpy(text + at + 2 * (levels - 1), "}");
  return text;
}

TEST(depth, "json: the depth is bounded, inside and outside of body") {
  static const char *const keys[] = {"a", "body"};
  for (int i = 0; i < 2; i++)
    for (int max_depth = 2; max_depth <= 128; max_depth += 42) {
      char *fits = nested(max_depth, keys[i]), *too_deep = nested(max_depth + 1, keys[i]);
      EXPECT_INTEGER(parse(fits, (uint32_t)max_depth), RELAY_JSON_OK);
      EXPECT_INTEGER(parse(too_deep, (uint32_t)max_depth), RELAY_JSON_TOO_DEEP);
      free(fits);
      free(too_deep);
    }
  char *abyss = nested(1000000, "body");
  EXPECT_INTEGER(parse(abyss, 128), RELAY_JSON_TOO_DEEP);
  EXPECT_INTEGER(parse(abyss, 1000000), RELAY_JSON_OK);
  free(abyss);
  EXPECT_INTEGER(parse("{\"a\":1}", 1), RELAY_JSON_OK);
  EXPECT_INTEGER(parse("{\"a\":{}}", 1), RELAY_JSON_TOO_DEEP);
  EXPECT_INTEGER(parse("{\"a\":[],\"b\":[],\"c\":{\"d\":1}}", 2), RELAY_JSON_OK);
}

/* Parses an object with this number of keys, between a prefix and a suffix. */
static relay_json_status_t parse_keys(const char *prefix, int keys, const char *suffix) {
  char *text = malloc(64 + (size_t)keys * 16);
  int at = sprintf(text, "%s", prefix);
  for (int i = 0; i < keys; i++) at += sprintf(text + at, "%s\"k%d\":%d", i ? "," : "", i, i);
  sprintf(text + at, "%s", suffix);
  const relay_json_status_t status = parse(text, 128);
  if (status == RELAY_JSON_OK && *prefix == '{' && prefix[1] == 0) {
    char last[16];
    snprintf(last, sizeof last, "k%d", keys - 1);
    expect_source(&json, last, last + 1);
  }
  free(text);
  return status;
}

TEST(many_keys, "json: an object may have at most 1,024 keys") {
  EXPECT_INTEGER(parse_keys("{", 1024, "}"), RELAY_JSON_OK);
  EXPECT_INTEGER(parse_keys("{", 1025, "}"), RELAY_JSON_TOO_MANY);
  EXPECT_INTEGER(parse_keys("{\"a\":[{", 1024, "}]}"), RELAY_JSON_OK);
  EXPECT_INTEGER(parse_keys("{\"a\":[{", 1025, "}]}"), RELAY_JSON_TOO_MANY);
  EXPECT_INTEGER(parse_keys("{\"body\":{", 5000, "}}"), RELAY_JSON_OK);
}

TEST(big, "json: large inputs, long numbers and long strings keep each byte") {
  const size_t size = 4 << 20;
  char *text = malloc(size + 64), *value = malloc(size + 1);
  memset(value, '7', size);
  value[size] = 0;
  sprintf(text, "{\"n\":%s,\"body\":1}", value);
  EXPECT_INTEGER(parse(text, 128), RELAY_JSON_OK);
  expect_source(&json, "n", value);
  expect_text(&json, "n", value);
  sprintf(text, "{\"body\":\"%s\",\"m\":0}", value);
  EXPECT_INTEGER(parse(text, 128), RELAY_JSON_OK);
  EXPECT_INTEGER(relay_json_member(&json, "body")->end - relay_json_member(&json, "body")->start, size + 2);
  expect_source(&json, "m", "0");
  free(text);
  free(value);
}

TEST(copies, "json: a copy is independent of the source and the parser") {
  char *source = strdup("{\"type\":\"send\",\"list\":[\"\\u00e9\",{\"k\":1.50}],\"body\":[ 1 ]}");
  EXPECT_INTEGER(parse(source, 128), RELAY_JSON_OK);
  relay_json_t *copy = relay_json_copy(&json);
  memset(source, 'x', strlen(source));
  EXPECT_INTEGER(parse("{\"other\":\"text that is longer than what was there before\"}", 128), RELAY_JSON_OK);
  free(source);
  EXPECT_INTEGER(copy->count, 7);
  expect_text(copy, "type", "send");
  expect_source(copy, "body", "[ 1 ]");
  expect_source(copy, "list", "[\"\\u00e9\",{\"k\":1.50}]");
  const relay_json_node_t *item = &copy->nodes[3], *number = &copy->nodes[5];
  EXPECT_BYTES(copy->text + item->text, item->length, "\xc3\xa9");
  EXPECT_BYTES(copy->text + number->key, number->key_length, "k");
  EXPECT_BYTES(copy->text + number->text, number->length, "1.50");
  EXPECT_INTEGER(copy->nodes[2].next, 6);
  free(copy);
  EXPECT_INTEGER(parse("{}", 128), RELAY_JSON_OK);
  copy = relay_json_copy(&json);
  EXPECT(relay_json_member(copy, "type") == NULL);
  free(copy);
}
