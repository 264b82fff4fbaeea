// SPDX-License-Identifier: Apache-2.0
/* Random transactions on a schema with all shapes of tables, and on the schema of a store.
 *
 * Four databases take part. The original is captured, and the copy gets its bodies. The twin runs the same
 * SQL under a session of SQLite's extension, and the fourth database gets its changesets. All tables of the
 * copy must equal those of the original after each transaction, and those of the fourth must as well if
 * SQLite could apply the changeset. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "file.h"
#include "internal.h"
#include "test.h"

enum { MAX_TABLES = 64, MAX_COLUMNS = 64, MAX_DEPTH = 3, MAX_FAILURES = 5 };

static const char shapes[] =
    "CREATE TABLE numbers (id INTEGER PRIMARY KEY AUTOINCREMENT, u INTEGER UNIQUE, a, r REAL, n NUMERIC "
    "DEFAULT 3);"
    "CREATE TABLE pairs (a INTEGER NOT NULL, b TEXT NOT NULL, c, d BLOB, PRIMARY KEY (b, a));"
    "CREATE TABLE words (w TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, u TEXT UNIQUE,"
    "  parent TEXT REFERENCES words ON DELETE SET NULL ON UPDATE CASCADE);"
    "CREATE TABLE flat (a INTEGER, b TEXT, u INTEGER NOT NULL, v INTEGER, c ANY, PRIMARY KEY (b, a),"
    "  UNIQUE (u, v)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX flat_c ON flat (c) WHERE c IS NOT NULL;"
    "CREATE TABLE children (id INTEGER PRIMARY KEY, n INTEGER REFERENCES numbers ON DELETE CASCADE ON UPDATE "
    "CASCADE,"
    "  a INTEGER, b TEXT, FOREIGN KEY (b, a) REFERENCES flat ON DELETE CASCADE DEFERRABLE INITIALLY "
    "DEFERRED);"
    "CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT NOT NULL, n INTEGER);"
    "CREATE TRIGGER a AFTER INSERT ON numbers BEGIN"
    "  INSERT INTO log (what, n) VALUES ('number', new.u);"
    "  DELETE FROM log WHERE id <= (SELECT max(id) FROM log) - 6; END;"
    "CREATE TRIGGER b BEFORE DELETE ON pairs BEGIN UPDATE numbers SET a = old.c WHERE id = old.a; END;"
    "CREATE TRIGGER c AFTER UPDATE OF u ON flat BEGIN UPDATE flat SET c = old.u WHERE a = new.a AND b = "
    "new.b; END;"
    "CREATE TRIGGER d BEFORE INSERT ON words WHEN new.w = 'e' BEGIN SELECT RAISE(IGNORE); END;"
    "CREATE TRIGGER e AFTER INSERT ON pairs WHEN new.a = 5 BEGIN SELECT RAISE(ABORT, 'five'); END;"
    "CREATE TRIGGER f AFTER DELETE ON flat BEGIN INSERT INTO log (what, n) VALUES ('flat', old.u); END;";

typedef struct {
  char *name, *type;
  bool is_needed, is_key;
} column_t;

typedef struct {
  char *name;
  column_t columns[MAX_COLUMNS];
  int count;
} table_t;

typedef struct {
  uint64_t state, seed;
  table_t tables[MAX_TABLES];
  int table_count;
  file_t original, twin;
  sqlite3 *copy, *fourth;
  rows_applier_t *applier;
  rows__tables_t known; /* for hashes, because SQLite takes longer to list the tables than to read them */
  int depth;            /* savepoints */
  int transactions, empty, failed_statements, unique_swaps, aborted, compared;
  uint64_t captured_bytes, changeset_bytes;
} run_t;

static uint32_t below(run_t *run, uint32_t limit) {
  uint64_t value = run->state += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return (uint32_t)((value >> 33) % limit);
}

static bool once_in(run_t *run, uint32_t count) {
  return !below(run, count);
}

