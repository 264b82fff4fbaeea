// SPDX-License-Identifier: Apache-2.0
/* documents.h -- the files in `Documents` of RelayHTTP, as bytes of the program, so that the program is one
 * file.
 *
 * C embeds them in an instant. Swift needs minutes for array literals of this size.
 */
#pragma once

#include <stddef.h>

/* A file. The bytes live as long as the program. */
typedef struct {
  const void *bytes;
  size_t size;
} documents_file_t;

documents_file_t documents_openapi(void);
documents_file_t documents_asyncapi(void);
documents_file_t documents_schemas(void);
documents_file_t documents_examples(void);
