// SPDX-License-Identifier: Apache-2.0
/* The capture: an entry of the body for each row that SQLite is about to change, in that order.
 *
 * The order makes bodies applicable: two rows can swap a UNIQUE value through a third one, as they did
 * originally. The hook runs no statement, and allocates memory only when the body outgrows its buffer. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct rows_capture {
  sqlite3 *db;
  rows__tables_t tables;
  rows__table_t *last; /* the table of the last change, because most changes follow one of the same table */
  rows__bytes_t body;
  size_t limit;
  uint32_t defined; /* tables in the body */
  bool has_failed, is_over;
  rows_error_t failure;
};

typedef int read_t(sqlite3 *db, int column, sqlite3_value **value);

static uint8_t *extend(rows__bytes_t *bytes, size_t size) {
  if (bytes->capacity - bytes->size < size) {
    bytes->capacity = (bytes->size + size) * 2;
    bytes->at = rows__resize(bytes->at, bytes->capacity);
  }
  bytes->size += size;
  return bytes->at + bytes->size - size;
}

void rows__put(rows__bytes_t *bytes, const void *at, size_t size) {
  if (size) memcpy(extend(bytes, size), at, size);
}

void rows__put_number(rows__bytes_t *bytes, uint64_t number) {
  for (; number > 127; number >>= 7) *extend(bytes, 1) = (uint8_t)(number | 128);
  *extend(bytes, 1) = (uint8_t)number;
}

void rows__put_value(rows__bytes_t *bytes, sqlite3_value *value) {
  const int type = sqlite3_value_type(value);
  uint64_t number = 0;
  size_t size = 0;
  const void *at = NULL;
  double real;
  if (type == SQLITE_INTEGER) {
    const int64_t integer = sqlite3_value_int64(value);
    number = (uint64_t)integer << 1 ^ (integer < 0 ? UINT64_MAX : 0);
  } else if (type == SQLITE_FLOAT) {
    real = sqlite3_value_double(value);
    at = &real;
    size = sizeof real;
  } else if (type != SQLITE_NULL) {
    at = sqlite3_value_blob(value); /* of a text as well: sqlite3_value_text() copies it to add NUL */
    number = size = (size_t)sqlite3_value_bytes(value);
  }
  *extend(bytes, 1) = (uint8_t)((number < ROWS__SMALL ? number : ROWS__SMALL) << 3 | (unsigned)type);
  if (number >= ROWS__SMALL) rows__put_number(bytes, number);
  rows__put(bytes, at, size);
}

static bool is_same(sqlite3_value *one, sqlite3_value *other) {
  const int type = sqlite3_value_type(one);
  if (type != sqlite3_value_type(other)) return false;
  if (type == SQLITE_NULL) return true;
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(one) == sqlite3_value_int64(other);
  if (type == SQLITE_FLOAT) {
    const double reals[] = {sqlite3_value_double(one), sqlite3_value_double(other)};
    return !memcmp(&reals[0], &reals[1], sizeof *reals);
  }
  const void *at = sqlite3_value_blob(one), *other_at = sqlite3_value_blob(other);
  const int size = sqlite3_value_bytes(one);
  return size == sqlite3_value_bytes(other) && (!size || !memcmp(at, other_at, (size_t)size));
}

static void fail(rows_capture_t *capture, const char *table, const char *reason) {
  if (!capture->has_failed) rows__fail(&capture->failure, "table %s: %s", table, reason);
  capture->has_failed = true;
}

/* Returns NULL if SQLite has no memory for the row. */
static sqlite3_value *value_of(rows_capture_t *capture, read_t *read, uint32_t column) {
  sqlite3_value *value = NULL;
  if (read(capture->db, (int)column, &value) != SQLITE_OK) value = NULL;
  if (!value) fail(capture, capture->last->name, "SQLite cannot read the row");
  return value;
}

/* The columns that an UPDATE changes.
 *
 * If ALTER TABLE added a column after a row was written, SQLite 3.40 returns NULL for its old value, and not
 * the default. A column with a default therefore counts as changed if its old value is NULL. */
static uint64_t changed_columns(rows_capture_t *capture, const rows__table_t *table) {
  uint64_t changed = 0;
  for (uint32_t column = 0; column < table->count; column++) {
    sqlite3_value *old = value_of(capture, sqlite3_preupdate_old, column);
    sqlite3_value *new = value_of(capture, sqlite3_preupdate_new, column);
    if (!old || !new) return 0;
    const bool is_uncertain = rows__has(table->defaults, column) && sqlite3_value_type(old) == SQLITE_NULL;
    if (is_uncertain || !is_same(old, new)) changed |= UINT64_C(1) << column;
  }
  return changed;
}

