// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a body of captured rows. The applier returns an error or applies the body.
 *
 * If the first byte is not that of a version, the input is a list of changes instead. They are captured and
 * applied to a copy, and the copy must then equal the original. A twin makes the same changes under a session
 * of SQLite's extension. The copy with its changeset must equal them as well, if SQLite can apply the
 * changeset. The applier also gets the body with some changed bytes. */
#include <string.h>

#define SQLITE_ENABLE_SESSION
#include "fuzz.h"
#include "internal.h"

enum { LARGEST = 4096, MAX_STATEMENTS = 256 };

static const char schema[] =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0, r REAL);"
    "CREATE TABLE s (a INTEGER, b TEXT, c, d BLOB, PRIMARY KEY (b, a)) WITHOUT ROWID;"
    "CREATE TABLE k (w TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, c ANY) STRICT;"
    "CREATE TABLE p (id INTEGER PRIMARY KEY, s_a, s_b, n INTEGER REFERENCES p ON DELETE CASCADE,"
    "  FOREIGN KEY (s_b, s_a) REFERENCES s ON DELETE SET NULL ON UPDATE CASCADE);"
    "CREATE TABLE applied (id INTEGER PRIMARY KEY);"
    "CREATE TRIGGER g AFTER DELETE ON t BEGIN UPDATE OR IGNORE k SET c = old.r WHERE w > old.u; END;"
    "INSERT INTO t VALUES (1, 'x', 0, 1.5), (2, 'y', 1, NULL);"
    "INSERT INTO s VALUES (1, 'x', NULL, x'00'), (2, 'x', 1, NULL);"
    "INSERT INTO k VALUES ('a', 1), ('b', 2.5);"
    "INSERT INTO p VALUES (1, 1, 'x', NULL), (2, 2, 'x', 1);";

static const char *const local[] = {"applied", NULL};

/* The changes of a list. Each takes parameters from the input. */
static const char *const changes[] = {
    "INSERT INTO t VALUES (?1, ?2, 1, ?3)",
    "INSERT OR REPLACE INTO t VALUES (?1, ?2, 2, ?3)",
    "UPDATE OR REPLACE t SET id = ?1, u = ?2 WHERE id = ?3",
    "UPDATE t SET r = ?2, n = n + 1",
    "DELETE FROM t WHERE u = ?2 OR id = ?1",
    "INSERT OR IGNORE INTO s VALUES (?1, ?2, ?3, ?2)",
    "UPDATE OR IGNORE s SET b = ?2, c = ?3 WHERE a > ?1",
    "REPLACE INTO s VALUES (?1, ?2, ?3, NULL)",
    "DELETE FROM s WHERE c = ?3 OR a = ?1",
    "INSERT INTO k VALUES (?2, ?3) ON CONFLICT DO UPDATE SET w = excluded.w, c = ?1",
    "UPDATE OR REPLACE k SET w = ?2",
    "DELETE FROM k",
    "INSERT OR REPLACE INTO p SELECT ?1, a, b, ?3 FROM s WHERE b >= ?2",
    "UPDATE p SET id = ?1, n = ?3 WHERE id = ?2",
    "DELETE FROM p WHERE id = ?1 OR n = ?2",
};
enum { CHANGES = sizeof changes / sizeof *changes, CHOICES = 20, ROLLBACK_TO = CHOICES - 1 };

static sqlite3 *original, *twin, *copy;
static sqlite3_stmt *prepared[2][CHANGES];
static rows_capture_t *capture;
static rows_applier_t *applier;
static rows__tables_t tables;

