// SPDX-License-Identifier: Apache-2.0
/* load_baseline.h -- what the disk and SQLite alone can do, to compare a relay with that stores.
 *
 * A loop inserts messages, `group` of them a transaction, into a table like the relay's, with its
 * settings (write-ahead log, synchronous FULL), and does nothing else.
 */
#ifndef LOAD_BASELINE_H
#define LOAD_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t rooms; /* that the rows are spread over */
  size_t body;    /* bytes of a body */
  uint32_t group; /* rows a transaction */
  double seconds;
} load_baseline_t;

typedef struct {
  double rate;                    /* rows a second */
  uint64_t median, high, highest; /* nanoseconds of a transaction: quantiles 0.5, 0.99 and 0.999 */
} load_baseline_result_t;

/* Works in a file of its own in `folder`, and removes it. On failure returns false with a text for
 * people in `why`. */
bool load_baseline_run(const load_baseline_t *baseline, const char *folder, load_baseline_result_t *result,
                       char *why, size_t why_size);

#endif
