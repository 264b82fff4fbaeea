// SPDX-License-Identifier: Apache-2.0
/* json_suite.h -- texts that a JSON parser must accept (names with y_), must reject (n_), or may
 * accept (i_). */
#ifndef JSON_SUITE_H
#define JSON_SUITE_H

#include <stddef.h>

typedef struct json_case {
  const char *name;
  const char *bytes;
  size_t size;
  size_t times; /* repetitions of `bytes` */
} json_case_t;

extern const json_case_t json_suite[];
extern const size_t json_suite_count;

#endif
