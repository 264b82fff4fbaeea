// SPDX-License-Identifier: Apache-2.0
/* json_suite.h -- texts that a reader of JSON must take (names with y_), must refuse (n_), or may (i_). */
#ifndef JSON_SUITE_H
#define JSON_SUITE_H

#include <stddef.h>

typedef struct json_case {
  const char *name;
  const char *bytes;
  size_t size;
  size_t times; /* how often `bytes` is repeated */
} json_case_t;

extern const json_case_t json_suite[];
extern const size_t json_suite_count;

#endif
