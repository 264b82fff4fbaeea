// SPDX-License-Identifier: Apache-2.0
/* fuzz.h -- an expectation for all targets: MUST() aborts the run and prints its position. */
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

/* libFuzzer calls this for each input. Returns 0, or -1 for an input that the corpus must not keep. */
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size);
/* libFuzzer calls this once, before the first input. */
int LLVMFuzzerInitialize(int *argument_count, char ***arguments);

#endif
