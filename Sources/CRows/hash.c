// SPDX-License-Identifier: Apache-2.0
/* The hash of all replicated tables: equal for two files with the same rows, whatever their rowids are. */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* FNV-1a with 128 bits. */
__extension__ typedef unsigned __int128 hash_t;
#define HASH(high, low) ((hash_t)UINT64_C(high) << 64 | UINT64_C(low))
#define OFFSET_BASIS HASH(0x6c62272e07bb0142, 0x62b821756295c58d)
#define PRIME HASH(0x0000000001000000, 0x000000000000013b)

/* Adds the bytes to the hash, and empties them. */
static void add(hash_t *hash, rows__bytes_t *bytes) {
  for (size_t i = 0; i < bytes->size; i++) *hash = (*hash ^ bytes->at[i]) * PRIME;
  bytes->size = 0;
}

static sqlite3_stmt *select_rows(sqlite3 *db, const rows__table_t *table) {
  sqlite3_str *sql = sqlite3_str_new(db);
  sqlite3_str_appendf(sql, "SELECT * FROM main.\"%w\"", table->name);
  for (int i = 0; i < __builtin_popcountll(table->keys); i++)
    sqlite3_str_appendf(sql, "%s\"%w\"", i ? ", " : " ORDER BY ", table->columns[table->order[i]]);
  char *text = sqlite3_str_finish(sql);
  sqlite3_stmt *row = NULL;
  sqlite3_prepare_v2(db, text ? text : "", -1, &row, NULL);
  sqlite3_free(text);
  return row;
}

static bool add_table(sqlite3 *db, const rows__table_t *table, rows__bytes_t *bytes, hash_t *hash) {
  rows__put_number(bytes, table->name_size);
  rows__put(bytes, table->name, table->name_size);
  rows__put_number(bytes, table->count);
  add(hash, bytes);
  sqlite3_stmt *row = select_rows(db, table);
  int code = SQLITE_ERROR;
  while (row && (code = sqlite3_step(row)) == SQLITE_ROW) {
    for (uint32_t i = 0; i < table->count; i++) rows__put_value(bytes, sqlite3_column_value(row, (int)i));
    add(hash, bytes);
  }
  rows__put_number(bytes, 0); /* ends the table: no value begins with 0 */
  add(hash, bytes);
  sqlite3_finalize(row);
  return code == SQLITE_DONE;
}

bool rows__tables_hash(sqlite3 *db, const rows__tables_t *tables, char text[ROWS_HASH_SIZE],
                       rows_error_t *error) {
  rows__bytes_t bytes = {0};
  hash_t hash = OFFSET_BASIS;
  bool is_read = true;
  for (uint32_t i = 0; is_read && i < tables->count; i++)
    is_read = tables->at[i].is_local || add_table(db, &tables->at[i], &bytes, &hash);
  free(bytes.at);
  snprintf(text, ROWS_HASH_SIZE, "%016llx%016llx", (unsigned long long)(hash >> 64),
           (unsigned long long)hash);
  return is_read || rows__fail(error, "cannot read the tables: %s", sqlite3_errmsg(db));
}

bool rows_hash(sqlite3 *db, const char *const *local, char text[ROWS_HASH_SIZE], rows_error_t *error) {
  rows__tables_t tables;
  if (!rows__tables_read(db, local, &tables, error)) return false;
  const bool is_read = rows__tables_hash(db, &tables, text, error);
  rows__tables_free(&tables);
  return is_read;
}
