// SPDX-License-Identifier: Apache-2.0
/* Reads a body and makes its changes, one statement for each entry. The body may have any content.
 *
 * An UPDATE sets only the changed columns, because SQLite writes each index again that contains a column of
 * SET. Its statement therefore depends on the set of columns. The applier keeps the statements that it used
 * last. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* More than the tables of Stillwire need. A body with more kinds of changes makes SQLite prepare statements
 * again. */
enum { MAX_STATEMENTS = 256, MAX_TEXT = 40 };

typedef struct reader {
  const uint8_t *at, *end;
  bool is_malformed; /* ignore all values that were read */
} reader_t;

typedef struct value {
  int type;
  uint64_t number;
  const uint8_t *bytes;
} value_t;

/* An entry other than a definition. Its values have the order of the statement's parameters. */
typedef struct change {
  const rows__table_t *table;
  rows__kind_t kind;
  uint64_t columns; /* that an UPDATE sets */
  value_t values[2 * ROWS_MAX_COLUMNS];
  int count;
} change_t;

typedef struct statement {
  const rows__table_t *table;
  rows__kind_t kind;
  uint64_t columns;
  sqlite3_stmt *prepared;
} statement_t;

struct rows_applier {
  sqlite3 *db;
  rows__tables_t tables;
  const rows__table_t **defined; /* the tables of the body */
  uint32_t defined_count;
  statement_t statements[MAX_STATEMENTS]; /* the last used one first */
  uint32_t statement_count;
  int had_triggers, had_foreign_keys;
};

static const uint8_t *take(reader_t *reader, uint64_t size) {
  const uint8_t *at = reader->at;
  if (size > (uint64_t)(reader->end - at)) {
    reader->is_malformed = true;
    return NULL;
  }
  reader->at += size;
  return at;
}

static uint64_t take_number(reader_t *reader) {
  uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t *byte = take(reader, 1);
    if (!byte || (shift == 63 && *byte > 1)) break;
    number |= (uint64_t)(*byte & 127) << shift;
    if (*byte < 128) return number;
  }
  reader->is_malformed = true;
  return 0;
}

static bool has_bytes(const value_t *value) {
  return value->type == SQLITE_TEXT || value->type == SQLITE_BLOB;
}

static void take_value(reader_t *reader, change_t *change) {
  const uint8_t *head = take(reader, 1);
  if (!head) return;
  value_t *value = &change->values[change->count++];
  value->type = *head & 7;
  value->number = *head >> 3 < ROWS__SMALL ? *head >> 3 : take_number(reader);
  value->bytes = take(reader, has_bytes(value)              ? value->number
                              : value->type == SQLITE_FLOAT ? sizeof(double)
                                                            : 0);
  if (value->type < SQLITE_INTEGER || value->type > SQLITE_NULL) reader->is_malformed = true;
  if (!has_bytes(value) && value->type != SQLITE_INTEGER && value->number) reader->is_malformed = true;
}

static int64_t integer_of(const value_t *value) {
  return (int64_t)(value->number >> 1 ^ (value->number & 1 ? UINT64_MAX : 0));
}

static int bind(sqlite3_stmt *statement, int at, const value_t *value) {
  double real;
  switch (value->type) {
  case SQLITE_INTEGER:
    return sqlite3_bind_int64(statement, at, integer_of(value));
  case SQLITE_FLOAT:
    memcpy(&real, value->bytes, sizeof real);
    return sqlite3_bind_double(statement, at, real);
  case SQLITE_TEXT:
    return sqlite3_bind_text64(statement, at, (const char *)value->bytes, value->number, SQLITE_STATIC,
                               SQLITE_UTF8);
  case SQLITE_BLOB:
    return sqlite3_bind_blob64(statement, at, value->bytes, value->number, SQLITE_STATIC);
  default:
    return sqlite3_bind_null(statement, at);
  }
}

/* Adds a term for each column of a set, with parameters from `first`. */
static void put_terms(sqlite3_str *sql, const rows__table_t *table, uint64_t columns, int first,
                      const char *separator) {
  for (uint32_t column = 0, count = 0; column < table->count; column++)
    if (rows__has(columns, column))
      sqlite3_str_appendf(sql, "%s\"%w\" = ?%d", count++ ? separator : "", table->columns[column], first++);
}

/* OR ABORT overrides the conflict clauses of the schema, because the captured rows include what they
 * replaced. */
