// SPDX-License-Identifier: Apache-2.0
/* The parts of a histogram, and its quantiles. See load_histogram.h. */
#include "load_histogram.h"

#include <math.h>

enum { BITS = LOAD_HISTOGRAM_BITS, HALF = 1 << BITS };

/* Each value below 2 * HALF has its own part. For a larger value the top BITS + 1 bits choose the part. */
static uint32_t part_of(uint64_t value) {
  if (value < 2 * HALF) return (uint32_t)value;
  const int shift = 63 - __builtin_clzll(value) - BITS;
  return ((uint32_t)shift << BITS) + (uint32_t)(value >> shift);
}

static uint64_t largest_in(uint32_t part) {
  if (part < 2 * HALF) return part;
  const int shift = (int)(part >> BITS) - 1;
  const uint64_t top = HALF + (part & (HALF - 1));
  return ((top + 1) << shift) - 1;
}

void load_histogram_add(load_histogram_t *histogram, uint64_t value) {
  if (value > LOAD_HISTOGRAM_MAX) value = LOAD_HISTOGRAM_MAX;
  histogram->parts[part_of(value)]++;
  histogram->count++;
  if (value > histogram->largest) histogram->largest = value;
}

uint64_t load_histogram_quantile(const load_histogram_t *histogram, double quantile) {
  uint64_t wanted = (uint64_t)ceil(quantile * (double)histogram->count);
  if (wanted < 1) wanted = 1;
  uint64_t seen = 0;
  for (uint32_t part = 0; part < LOAD_HISTOGRAM_PARTS; part++) {
    seen += histogram->parts[part];
    if (seen < wanted) continue;
    const uint64_t value = largest_in(part);
    return value < histogram->largest ? value : histogram->largest;
  }
  return histogram->largest;
}
