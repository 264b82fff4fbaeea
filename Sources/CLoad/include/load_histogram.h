// SPDX-License-Identifier: Apache-2.0
/* load_histogram.h -- a histogram of durations with bounded memory.
 *
 * Each power of two is divided into 128 equal parts, so the error of a value is at most 1/128 of it. Values
 * are nanoseconds. Values above LOAD_HISTOGRAM_MAX (18 minutes) count as this value.
 */
#ifndef LOAD_HISTOGRAM_H
#define LOAD_HISTOGRAM_H

#include <stdint.h>

#define LOAD_HISTOGRAM_MAX ((UINT64_C(1) << 40) - 1)

enum {
  LOAD_HISTOGRAM_BITS = 7,
  LOAD_HISTOGRAM_PARTS = (40 - LOAD_HISTOGRAM_BITS + 1) << LOAD_HISTOGRAM_BITS
};

typedef struct {
  uint64_t count, largest;
  uint64_t parts[LOAD_HISTOGRAM_PARTS];
} load_histogram_t;

void load_histogram_add(load_histogram_t *histogram, uint64_t value);
/* Returns the quantile (0 to 1) of all values, at most 1/128 above the true one; 0 if there are no
 * values. */
uint64_t load_histogram_quantile(const load_histogram_t *histogram, double quantile);

#endif