/* Checks the limit before it copies a value, because a value may be large. */
static void put_values(rows_capture_t *capture, read_t *read, uint64_t columns) {
  const char *name = capture->last->name;
  if (capture->has_failed) return;
  for (uint32_t column = 0; column < capture->last->count; column++) {
    sqlite3_value *value = rows__has(columns, column) ? value_of(capture, read, column) : NULL;
    if (!value) continue;
    const int type = sqlite3_value_type(value);
    const bool has_bytes = type == SQLITE_TEXT || type == SQLITE_BLOB;
    const size_t size = has_bytes ? (size_t)sqlite3_value_bytes(value) : 1;
    capture->is_over = capture->body.size + size > capture->limit;
    if (capture->is_over) return fail(capture, name, "the transaction changes too many bytes");
    if (type == SQLITE_NULL && rows__has(capture->last->keys, column))
      return fail(capture, name, "a primary key is NULL");
    rows__put_value(&capture->body, value);
  }
}

static void put_definition(rows_capture_t *capture, rows__table_t *table) {
  rows__bytes_t *body = &capture->body;
  if (!body->size) *extend(body, 1) = ROWS__VERSION;
  table->defined_at = body->size;
  table->number = capture->defined++;
  rows__put_number(body, table->number << 2 | ROWS__DEFINE);
  rows__put_number(body, table->name_size);
  rows__put(body, table->name, table->name_size);
  rows__put_number(body, table->count);
  rows__put_number(body, table->keys);
}

static void put_change(rows_capture_t *capture, rows__table_t *table, rows__kind_t kind) {
  if (sqlite3_preupdate_count(capture->db) != (int)table->count)
    return fail(capture, table->name, "its columns have changed since the capture began");
  if (sqlite3_preupdate_blobwrite(capture->db) != -1)
    return fail(capture, table->name, "a blob was written incrementally");
  const uint64_t changed = kind == ROWS__UPDATE ? changed_columns(capture, table) : UINT64_MAX;
  if (!changed) return;
  if (!table->defined_at) put_definition(capture, table);
  rows__put_number(&capture->body, table->number << 2 | kind);
  if (kind == ROWS__UPDATE) rows__put_number(&capture->body, changed);
  if (kind != ROWS__INSERT) put_values(capture, sqlite3_preupdate_old, table->keys);
  if (kind != ROWS__DELETE) put_values(capture, sqlite3_preupdate_new, changed);
}

/* The hook. After a failure the body is a byte longer, so that a later mark differs from one before the
 * failure. */
static void on_change(void *context, sqlite3 *db, int operation, const char *database, const char *name,
                      sqlite3_int64 old_rowid, sqlite3_int64 new_rowid) {
  (void)db, (void)old_rowid, (void)new_rowid;
  rows_capture_t *capture = context;
  if (capture->has_failed || strcmp(database, "main") || !strncmp(name, "sqlite_", 7)) return;
  if (!capture->last || strcmp(capture->last->name, name))
    capture->last = rows__tables_find(&capture->tables, name, strlen(name));
  if (!capture->last)
    fail(capture, name, "it was created after the capture began");
  else if (!capture->last->is_local)
    put_change(capture, capture->last,
               operation == SQLITE_INSERT   ? ROWS__INSERT
               : operation == SQLITE_UPDATE ? ROWS__UPDATE
                                            : ROWS__DELETE);
  if (capture->has_failed) extend(&capture->body, 1);
}

/* A change of a setting makes SQLite prepare all statements again. A DELETE without WHERE that was prepared
 * without the hook would empty its table without calling it. */
static void expire_statements(sqlite3 *db) {
  int has_triggers = 0;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &has_triggers);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, !has_triggers, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, has_triggers, NULL);
}

rows_capture_t *rows_capture_open(sqlite3 *db, const char *const *local, size_t limit, rows_error_t *error) {
  rows__tables_t tables;
  if (!sqlite3_get_autocommit(db)) return rows__fail(error, "the connection is in a transaction"), NULL;
  if (!rows__tables_read(db, local, &tables, error)) return NULL;
  rows_capture_t *capture = rows__resize(NULL, sizeof *capture);
  *capture = (rows_capture_t){.db = db, .tables = tables, .limit = limit};
  if (sqlite3_preupdate_hook(db, on_change, capture)) {
    rows__fail(error, "the connection had another preupdate hook");
    rows_capture_close(capture);
    return NULL;
  }
  expire_statements(db);
  return capture;
}

void rows_capture_close(rows_capture_t *capture) {
  if (!capture) return;
  sqlite3_preupdate_hook(capture->db, NULL, NULL);
  rows__tables_free(&capture->tables);
  free(capture->body.at);
  free(capture);
}

size_t rows_capture_size(const rows_capture_t *capture) {
  return capture->body.size;
}

void rows_capture_cut(rows_capture_t *capture, size_t mark) {
  if (mark >= capture->body.size) return;
  capture->has_failed = capture->is_over = false;
  capture->body.size = mark;
  for (uint32_t i = 0; i < capture->tables.count; i++) {
    rows__table_t *table = &capture->tables.at[i];
    if (!table->defined_at || table->defined_at < mark) continue;
    table->defined_at = 0;
    capture->defined--;
  }
}

bool rows_capture_is_over(const rows_capture_t *capture) {
  return capture->is_over;
}

const uint8_t *rows_capture_body(const rows_capture_t *capture, size_t *size, rows_error_t *error) {
  static const uint8_t nothing[1];
  *size = capture->body.size;
  if (!capture->has_failed) return *size ? capture->body.at : nothing;
  *error = capture->failure;
  return NULL;
}
