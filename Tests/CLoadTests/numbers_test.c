// SPDX-License-Identifier: Apache-2.0
/* The sliding window of numbers: gaps, missing numbers and duplicates. */
#include "numbers.h"
#include "test.h"

typedef struct {
  uint64_t gaps;
  int duplicates;
  load_numbers_t numbers;
} seen_t;

static seen_t seen(const uint64_t *numbers, int count) {
  seen_t seen = {.numbers = load__numbers(10)};
  for (int i = 0; i < count; i++) seen.duplicates += load__numbers_add(&seen.numbers, numbers[i], &seen.gaps);
  return seen;
}

#define SEEN(...) seen((const uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))

TEST(in_order, "numbers: numbers in order are neither missing nor duplicate") {
  const seen_t result = SEEN(11, 12, 13);
  EXPECT_INTEGER(result.gaps + load__numbers_missing(&result.numbers), 0);
  EXPECT_INTEGER(result.duplicates, 0);
}

TEST(overtaken, "numbers: a number that arrives late is not missing") {
  const seen_t result = SEEN(13, 11, 14, 12);
  EXPECT_INTEGER(result.gaps + load__numbers_missing(&result.numbers), 0);
  EXPECT_INTEGER(result.duplicates, 0);
}

TEST(twice, "numbers: a repeated number is a duplicate") {
  EXPECT_INTEGER(SEEN(11, 11).duplicates, 1);
  EXPECT_INTEGER(SEEN(11, 12, 13, 11, 10).duplicates, 2);
  EXPECT_INTEGER(SEEN(200, 11).duplicates, 1); /* more than 63 below the newest, so it cannot arrive */
}

TEST(left_out, "numbers: an absent number is missing, and a gap when it can no longer arrive") {
  seen_t result = SEEN(11, 13);
  EXPECT_INTEGER(load__numbers_missing(&result.numbers), 1);
  EXPECT_INTEGER(result.gaps, 0);
  for (uint64_t number = 14; number <= 75; number++) load__numbers_add(&result.numbers, number, &result.gaps);
  EXPECT_INTEGER(result.gaps, 0);
  load__numbers_add(&result.numbers, 76, &result.gaps);
  EXPECT_INTEGER(result.gaps, 1);
  EXPECT_INTEGER(load__numbers_missing(&result.numbers), 0);
}

TEST(far_ahead, "numbers: all numbers of a large gap are counted") {
  static const uint64_t leaps[] = {11, 12, 73, 74, 75, 138, 139, 1000};
  for (int i = 0; i < 8; i++) {
    const seen_t result = seen(&leaps[i], 1);
    EXPECT_INTEGER(result.gaps + load__numbers_missing(&result.numbers), leaps[i] - 11);
  }
}
