// SPDX-License-Identifier: Apache-2.0
/* load_histogram.h -- how long things took, in bounded memory.
 *
 * Each power of two is cut into 128 equal parts, so that a value is known to 1/128 of itself. Values
 * are nanoseconds; those over LOAD_HISTOGRAM_LARGEST (18 minutes) count as that.
 */
#ifndef LOAD_HISTOGRAM_H
#define LOAD_HISTOGRAM_H

#include <stdint.h>

#define LOAD_HISTOGRAM_LARGEST ((UINT64_C(1) << 40) - 1)

enum {
  LOAD_HISTOGRAM_BITS = 7,
  LOAD_HISTOGRAM_PARTS = (40 - LOAD_HISTOGRAM_BITS + 1) << LOAD_HISTOGRAM_BITS
};

typedef struct {
  uint64_t count, largest;
  uint64_t parts[LOAD_HISTOGRAM_PARTS];
} load_histogram_t;

void load_histogram_add(load_histogram_t *histogram, uint64_t value);
/* The value that `quantile` (0 to 1) of all values do not exceed, at most 1/128 above the true one;
 * 0 without values. */
uint64_t load_histogram_quantile(const load_histogram_t *histogram, double quantile);

#endif
