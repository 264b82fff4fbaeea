// SPDX-License-Identifier: Apache-2.0
/* numbers.h -- whether each number comes once, in an order that is only nearly theirs.
 *
 * Replies may overtake each other, but a session has at most 64 requests unfinished: a number more
 * than 63 behind the newest cannot come any more (the window of RFC 4303, section 3.4.3).
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdint.h>

typedef struct {
  uint64_t newest;
  uint64_t seen; /* bit i: newest - i has come */
} load_numbers_t;

/* Begins as if every number up to `newest` had come. */
static inline load_numbers_t load__numbers(uint64_t newest) {
  return (load_numbers_t){newest, UINT64_MAX};
}

/* Takes a number. Returns 0, or 1 for one that came before; adds to `gaps` those that can no longer come. */
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

/* How many up to the newest have not come. */
static inline uint64_t load__numbers_missing(const load_numbers_t *numbers) {
  return (uint64_t)__builtin_popcountll(~numbers->seen);
}

#endif
