// SPDX-License-Identifier: Apache-2.0
/* Tables of valid and invalid JSON values. Each is parsed as a member, inside `body` and in an array. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relay_json.h"
#include "test.h"

static const char *const values[] = {
    "0",
    "-0",
    "7",
    "-12",
    "0.5",
    "-0.0",
    "1e2",
    "1E+2",
    "1e-2",
    "0e0",
    "12.340E05",
    "1e9999",
    "-1e-9999",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827021181583404541015625",
    "[1e9999,\"1e9999 \\\" 1e9999\",-1e9999 ]",
    "null",
    "true",
    "false",
    "\"\"",
    "\" \"",
    "\"a\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0041\\u00e9\\u20AC\"",
    "\"\\ud834\\udd1e\"",
    "\"\\uDBFF\\uDFFF\"",
    "\"\\u0000\"",
    "\"\\u0080\"",
    "\"\\uFFFF\"",
    "\"/\"",
    "\"\x7f\"",
    "\"\xc2\x80\"",
    "\"\xdf\xbf\"",
    "\"\xe0\xa0\x80\"",
    "\"\xed\x9f\xbf\"",
    "\"\xee\x80\x80\"",
    "\"\xef\xbf\xbf\"",
    "\"\xef\xbb\xbf\"",
    "\"\xf0\x90\x80\x80\"",
    "\"\xf4\x8f\xbf\xbf\"",
    "\"\xe2\x80\xa8\"",
    "[]",
    "[ ]",
    "{}",
    "{ }",
    "[1,[2,[3]],{}]",
    "{\"a\":{\"b\":[]}}",
    "{\"\":0}",
    "{\"a\" : 1 , \"b\":2}",
    "[\t1\n,\r2 ]",
    "[\"[\",\"]\",\"{\",\"}\",\",\",\":\"]",
};

static const char *const not_values[] = {
    /* literals */
    "",
    "nul",
    "nulL",
    "nulll",
    "True",
    "FALSE",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "n",
    "truth",
    /* numbers */
    "00",
    "01",
    "-01",
    "+1",
    "-",
    ".5",
    "-.5",
    "1.",
    "1.e2",
    "1e",
    "1e+",
    "1E-",
    "0x10",
    "1_000",
    "1,000",
    "--1",
    "--1e9999",
    "1e9999e5",
    "01e9999",
    "1e9999a",
    "1e9999.5",
    "1e9999 1e",
    "1e5e9999",
    "1.2.3",
    "1e2.5",
    "1 2",
    "1a",
    "-a",
    "0e",
    "\xef\xbc\x91",
    /* strings */
    "\"",
    "\"a",
    "'a'",
    "\"\\\"",
    "\"\\x41\"",
    "\"\\u\"",
    "\"\\u00\"",
    "\"\\u00g0\"",
    "\"\\U0041\"",
    "\"\\0\"",
    "\"\\ \"",
    "\"\\'\"",
    "\"\t\"",
    "\"\n\"",
    "\"\x01\"",
    "\"\x1f\"",
    "\"a\"b\"",
    "\"a\"\"b\"",
    "a",
    /* UTF-8: alone, overlong, surrogates, too large, truncated */
    "\"\x80\"",
    "\"\xbf\"",
    "\"\xfe\"",
    "\"\xff\"",
    "\"\xc0\xaf\"",
    "\"\xc1\xbf\"",
    "\"\xe0\x80\xaf\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xf0\x80\x80\xaf\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xed\xa0\x80\"",
    "\"\xed\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\"\xf8\x88\x80\x80\x80\"",
    "\"\xc2\"",
    "\"\xe2\x82\"",
    "\"\xf0\x9d\x84\"",
    "\"\xc2\x41\"",
    "\"\xe2\x82\x41\"",
    "\"\xe2\x28\xa1\"",
    "\"\xf0\x28\x8c\xbc\"",
    "\xc3\xa9",
    /* arrays and objects */
    "[",
    "]",
    "[1",
    "[1,]",
    "[,1]",
    "[,]",
    "[1,,2]",
    "[1 2]",
    "[1}",
    "[}",
    "(1)",
    "{",
    "}",
    "{]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,\"a\":1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{\"a\":1:2}",
    "{\"a\"=1}",
    "{\"a\":1;\"b\":2}",
    "{\"a\":1]",
    "{\"a\":1/**/}",
    "{\xe2\x80\x9c"
    "a\xe2\x80\x9d:1}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{null:1}",
    "{[]:1}",
    "{\"a\":1",
    "[[]",
    "[]]",
    "{}}",
    /* text that some parsers accept as JSON */
    "/* */1",
    "1//",
    "[1]#",
    "\"a\"+\"b\"",
    "\xc2\xa0"
    "1",
    "\x0b"
    "1",
    "\x0c"
    "1",
    "\xef\xbb\xbf"
    "1",
};

static relay_json_status_t parse(const char *format, const char *value) {
  char *text = NULL;
  const int size = asprintf(&text, format, value);
  /* An exact copy, so that the sanitizer sees a read past the end. */
  char *exact = malloc((size_t)size);
  memcpy(exact, text, (size_t)size);
  relay_json_parser_t *parser = relay_json_parser_create();
  relay_json_t json;
  size_t offset = 0;
  const relay_json_status_t status = relay_json_parse(parser, exact, (size_t)size, 128, &json, &offset);
  if (offset > (size_t)size) printf("the offset %zu is behind the end of %s\n", offset, text);
  EXPECT(offset <= (size_t)size);
  relay_json_parser_destroy(parser);
  free(exact);
  free(text);
  return status;
}

