// SPDX-License-Identifier: Apache-2.0
/* The iteration over members of JSON values. */
#include "fields.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns all members as `key=value|`. */
static const char *walked(const char *text, size_t size) {
  static char result[512];
  size_t at = 0;
  result[0] = 0;
  load_fields_t fields = load__fields((load_slice_t){text, size});
  while (load__fields_next(&fields))
    at +=
        (size_t)snprintf(result + at, sizeof result - at, "%.*s=%.*s|", (int)fields.key.length,
                         fields.key.text ? fields.key.text : "", (int)fields.value.length, fields.value.text);
  return result;
}

static const char *walk(const char *text) {
  return walked(text, strlen(text));
}

TEST(objects, "fields: the members of an object are found, with any value") {
  EXPECT_TEXT(walk("{}"), "");
  EXPECT_TEXT(walk("{\"a\":1}"), "a=1|");
  EXPECT_TEXT(walk("{\"a\":\"x\",\"b\":[1,{\"c\":2}],\"d\":null}"), "a=x|b=[1,{\"c\":2}]|d=null|");
  EXPECT_TEXT(walk(" { \"a\" : true , \"b\" : -1.5e3 } "), "a=true|b=-1.5e3|");
  EXPECT_TEXT(walk("{\"a\":\"\\\"},{\\\\\",\"b\":\"]\"}"), "a=\\\"},{\\\\|b=]|");
  EXPECT_TEXT(walk("{\"\":{\"a\":\"}\"},\"b\":2}"), "={\"a\":\"}\"}|b=2|");
}

TEST(arrays, "fields: the items of an array are found") {
  EXPECT_TEXT(walk("[]"), "");
  EXPECT_TEXT(walk("[1,\"b\",[],{\"c\":[1,2]}]"), "=1|=b|=[]|={\"c\":[1,2]}|");
}

TEST(not_json, "fields: other text has no members") {
  EXPECT_TEXT(walk(""), "");
  EXPECT_TEXT(walk("12"), "");
  EXPECT_TEXT(walk("{1:2}"), "");
  EXPECT_TEXT(walk("{\"a\"}"), "");
  EXPECT_TEXT(walk("{\"a\":}"), "");
}

TEST(cut_off, "fields: the iteration ends within a truncated text") {
  static const char text[] = "{\"type\":\"message\",\"seq\":12,\"body\":{\"a\":[\"\\\"\",{}]},\"x\":\"y\"}";
  for (size_t size = 0; size < sizeof text; size++) {
    char *exact = malloc(size + 1); /* exact, so that the sanitizer sees a read past the end */
    memcpy(exact + 1, text, size);
    walked(exact + 1, size);
    free(exact);
  }
  EXPECT_TEXT(walked(text, 24), "type=message|");
}

TEST(numbers, "fields: a whole number has its value, other text is 0") {
  EXPECT_INTEGER(load__number((load_slice_t){"9007199254740991", 16}), 9007199254740991);
  EXPECT_INTEGER(load__number((load_slice_t){"1.5", 3}), 0);
  EXPECT_INTEGER(load__number((load_slice_t){NULL, 0}), 0);
  EXPECT_INTEGER(load__number((load_slice_t){"99999999999999999999", 20}), 0);
}