static void read_tables(run_t *run) {
  sqlite3_stmt *row;
  sqlite3_prepare_v2(
      run->original.db,
      "SELECT t.name, c.name, c.type, c.\"notnull\", c.pk FROM pragma_table_list AS t "
      "JOIN pragma_table_info(t.name) AS c WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite%' "
      "ORDER BY t.name, c.cid",
      -1, &row, NULL);
  table_t *table = NULL;
  while (sqlite3_step(row) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(row, 0);
    if (!table || strcmp(table->name, name)) {
      if (!EXPECT(run->table_count < MAX_TABLES)) break;
      table = &run->tables[run->table_count++];
      table->name = strdup(name);
    }
    table->columns[table->count++] = (column_t){.name = strdup((const char *)sqlite3_column_text(row, 1)),
                                                .type = strdup((const char *)sqlite3_column_text(row, 2)),
                                                .is_needed = sqlite3_column_int(row, 3),
                                                .is_key = sqlite3_column_int(row, 4)};
  }
  sqlite3_finalize(row);
}

__attribute__((format(printf, 2, 3))) static void put(char *sql, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsprintf(sql + strlen(sql), format, arguments);
  va_end(arguments);
}

static void put_integer(run_t *run, char *sql) {
  static const char *const rare[] = {
      "-1", "0", "31", "1700000000000", "9223372036854775807", "-9223372036854775807 - 1"};
  put(sql, "%s", once_in(run, 20) ? rare[below(run, 6)] : (char[]){(char)('1' + below(run, 6)), 0});
}

static void put_text(run_t *run, char *sql) {
  static const char *const rare[] = {"''", "'thirty bytes and a few more, to be long'", "'é\n'",
                                     "CAST(x'6100ff' AS TEXT)"};
  if (once_in(run, 20))
    put(sql, "%s", rare[below(run, 4)]);
  else
    put(sql, "'%c'", "abcdeA"[below(run, 6)]);
}

/* A value that the column takes, most of the time. */
static void put_value(run_t *run, char *sql, const column_t *column) {
  const bool is_any = !*column->type || !strcmp(column->type, "ANY");
  const uint32_t choice = is_any ? below(run, 4) : 9;
  if (!column->is_needed && !column->is_key && once_in(run, 5))
    put(sql, "NULL");
  else if (!strcmp(column->name, "id")) /* beyond the largest rowid SQLite takes random ones */
    put(sql, "%u", 1 + below(run, 6));
  else if (choice == 0 || !strcmp(column->type, "INTEGER"))
    put_integer(run, sql);
  else if (choice == 1 || !strcmp(column->type, "TEXT"))
    put_text(run, sql);
  else if (choice == 2 || !strcmp(column->type, "BLOB"))
    put(sql, "x'%02x'", below(run, 4));
  else
    put(sql, "%u.%u", below(run, 4), below(run, 3));
}

static void put_condition(run_t *run, char *sql, const table_t *table) {
  for (int i = 0; i < table->count; i++) {
    const column_t *column = &table->columns[i];
    if (!column->is_key && !once_in(run, 12)) continue;
    put(sql, "%s%s %s ", strstr(sql, " WHERE ") ? " AND " : " WHERE ", column->name,
        once_in(run, 8) ? ">" : "=");
    put_value(run, sql, column);
    if (once_in(run, 2)) return;
  }
}

static void put_insert(run_t *run, char *sql, const table_t *table) {
  static const char *const clauses[] = {"",           "",         " OR REPLACE", " OR REPLACE",
                                        " OR IGNORE", " OR FAIL", " OR ABORT",   " OR ROLLBACK"};
  const char *clause = clauses[below(run, once_in(run, 20) ? 8 : 7)];
  put(sql, "INSERT%s INTO %s VALUES ", clause, table->name);
  for (uint32_t rows = 1 + (once_in(run, 3) ? below(run, 3) : 0), row = 0; row < rows; row++) {
    for (int i = 0; i < table->count; i++) {
      put(sql, "%s", i ? ", " : row ? ", (" : "(");
      put_value(run, sql, &table->columns[i]);
    }
    put(sql, ")");
  }
  if (*clause) return;
  const column_t *column = &table->columns[below(run, (uint32_t)table->count)];
  if (once_in(run, 4))
    put(sql, " ON CONFLICT DO NOTHING");
  else if (once_in(run, 2))
    put(sql, " ON CONFLICT DO UPDATE SET %s = excluded.%s", column->name, column->name);
}