static void run(sqlite3 *db, const char *sql) {
  MUST(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

/* A hook that does nothing. */
static void ignore(void *context, sqlite3 *db, int operation, const char *database, const char *table,
                   sqlite3_int64 old_rowid, sqlite3_int64 new_rowid) {
  (void)context, (void)db, (void)operation, (void)database, (void)table, (void)old_rowid, (void)new_rowid;
}

int LLVMFuzzerInitialize(int *argument_count, char ***arguments) {
  (void)argument_count, (void)arguments;
  rows_error_t error;
  sqlite3 **const all[] = {&original, &twin, &copy};
  for (int i = 0; i < 3; i++) {
    MUST(!sqlite3_open(":memory:", all[i]));
    run(*all[i], schema);
    run(*all[i], "PRAGMA foreign_keys = ON");
    /* A session misses a DELETE without WHERE that was prepared without a hook. The capture does not. */
    if (i == 1) sqlite3_preupdate_hook(twin, ignore, NULL);
    for (int change = 0; i < 2 && change < CHANGES; change++)
      MUST(!sqlite3_prepare_v2(*all[i], changes[change], -1, &prepared[i][change], NULL));
  }
  MUST(rows__tables_read(original, local, &tables, &error));
  MUST((capture = rows_capture_open(original, local, 1 << 16, &error)));
  MUST((applier = rows_applier_open(copy, local, &error)));
  return 0;
}

/* A body that is cut after each entry, or anything else. */
static void apply_bytes(const uint8_t *at, size_t size) {
  rows_error_t error = {""};
  run(copy, "BEGIN");
  const rows_status_t status = rows_apply(applier, at, size, &error);
  MUST((status == ROWS_APPLIED) == !error.text[0]);
  MUST(status != ROWS_FAILED);
  for (const char *byte = error.text; *byte; byte++) MUST(*byte >= ' ' && *byte < 127);
  run(copy, "ROLLBACK");
  int count = 0;
  for (sqlite3_stmt *statement = NULL; (statement = sqlite3_next_stmt(copy, statement));) count++;
  MUST(count <= MAX_STATEMENTS);
}

/* A parameter: the size and the type, and then the bytes. */
static void bind(sqlite3_stmt *statement, int index, const uint8_t **at, const uint8_t *end) {
  const uint8_t head = *at < end ? *(*at)++ : 0;
  size_t size = head >> 3;
  if (size > (size_t)(end - *at)) size = (size_t)(end - *at);
  int64_t integer = 0;
  double real = 0;
  memcpy(&integer, *at, size < 8 ? size : 8);
  memcpy(&real, *at, size < 8 ? size : 8);
  switch (head & 7) {
  case 0:
    sqlite3_bind_null(statement, index);
    break;
  case 1:
    sqlite3_bind_double(statement, index, real);
    break;
  case 2:
  case 3:
    sqlite3_bind_text(statement, index, (const char *)*at, (int)size, SQLITE_STATIC);
    break;
  case 4:
    sqlite3_bind_blob(statement, index, *at, (int)size, SQLITE_STATIC);
    break;
  default:
    sqlite3_bind_int64(statement, index, integer);
  }
  *at += size;
}

static void check_equal(sqlite3 *one, sqlite3 *other) {
  char hashes[2][ROWS_HASH_SIZE];
  rows_error_t error;
  MUST(rows__tables_hash(one, &tables, hashes[0], &error));
  MUST(rows__tables_hash(other, &tables, hashes[1], &error));
  MUST(!strcmp(hashes[0], hashes[1]));
}

/* Makes the changes of a list in an open transaction. Each runs in a savepoint, as rows.h requires. */
static void make_changes(sqlite3 *db, sqlite3_stmt **statements, const uint8_t *at, const uint8_t *end) {
  size_t saved = 0;
  run(db, "BEGIN; SAVEPOINT saved");
  while (at < end) {
    const uint8_t choice = *at++ % CHOICES;
    if (choice == ROLLBACK_TO) {
      run(db, "ROLLBACK TO saved");
      if (db == original) rows_capture_cut(capture, saved);
    } else if (choice >= CHANGES) {
      run(db, "RELEASE saved; SAVEPOINT saved");
      saved = rows_capture_size(capture);
    } else {
      const size_t mark = rows_capture_size(capture);
      for (int i = 1; i <= 3; i++) bind(statements[choice], i, &at, end);
      run(db, "SAVEPOINT statement");
      const bool is_done = sqlite3_step(statements[choice]) == SQLITE_DONE;
      sqlite3_reset(statements[choice]);
      if (!is_done) run(db, "ROLLBACK TO statement");
      if (!is_done && db == original) rows_capture_cut(capture, mark);
      run(db, "RELEASE statement");
    }
  }
}

static int stop_at_conflict(void *context, int reason, sqlite3_changeset_iter *iterator) {
  (void)context, (void)reason, (void)iterator;
  return SQLITE_CHANGESET_ABORT;
}

static void compare_with_session(const uint8_t *at, const uint8_t *end) {
  sqlite3_session *session;
  int size;
  void *changeset;
  MUST(!sqlite3session_create(twin, "main", &session) && !sqlite3session_attach(session, NULL));
  make_changes(twin, prepared[1], at, end);
  check_equal(original, twin);
  MUST(!sqlite3session_changeset(session, &size, &changeset));
  sqlite3session_delete(session);
  run(copy, "BEGIN");
  if (!sqlite3changeset_apply(copy, size, changeset, NULL, stop_at_conflict, NULL)) check_equal(twin, copy);
  sqlite3_free(changeset);
  run(twin, "ROLLBACK");
  run(copy, "ROLLBACK");
}

/* Applies the body after the last seven bytes of the input have changed up to two of its bytes, or cut it
 * off. */
static void apply_damaged(const uint8_t *body, size_t size, const uint8_t *at, const uint8_t *end) {
  uint8_t *damaged = malloc(size);
  memcpy(damaged, body, size);
  if (end - at > 7) at = end - 7;
  for (; end - at > 3; at += 3) damaged[(at[0] << 8 | at[1]) % size] ^= at[2];
  if (end > at && *at & 1) size = size * *at >> 8;
  /* A copy of the exact size, so that the address sanitizer notices a read beyond the end. */
  uint8_t *exact = memcpy(malloc(size + !size), damaged, size);
  apply_bytes(exact, size);
  free(exact);
  free(damaged);
}

static void capture_changes(const uint8_t *at, const uint8_t *end) {
  rows_error_t error = {""};
  size_t size;
  make_changes(original, prepared[0], at, end);
  const uint8_t *body = rows_capture_body(capture, &size, &error);
  MUST(body);
  run(copy, "BEGIN");
  MUST(!size || rows_apply(applier, body, size, &error) == ROWS_APPLIED);
  check_equal(original, copy);
  run(copy, "ROLLBACK");
  if (size) apply_damaged(body, size, at, end);
  compare_with_session(at, end);
  run(original, "ROLLBACK");
  rows_capture_cut(capture, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
  if (size > LARGEST) return -1;
  if (!size || *at == ROWS__VERSION)
    apply_bytes(at, size);
  else
    capture_changes(at + 1, at + size);
  return 0;
}