static sqlite3_stmt *prepare(sqlite3 *db, const change_t *change) {
  const rows__table_t *table = change->table;
  sqlite3_str *sql = sqlite3_str_new(db);
  if (change->kind == ROWS__INSERT) {
    sqlite3_str_appendf(sql, "INSERT OR ABORT INTO main.\"%w\" VALUES (?1", table->name);
    for (uint32_t i = 2; i <= table->count; i++) sqlite3_str_appendf(sql, ", ?%u", i);
    sqlite3_str_appendall(sql, ")");
  } else if (change->kind == ROWS__UPDATE) {
    sqlite3_str_appendf(sql, "UPDATE OR ABORT main.\"%w\" SET ", table->name);
    put_terms(sql, table, change->columns, 1 + __builtin_popcountll(table->keys), ", ");
  } else {
    sqlite3_str_appendf(sql, "DELETE FROM main.\"%w\"", table->name);
  }
  if (change->kind != ROWS__INSERT) {
    sqlite3_str_appendall(sql, " WHERE ");
    put_terms(sql, table, table->keys, 1, " AND ");
  }
  char *text = sqlite3_str_finish(sql);
  sqlite3_stmt *statement = NULL;
  sqlite3_prepare_v3(db, text ? text : "", -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
  sqlite3_free(text);
  return statement;
}

/* Finds or prepares the statement of a change. Returns NULL if SQLite could not prepare it. */
static sqlite3_stmt *statement_for(rows_applier_t *applier, const change_t *change) {
  statement_t *const all = applier->statements;
  uint32_t i = 0;
  while (i < applier->statement_count &&
         (all[i].table != change->table || all[i].kind != change->kind || all[i].columns != change->columns))
    i++;
  statement_t found = {change->table, change->kind, change->columns, NULL};
  if (i < applier->statement_count)
    found = all[i];
  else if (!(found.prepared = prepare(applier->db, change)))
    return NULL;
  else if (i < MAX_STATEMENTS)
    applier->statement_count++;
  else
    sqlite3_finalize(all[--i].prepared);
  memmove(&all[1], &all[0], i * sizeof *all);
  all[0] = found;
  return found.prepared;
}

/* Adds text of a body for the operator. It cannot forge a line of the log. */
static void put_text(sqlite3_str *text, const uint8_t *at, uint64_t size) {
  for (uint64_t i = 0; i < size && i < MAX_TEXT; i++)
    sqlite3_str_appendchar(text, 1, at[i] > ' ' && at[i] < 127 ? (char)at[i] : '?');
}

/* The primary key of a change. */
static char *key_of(const change_t *change) {
  sqlite3_str *text = sqlite3_str_new(NULL);
  for (uint32_t column = 0, at = 0; column < change->table->count; column++) {
    if (!rows__has(change->table->keys, column)) continue;
    const value_t *value = &change->values[change->kind == ROWS__INSERT ? column : at++];
    sqlite3_str_appendall(text, sqlite3_str_length(text) ? ", " : "");
    if (value->type == SQLITE_INTEGER) sqlite3_str_appendf(text, "%lld", integer_of(value));
    if (has_bytes(value)) put_text(text, value->bytes, value->number);
  }
  return sqlite3_str_finish(text);
}

static rows_status_t make_change(rows_applier_t *applier, const change_t *change, rows_error_t *error) {
  sqlite3_stmt *statement = statement_for(applier, change);
  int code = statement ? SQLITE_OK : sqlite3_errcode(applier->db);
  for (int i = 0; !code && i < change->count; i++) code = bind(statement, i + 1, &change->values[i]);
  if (!code) code = sqlite3_step(statement);
  code &= 0xff; /* a connection may report extended codes, as those of GRDB do */
  const bool is_done = code == SQLITE_DONE && sqlite3_changes(applier->db) == 1;
  if (!is_done) {
    char *key = key_of(change);
    rows__fail(error, "table %s, key (%s): %s", change->table->name, key ? key : "",
               code == SQLITE_DONE ? "there is no such row" : sqlite3_errmsg(applier->db));
    sqlite3_free(key);
  }
  sqlite3_reset(statement);
  if (is_done) return ROWS_APPLIED;
  return code == SQLITE_DONE || code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH ? ROWS_CONFLICT
                                                                                     : ROWS_FAILED;
}

static rows_status_t define(rows_applier_t *applier, reader_t *reader, rows_error_t *error) {
  const uint64_t size = take_number(reader);
  const uint8_t *name = take(reader, size);
  const uint64_t count = take_number(reader), keys = take_number(reader);
  if (reader->is_malformed || applier->defined_count == applier->tables.count)
    return rows__fail(error, "the definition of a table is malformed"), ROWS_INVALID;
  const rows__table_t *table = rows__tables_find(&applier->tables, name, size);
  if (table && !table->is_local && count == table->count && keys == table->keys)
    return applier->defined[applier->defined_count++] = table, ROWS_APPLIED;
  sqlite3_str *text = sqlite3_str_new(NULL);
  put_text(text, name, size);
  char *shown = sqlite3_str_finish(text);
  rows__fail(error, "table %s %s", shown ? shown : "",
             !table            ? "is unknown"
             : table->is_local ? "is local"
                               : "has other columns or another primary key in the body");
  sqlite3_free(shown);
  return ROWS_INVALID;
}

static rows_status_t apply_entry(rows_applier_t *applier, reader_t *reader, rows_error_t *error) {
  const uint64_t head = take_number(reader), number = head >> 2;
  change_t change;
  change.kind = head & 3;
  if (change.kind == ROWS__DEFINE && number == applier->defined_count && !reader->is_malformed)
    return define(applier, reader, error);
  if (change.kind == ROWS__DEFINE || number >= applier->defined_count)
    return rows__fail(error, "an entry has a table that is not defined"), ROWS_INVALID;
  change.table = applier->defined[number];
  change.count = 0;
  change.columns = change.kind == ROWS__UPDATE ? take_number(reader) : 0;
  const uint64_t all = UINT64_MAX >> (64 - change.table->count);
  if (change.columns & ~all || (change.kind == ROWS__UPDATE && !change.columns)) reader->is_malformed = true;
  uint64_t keys = change.kind == ROWS__INSERT ? 0 : change.table->keys;
  uint64_t columns = change.kind == ROWS__INSERT ? all : change.columns;
  for (; keys && !reader->is_malformed; keys &= keys - 1) take_value(reader, &change);
  for (; columns && !reader->is_malformed; columns &= columns - 1) take_value(reader, &change);
  if (!reader->is_malformed) return make_change(applier, &change, error);
  return rows__fail(error, "table %s: an entry is malformed", change.table->name), ROWS_INVALID;
}

rows_status_t rows_apply(rows_applier_t *applier, const void *body, size_t size, rows_error_t *error) {
  int has_triggers = 0, has_foreign_keys = 0;
  sqlite3_db_config(applier->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &has_triggers);
  sqlite3_db_config(applier->db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &has_foreign_keys);
  if (has_triggers || has_foreign_keys || sqlite3_get_autocommit(applier->db))
    return rows__fail(error, "the connection runs triggers or foreign keys, or no transaction"), ROWS_FAILED;
  reader_t reader = {.at = body, .end = (const uint8_t *)body + size};
  const uint8_t *version = take(&reader, 1);
  if (!version || *version != ROWS__VERSION)
    return rows__fail(error, "the version of the body is unknown"), ROWS_INVALID;
  applier->defined_count = 0;
  rows_status_t status = ROWS_APPLIED;
  while (status == ROWS_APPLIED && reader.at < reader.end) status = apply_entry(applier, &reader, error);
  return status;
}

rows_applier_t *rows_applier_open(sqlite3 *db, const char *const *local, rows_error_t *error) {
  rows__tables_t tables;
  if (!sqlite3_get_autocommit(db)) return rows__fail(error, "the connection is in a transaction"), NULL;
  if (!rows__tables_read(db, local, &tables, error)) return NULL;
  rows_applier_t *applier = rows__resize(NULL, sizeof *applier);
  *applier = (rows_applier_t){.db = db, .tables = tables};
  applier->defined = rows__resize(NULL, (tables.count + 1) * sizeof *applier->defined);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &applier->had_triggers);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &applier->had_foreign_keys);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
  return applier;
}

void rows_applier_close(rows_applier_t *applier) {
  if (!applier) return;
  for (uint32_t i = 0; i < applier->statement_count; i++) sqlite3_finalize(applier->statements[i].prepared);
  sqlite3_db_config(applier->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, applier->had_triggers, NULL);
  sqlite3_db_config(applier->db, SQLITE_DBCONFIG_ENABLE_FKEY, applier->had_foreign_keys, NULL);
  rows__tables_free(&applier->tables);
  free(applier->defined);
  free(applier);
}