static void put_update(run_t *run, char *sql, const table_t *table) {
  static const char *const clauses[] = {"", "", "", " OR REPLACE", " OR IGNORE", " OR FAIL"};
  put(sql, "UPDATE%s %s SET ", clauses[below(run, 6)], table->name);
  const int start = (int)strlen(sql);
  for (int i = 0; i < table->count; i++) {
    const column_t *column = &table->columns[i];
    if (!once_in(run, column->is_key ? 6 : 3)) continue;
    put(sql, "%s%s = ", sql[start] ? ", " : "", column->name);
    if (once_in(run, 5) && !strcmp(column->type, "INTEGER"))
      put(sql, "%s + 1", column->name);
    else
      put_value(run, sql, column);
  }
  if (!sql[start]) put(sql, "%s = %s", table->columns[0].name, table->columns[0].name);
  if (!once_in(run, 30)) put_condition(run, sql, table);
}

/* True if the tables are those of the store. */
static bool is_store(const run_t *run) {
  for (int i = 0; i < run->table_count; i++)
    if (!strcmp(run->tables[i].name, "rooms")) return true;
  return false;
}

/* Two rows swap a UNIQUE value, by way of another column. */
static void put_swap(run_t *run, char *sql) {
  const bool has_rooms = is_store(run);
  const char *table = has_rooms ? "rooms" : "numbers", *unique = has_rooms ? "name" : "u",
             *spare = has_rooms ? "epoch" : "a", *free = has_rooms ? "'free' || id" : "NULL";
  const uint32_t one = 1 + below(run, 5), other = one + 1;
  run->unique_swaps++;
  put(sql, "UPDATE %s SET %s = %s WHERE id IN (%u, %u); ", table, spare, unique, one, other);
  put(sql, "UPDATE %s SET %s = %s WHERE id IN (%u, %u); ", table, unique, free, one, other);
  put(sql, "UPDATE %s SET %s = (SELECT o.%s FROM %s AS o WHERE o.id = %u - %s.id) WHERE id IN (%u, %u)",
      table, unique, spare, table, one + other, table, one, other);
}

static void put_step(run_t *run, char *sql) {
  const table_t *table = &run->tables[below(run, (uint32_t)run->table_count)];
  const uint32_t choice = below(run, 100);
  if (choice < 40) {
    put_insert(run, sql, table);
  } else if (choice < 70) {
    put_update(run, sql, table);
  } else if (choice < 80) {
    put(sql, "DELETE FROM %s", table->name);
    if (!once_in(run, 15)) put_condition(run, sql, table);
  } else if (choice < 86) {
    put_swap(run, sql);
  } else if (choice < 92 && run->depth < MAX_DEPTH) {
    put(sql, "SAVEPOINT s%d", run->depth++);
  } else if (run->depth && choice < 96) {
    put(sql, "RELEASE s%d", --run->depth);
  } else if (run->depth) {
    run->depth = (int)below(run, (uint32_t)run->depth) + 1;
    put(sql, "ROLLBACK TO s%d", run->depth - 1);
  } else {
    put_insert(run, sql, table);
  }
}

static void both(run_t *run, const char *sql) {
  file_try(&run->original, sql);
  file_try(&run->twin, sql);
}

static void make_transaction(run_t *run) {
  both(run, "BEGIN IMMEDIATE");
  run->depth = 0;
  for (uint32_t steps = 1 + below(run, 6); steps && !sqlite3_get_autocommit(run->original.db); steps--) {
    char sql[16384] = "";
    put_step(run, sql);
    both(run, sql);
  }
  if (!sqlite3_get_autocommit(run->original.db)) both(run, once_in(run, 12) ? "ROLLBACK" : "COMMIT");
  /* A reference that is missing still: COMMIT has failed. */
  if (!sqlite3_get_autocommit(run->original.db)) both(run, "ROLLBACK");
}

static bool expect_equal(run_t *run, sqlite3 *db) {
  char hashes[2][ROWS_HASH_SIZE];
  rows_error_t error;
  return EXPECT(rows__tables_hash(run->original.db, &run->known, hashes[0], &error)) &
         EXPECT(rows__tables_hash(db, &run->known, hashes[1], &error)) & EXPECT_TEXT(hashes[1], hashes[0]);
}

static int stop_at_conflict(void *context, int reason, sqlite3_changeset_iter *iterator) {
  (void)context, (void)reason, (void)iterator;
  return SQLITE_CHANGESET_ABORT;
}

static void apply_changeset(run_t *run, sqlite3_session *session) {
  int size;
  void *changes;
  EXPECT_INTEGER(sqlite3session_changeset(session, &size, &changes), SQLITE_OK);
  run->changeset_bytes += (uint64_t)size;
  if (sqlite3changeset_apply(run->fourth, size, changes, NULL, stop_at_conflict, NULL)) {
    run->aborted++;
    file_copy(run->original.db, run->fourth);
  } else if (size && once_in(run, 4)) {
    run->compared++;
    expect_equal(run, run->fourth);
  }
  sqlite3_free(changes);
}

