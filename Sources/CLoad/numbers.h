// SPDX-License-Identifier: Apache-2.0
/* numbers.h -- checks that each number arrives once, almost in order.
 *
 * Replies may overtake each other, but a session has at most 64 open requests. So a number that is more than
 * 63 below the newest can no longer arrive (the sliding window of RFC 4303, section 3.4.3).
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdint.h>

typedef struct {
  uint64_t newest;
  uint64_t seen; /* bit i: the number `newest` - i has arrived */
} load_numbers_t;

/* Begins as if all numbers up to `newest` had arrived. */
static inline load_numbers_t load__numbers(uint64_t newest) {
  return (load_numbers_t){newest, UINT64_MAX};
}

/* Adds a number. Returns 0, or 1 for a duplicate. Adds to `gaps` the numbers that can no longer arrive. */
static inline int load__numbers_add(load_numbers_t *numbers, uint64_t number, uint64_t *gaps) {
  if (number <= numbers->newest) {
    const uint64_t behind = numbers->newest - number;
    if (behind >= 64 || numbers->seen >> behind & 1) return 1;
    numbers->seen |= UINT64_C(1) << behind;
    return 0;
  }
  const uint64_t ahead = number - numbers->newest;
  const uint64_t leaving = ahead >= 64 ? UINT64_MAX : UINT64_MAX << (64 - ahead);
  *gaps += (uint64_t)__builtin_popcountll(~numbers->seen & leaving);
  if (ahead > 64) *gaps += ahead - 64;
  numbers->seen = (ahead >= 64 ? 0 : numbers->seen << ahead) | 1;
  numbers->newest = number;
  return 0;
}

/* Returns the number of missing numbers below the newest that can still arrive. */
static inline uint64_t load__numbers_missing(const load_numbers_t *numbers) {
  return (uint64_t)__builtin_popcountll(~numbers->seen);
}

#endif
