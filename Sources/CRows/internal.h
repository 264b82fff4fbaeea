// SPDX-License-Identifier: Apache-2.0
/* internal.h -- the format of a body, and the tables and bytes that capture, apply and hash share.
 *
 * A body of version 1 is the byte 1, and then entries. Numbers are LEB128 varints. Each entry begins with
 * `table << 2 | kind`, where `table` counts the defined tables from 0:
 *
 *   DEFINE  the size of the name, the name, the number of columns, the set of the columns of the primary key
 *   INSERT  the value of each column
 *   UPDATE  the set of the changed columns, the old values of the primary key, the new values of the set
 *   DELETE  the values of the primary key
 *
 * A set has bit 0 for the first column. Values have the order of the columns. A value begins with the byte
 * `small << 3 | type`, where `type` is a SQLITE_INTEGER and so on. `small` is a number below 31, or it is 31
 * and the number follows. The number is an integer in zigzag form, or the size of a text or blob, whose bytes
 * follow. After SQLITE_FLOAT follow eight bytes in little-endian order.
 */
#ifndef ROWS_INTERNAL_H
#define ROWS_INTERNAL_H

#ifndef SQLITE_ENABLE_PREUPDATE_HOOK
#define SQLITE_ENABLE_PREUPDATE_HOOK
#endif
#include <sqlite3.h>

#include "rows.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "reals are copied as they are");

enum { ROWS__VERSION = 1, ROWS__SMALL = 31 };

typedef enum { ROWS__DEFINE, ROWS__INSERT, ROWS__UPDATE, ROWS__DELETE } rows__kind_t;

/* tables.c */

typedef struct rows__table {
  char *name;
  size_t name_size;
  char *columns[ROWS_MAX_COLUMNS];
  uint32_t count; /* columns */
  bool is_local;
  uint64_t keys;                   /* the set of the columns of the primary key */
  uint64_t defaults;               /* the set of the columns with a default */
  uint8_t order[ROWS_MAX_COLUMNS]; /* the columns of the primary key in its order */
  size_t defined_at;               /* the offset of the definition in the captured body; 0: none */
  uint32_t number;                 /* in that body */
} rows__table_t;

typedef struct rows__tables {
  rows__table_t *at;
  uint32_t count;
} rows__tables_t;

static inline bool rows__has(uint64_t columns, uint32_t column) {
  return columns >> column & 1;
}

/* Sets the error and returns false. */
__attribute__((format(printf, 2, 3))) bool rows__fail(rows_error_t *error, const char *format, ...);
void *rows__resize(void *block, size_t size);

/* Reads the tables of the main database. On failure, sets the error and leaves nothing to free. */
bool rows__tables_read(sqlite3 *db, const char *const *local, rows__tables_t *tables, rows_error_t *error);
void rows__tables_free(rows__tables_t *tables);
/* Returns NULL if there is no such table. */
rows__table_t *rows__tables_find(const rows__tables_t *tables, const void *name, size_t size);

/* hash.c */

/* See rows_hash(). */
bool rows__tables_hash(sqlite3 *db, const rows__tables_t *tables, char text[ROWS_HASH_SIZE],
                       rows_error_t *error);

/* capture.c */

typedef struct rows__bytes {
  uint8_t *at;
  size_t size, capacity;
} rows__bytes_t;

void rows__put(rows__bytes_t *bytes, const void *at, size_t size);
void rows__put_number(rows__bytes_t *bytes, uint64_t number);
/* The value must not be used on another thread at the same time. */
void rows__put_value(rows__bytes_t *bytes, sqlite3_value *value);

#endif
