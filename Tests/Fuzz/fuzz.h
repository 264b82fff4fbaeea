// SPDX-License-Identifier: Apache-2.0
/* fuzz.h -- what all targets share: an expectation that ends the run with its place. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                                      \
  do {                                                                                                       \
    if (condition) break;                                                                                    \
    fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition);                               \
    abort();                                                                                                 \
  } while (0)

/* Called by libFuzzer with one input after another; 0 unless the input is not worth keeping (-1). */
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
/* Called once, before the first input. */
int LLVMFuzzerInitialize(int *argument_count, char ***arguments);

#endif
