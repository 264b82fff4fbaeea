// SPDX-License-Identifier: Apache-2.0
/* load_baseline.h -- measures the disk and SQLite without a relay, for comparison with a relay that stores
 * messages.
 *
 * A loop inserts messages, `group` in each transaction, into a table like that of the relay, with the relay's
 * settings (write-ahead log, synchronous FULL).
 */
#ifndef LOAD_BASELINE_H
#define LOAD_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t rooms; /* rooms of the rows */
  size_t body;    /* bytes of a body */
  uint32_t group; /* rows in a transaction */
  double seconds;
} load_baseline_t;

typedef struct {
  double rate;                    /* rows a second */
  uint64_t median, high, highest; /* durations of a transaction in ns: quantiles 0.5, 0.99 and 0.999 */
} load_baseline_result_t;

/* Uses a new file in `folder`, and removes it at the end. On failure it returns false and writes a message
 * to `why`. */
bool load_baseline_run(const load_baseline_t *baseline, const char *folder, load_baseline_result_t *result,
                       char *why, size_t why_size);

#endif