static const char *const templates[] = {"{\"a\":%s}",       "{\"body\":%s}",   "{ \"body\" :\n%s ,\"b\":0}",
                                        "{\"a\":[0,%s,0]}", "{\"body\":[%s]}", "{\"body\":{\"x\":%s}}"};

TEST(values_are_accepted,
     "json: the parser accepts values that RFC 8259 allows, inside and outside of body") {
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    for (size_t j = 0; j < sizeof templates / sizeof *templates; j++)
      if (!EXPECT_INTEGER(parse(templates[j], values[i]), RELAY_JSON_OK))
        printf("  value %s in %s\n", values[i], templates[j]);
}

TEST(others_are_refused,
     "json: the parser rejects values that RFC 8259 forbids, inside and outside of body") {
  for (size_t i = 0; i < sizeof not_values / sizeof *not_values; i++)
    for (size_t j = 0; j < sizeof templates / sizeof *templates; j++) {
      if (!*not_values[i] && templates[j][strlen(templates[j]) - 2] == ']')
        continue; /* a valid empty array */
      if (!strcmp(not_values[i], "1,000") || !strcmp(not_values[i], "1 2") || !*not_values[i]) {
        if (strchr(templates[j], '[')) continue; /* two valid items */
      }
      if (!EXPECT_INTEGER(parse(templates[j], not_values[i]), RELAY_JSON_SYNTAX))
        printf("  value %s in %s\n", not_values[i], templates[j]);
    }
}

TEST(keys_are_checked, "json: the parser checks keys as it checks strings") {
  for (size_t i = 0; i < sizeof not_values / sizeof *not_values; i++) {
    if (not_values[i][0] != '"') continue;
    if (!EXPECT_INTEGER(parse("{%s:1}", not_values[i]), RELAY_JSON_SYNTAX))
      printf("  key %s\n", not_values[i]);
    if (!EXPECT_INTEGER(parse("{\"body\":{%s:1}}", not_values[i]), RELAY_JSON_SYNTAX))
      printf("  key %s in body\n", not_values[i]);
  }
}

TEST(only_objects, "json: the outermost value must be a single object") {
  static const char *const not_objects[] = {"0",  "null", "true", "false", "\"a\"",
                                            "[]", "[{}]", " 1 ",  "[1,2]"};
  for (size_t i = 0; i < sizeof not_objects / sizeof *not_objects; i++)
    if (!EXPECT_INTEGER(parse("%s", not_objects[i]), RELAY_JSON_NOT_OBJECT)) printf("  %s\n", not_objects[i]);
  static const char *const broken[] = {
      "",     " ",          "{}{}",      "{} {}",    "{}x",        "{},",    "{}]",   "\xef\xbb\xbf{}",
      "x{}",  "{}\xc2\xa0", "{",         "{\"a\":1", "\xff\xfe{}", "//\n{}", "\n",    "}",
      "{} x", "nul",        "undefined", "# {}",     "\xc2\xa0{}", "\x0b{}", "\x0c{}"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
    if (!EXPECT_INTEGER(parse("%s", broken[i]), RELAY_JSON_SYNTAX)) printf("  %s\n", broken[i]);
  EXPECT_INTEGER(parse("%s", " \t\r\n{ } \t\r\n"), RELAY_JSON_OK);
}

static void refuses_with_nul(const char *bytes, size_t size) {
  relay_json_parser_t *parser = relay_json_parser_create();
  relay_json_t json;
  if (!EXPECT_INTEGER(relay_json_parse(parser, bytes, size, 128, &json, NULL), RELAY_JSON_SYNTAX))
    printf("  %.*s\n", (int)size, bytes);
  relay_json_parser_destroy(parser);
}

TEST(nul_bytes, "json: the parser rejects a NUL byte at each position") {
#define REFUSES(bytes) refuses_with_nul(bytes, sizeof bytes - 1)
  REFUSES("\0{}");
  REFUSES("{}\0");
  REFUSES("{} \0 ");
  REFUSES("{\0}");
  REFUSES("{\"a\0\":1}");
  REFUSES("{\"a\"\0:1}");
  REFUSES("{\"a\":\0"
          "1}");
  REFUSES("{\"a\":1\0}");
  REFUSES("{\"a\":\"\0\"}");
  REFUSES("{\"body\":\"\0\"}");
  REFUSES("{\"body\":[1\0]}");
  REFUSES("{\"body\":1\0}");
  REFUSES("{}\0{}");
}

/* Parses a number of 4 MiB. A parser that reads it again from each of its digits would need hours. */
static void reads_once(const char *begin, const char *end) {
  enum { DIGITS = 1 << 22 };
  const size_t first = strlen(begin), last = strlen(end), size = first + DIGITS + last;
  char *text = malloc(size);
  memcpy(text, begin, first);
  memset(text + first, '1', DIGITS);
  memcpy(text + first + DIGITS, end, last);
  relay_json_parser_t *parser = relay_json_parser_create();
  relay_json_t json;
  if (!EXPECT_INTEGER(relay_json_parse(parser, text, size, 128, &json, NULL), RELAY_JSON_SYNTAX))
    printf("  %s1111%s\n", begin, end);
  relay_json_parser_destroy(parser);
  free(text);
}

TEST(cost_of_digits, "json: the parser reads digits that form no number only once") {
  reads_once("{\"a\":1e999,\"b\":", ".}");
  reads_once("{\"a\":1e999,\"b\":", "e}");
  reads_once("{\"a\":1e999,\"b\":-", ".e1}");
  reads_once("{\"a\":\"\\ud83d\",\"b\":", "e-}");
}
