// SPDX-License-Identifier: Apache-2.0
/* Histograms: the error of values, and quantiles. */
#include "load_histogram.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static load_histogram_t histogram;

static void forget(void) {
  memset(&histogram, 0, sizeof histogram);
}

/* True if the value is not below the actual one, and at most 1/128 above it. */
static bool is_near(uint64_t found, uint64_t actual) {
  return found >= actual && found - actual <= actual / 128;
}

static int ascending(const void *a, const void *b) {
  const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return left < right ? -1 : left > right;
}

TEST(no_values, "histogram: without values a quantile is 0") {
  forget();
  EXPECT_INTEGER(load_histogram_quantile(&histogram, 0.5), 0);
}

TEST(small_values, "histogram: values below 256 are exact") {
  for (uint64_t value = 0; value < 256; value++) {
    forget();
    load_histogram_add(&histogram, value);
    load_histogram_add(&histogram, 1000);
    EXPECT_INTEGER(load_histogram_quantile(&histogram, 0.5), value);
  }
}

TEST(one_value, "histogram: the error of a value is at most 1/128") {
  for (int shift = 0; shift < 40; shift++) {
    for (int step = -2; step <= 2; step++) {
      const uint64_t value =
          (UINT64_C(1) << shift) + (uint64_t)(step * (int64_t)(1 + (UINT64_C(1) << shift) / 5));
      if (value > LOAD_HISTOGRAM_MAX) continue;
      forget();
      load_histogram_add(&histogram, value);
      load_histogram_add(&histogram,
                         LOAD_HISTOGRAM_MAX); /* because a result is never above the largest value */
      if (!EXPECT(is_near(load_histogram_quantile(&histogram, 0.5), value)))
        EXPECT_INTEGER(load_histogram_quantile(&histogram, 0.5), value);
    }
  }
}

TEST(largest_value, "histogram: values above the largest count as the largest") {
  forget();
  load_histogram_add(&histogram, UINT64_MAX);
  EXPECT_INTEGER(load_histogram_quantile(&histogram, 1), LOAD_HISTOGRAM_MAX);
  EXPECT_INTEGER(histogram.count, 1);
}

TEST(quantiles, "histogram: quantiles of many values are those of the sorted values") {
  enum { COUNT = 10007 };
  static uint64_t values[COUNT];
  uint64_t state = 1;
  forget();
  for (int i = 0; i < COUNT; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values[i] = (state >> 33) >> (state >> 60); /* of different magnitudes */
    load_histogram_add(&histogram, values[i]);
  }
  qsort(values, COUNT, sizeof *values, ascending);
  static const struct {
    double quantile;
    int rank;
  } cases[] = {{0, 1}, {0.0001, 2}, {0.5, 5004}, {0.9, 9007}, {0.99, 9907}, {0.999, 9997}, {1, COUNT}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    EXPECT(is_near(load_histogram_quantile(&histogram, cases[i].quantile), values[cases[i].rank - 1]));
  EXPECT_INTEGER(load_histogram_quantile(&histogram, 1), values[COUNT - 1]);
}
