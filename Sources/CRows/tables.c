// SPDX-License-Identifier: Apache-2.0
/* The tables of a file, with their columns and primary keys. Refuses tables that cannot be captured. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* One row for each column. The last value is the reason why the table cannot be captured.
 *
 * The rule about REAL is due to sqlite3_preupdate_old() of SQLite 3.40. In tables WITHOUT ROWID it looks up
 * the type of the wrong column. An integer of the primary key then becomes a real, and loses digits above
 * 2^53. */
static const char query[] =
    "SELECT t.name, c.name, c.pk, c.dflt_value IS NOT NULL, CASE"
    "  WHEN t.type <> 'table' THEN 'is virtual'"
    "  WHEN t.ncol > 64 THEN 'has more than 64 columns'"
    "  WHEN max(c.pk) OVER (PARTITION BY t.name) = 0 THEN 'has no PRIMARY KEY'"
    "  WHEN max(c.hidden) OVER (PARTITION BY t.name) > 0 THEN 'has a generated column'"
    "  WHEN t.wr AND (upper(c.type) GLOB '*REAL*' OR upper(c.type) GLOB '*FLOA*' OR upper(c.type) GLOB "
    "'*DOUB*')"
    "    THEN 'is WITHOUT ROWID and has a REAL column'"
    "  WHEN (SELECT encoding FROM pragma_encoding) <> 'UTF-8' THEN 'has texts that are not in UTF-8' END "
    "FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name, 'main') AS c "
    "WHERE t.schema = 'main' AND t.type <> 'view' AND substr(t.name, 1, 7) <> 'sqlite_' "
    "ORDER BY t.name, c.cid";

bool rows__fail(rows_error_t *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  return false;
}

void *rows__resize(void *block, size_t size) {
  if ((block = realloc(block, size))) return block;
  fputs("stillwire: out of memory\n", stderr);
  abort();
}

static char *copy_text(sqlite3_stmt *row, int column) {
  const size_t size = (size_t)sqlite3_column_bytes(row, column) + 1;
  return memcpy(rows__resize(NULL, size), sqlite3_column_text(row, column), size);
}

static rows__table_t *add_table(rows__tables_t *tables, sqlite3_stmt *row, const char *const *local) {
  tables->at = rows__resize(tables->at, (tables->count + 1) * sizeof *tables->at);
  rows__table_t *table = &tables->at[tables->count++];
  *table = (rows__table_t){.name = copy_text(row, 0)};
  table->name_size = strlen(table->name);
  for (; local && *local; local++) table->is_local |= !strcmp(*local, table->name);
  return table;
}

static bool add_column(rows__table_t *table, sqlite3_stmt *row, rows_error_t *error) {
  if (table->is_local) return true;
  const char *reason = (const char *)sqlite3_column_text(row, 4);
  if (reason) return rows__fail(error, "table %s %s", table->name, reason);
  const int key = sqlite3_column_int(row, 2);
  const uint64_t column = UINT64_C(1) << table->count;
  if (key) table->keys |= column;
  if (key) table->order[key - 1] = (uint8_t)table->count;
  if (sqlite3_column_int(row, 3)) table->defaults |= column;
  table->columns[table->count++] = copy_text(row, 1);
  return true;
}

bool rows__tables_read(sqlite3 *db, const char *const *local, rows__tables_t *tables, rows_error_t *error) {
  *tables = (rows__tables_t){0};
  sqlite3_stmt *row = NULL;
  rows__table_t *table = NULL;
  bool is_suitable = true;
  int code = sqlite3_prepare_v2(db, query, -1, &row, NULL);
  while (is_suitable && row && (code = sqlite3_step(row)) == SQLITE_ROW) {
    if (!table || strcmp(table->name, (const char *)sqlite3_column_text(row, 0)))
      table = add_table(tables, row, local);
    is_suitable = add_column(table, row, error);
  }
  if (is_suitable && code != SQLITE_DONE)
    is_suitable = rows__fail(error, "cannot read the schema: %s", sqlite3_errmsg(db));
  sqlite3_finalize(row);
  if (!is_suitable) rows__tables_free(tables);
  return is_suitable;
}

void rows__tables_free(rows__tables_t *tables) {
  for (rows__table_t *table = tables->at; table < tables->at + tables->count; table++) {
    for (uint32_t column = 0; column < table->count; column++) free(table->columns[column]);
    free(table->name);
  }
  free(tables->at);
  *tables = (rows__tables_t){0};
}

rows__table_t *rows__tables_find(const rows__tables_t *tables, const void *name, size_t size) {
  for (uint32_t i = 0; i < tables->count; i++)
    if (tables->at[i].name_size == size && !memcmp(tables->at[i].name, name, size)) return &tables->at[i];
  return NULL;
}