static bool apply_body(run_t *run) {
  size_t size;
  rows_error_t error = {""};
  const uint8_t *body = rows_capture_body(run->original.capture, &size, &error);
  if (!EXPECT_TEXT(error.text, "")) return false;
  run->captured_bytes += size;
  run->empty += !size;
  file_run(run->copy, "BEGIN");
  if (size) EXPECT_INTEGER(rows_apply(run->applier, body, size, &error), ROWS_APPLIED);
  file_run(run->copy, "COMMIT");
  return EXPECT_TEXT(error.text, "") & expect_equal(run, run->copy);
}

static sqlite3 *open_copy(const file_t *original) {
  file_t file = file_open("PRAGMA foreign_keys = OFF");
  file_copy(original->db, file.db);
  sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  return file.db;
}

static void play(const char *name, const char *schema, const char *rows, int transactions, uint64_t seed) {
  rows_error_t error = {""};
  run_t *run = calloc(1, sizeof *run);
  run->seed = run->state = seed;
  run->original = file_open(schema);
  file_run(run->original.db, rows);
  read_tables(run);
  rows__tables_read(run->original.db, NULL, &run->known, &error);
  run->copy = open_copy(&run->original);
  run->fourth = open_copy(&run->original);
  run->twin = file_open("");
  file_copy(run->original.db, run->twin.db);
  const char *setting = once_in(run, 2) ? "PRAGMA recursive_triggers = ON" : "";
  file_run(run->original.db, setting);
  file_run(run->twin.db, setting);
  run->applier = rows_applier_open(run->copy, NULL, &error);
  run->original.capture = rows_capture_open(run->original.db, NULL, FILE_LIMIT, &error);
  bool is_equal = EXPECT_TEXT(error.text, "");
  for (; is_equal && run->transactions < transactions; run->transactions++) {
    sqlite3_session *session;
    sqlite3session_create(run->twin.db, "main", &session);
    sqlite3session_attach(session, NULL);
    make_transaction(run);
    is_equal = apply_body(run);
    if (!is_equal)
      printf("  %s, seed %llu, transaction %d: %s\n", name, (unsigned long long)seed, run->transactions,
             file_body(&run->original));
    rows_capture_cut(run->original.capture, 0);
    apply_changeset(run, session);
    sqlite3session_delete(session);
  }
  expect_equal(run, run->twin.db);
  printf("  %s, seed %llu: %d transactions, %d without a change; %d statements failed; %d swaps; the "
         "extension stopped "
         "at %d, and %d of its results were compared; %llu bytes, and %llu of the extension\n",
         name, (unsigned long long)seed, run->transactions, run->empty, run->original.failed,
         run->unique_swaps, run->aborted, run->compared, (unsigned long long)run->captured_bytes,
         (unsigned long long)run->changeset_bytes);
  rows_applier_close(run->applier);
  rows__tables_free(&run->known);
  sqlite3_close(run->copy);
  sqlite3_close(run->fourth);
  file_close(&run->twin);
  file_close(&run->original);
  for (int i = 0; i < run->table_count; i++) {
    for (int column = 0; column < run->tables[i].count; column++) {
      free(run->tables[i].columns[column].name);
      free(run->tables[i].columns[column].type);
    }
    free(run->tables[i].name);
  }
  free(run);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

TEST(all_shapes, "random: transactions on all shapes of tables") {
  play("shapes", shapes, "", (int)number_of("TRANSACTIONS", 18000), number_of("SEED", (uint64_t)time(NULL)));
}

TEST(store, "random: transactions on the tables of a store") {
  char *schema = calloc(1, 1 << 20);
  FILE *file = fopen(SCHEMA_FILE, "r");
  if (!EXPECT(file && fread(schema, 1, (1 << 20) - 1, file))) return;
  fclose(file);
  play("store", schema,
       "INSERT INTO users (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e'), (6, 'f');"
       "INSERT INTO rooms (id, name, epoch) VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'x'), (4, 'd', "
       "'x'), "
       "(5, 'e', 'x'), (6, 'f', 'x');",
       (int)number_of("TRANSACTIONS", 2000), number_of("SEED", (uint64_t)time(NULL)));
  free(schema);
}
