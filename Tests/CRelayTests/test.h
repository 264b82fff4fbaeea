// SPDX-License-Identifier: Apache-2.0
/* test.h -- a small test framework: tests that register themselves, and expectations that print actual
 * values.
 *
 * A failed expectation prints its position and its values, and fails the test, which continues. A test that
 * cannot continue returns. Call expectations only on the thread that runs the tests.
 */
#ifndef TEST_H
#define TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*test_body_t)(void);
void test_register(const char *name, test_body_t body);

#define TEST(identifier, name)                                                                               \
  static void identifier(void);                                                                              \
  __attribute__((constructor)) static void register_##identifier(void) {                                     \
    test_register(name, identifier);                                                                         \
  }                                                                                                          \
  static void identifier(void)

/* Each returns true if the expectation is met. */
bool test_true(const char *file, int line, const char *what, bool is_true);
bool test_integer(const char *file, int line, const char *what, int64_t actual, int64_t expected);
bool test_text(const char *file, int line, const char *what, const char *actual, const char *expected);
bool test_bytes(const char *file, int line, const char *what, const void *actual, size_t size,
                const char *expected);
bool test_contains(const char *file, int line, const char *actual, const char *part, bool expected);

#define EXPECT(condition) test_true(__FILE__, __LINE__, #condition, condition)
#define EXPECT_INTEGER(actual, expected)                                                                     \
  test_integer(__FILE__, __LINE__, #actual, (int64_t)(actual), (int64_t)(expected))
#define EXPECT_TEXT(actual, expected) test_text(__FILE__, __LINE__, #actual, actual, expected)
#define EXPECT_BYTES(actual, size, expected) test_bytes(__FILE__, __LINE__, #actual, actual, size, expected)
#define EXPECT_CONTAINS(actual, part) test_contains(__FILE__, __LINE__, actual, part, true)
#define EXPECT_LACKS(actual, part) test_contains(__FILE__, __LINE__, actual, part, false)

#endif
