// SPDX-License-Identifier: Apache-2.0
/* The rows of the floor: the table of Focus reports that the relay has, with the relay's settings. */
#include "floor.h"

#include <time.h>

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
    "PRAGMA wal_autocheckpoint = 4096;"
    "CREATE TABLE focus (user INTEGER NOT NULL, device TEXT NOT NULL, is_focused INTEGER, "
    "authorization TEXT NOT NULL, at INTEGER NOT NULL, number INTEGER, source TEXT, "
    "received INTEGER NOT NULL, since INTEGER, settles INTEGER, steps INTEGER NOT NULL, "
    "PRIMARY KEY (user, device)) STRICT, WITHOUT ROWID;"
    /* The log of a relay that has run for a while has its full size, and a commit does not make it longer. */
    "CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(4096 * 4096)); DROP TABLE filler;"
    "PRAGMA wal_checkpoint(RESTART);";
static const char insert[] = "INSERT OR REPLACE INTO focus (user, device, is_focused, authorization, at, "
                             "number, received, since, steps) "
                             "VALUES (?, 'phone', ?, 'authorized', ?, ?, ?, ?, 0)";

static bool prepare(load_rows_t *rows, const char *sql, sqlite3_stmt **statement) {
  return !sqlite3_prepare_v3(rows->database, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

bool load__rows_open(load_rows_t *rows, const char *folder) {
  rows->path_size = load__database_path(rows->path, sizeof rows->path, folder);
  return rows->path_size &&
         !sqlite3_open_v2(rows->path, &rows->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) &&
         !sqlite3_exec(rows->database, schema, NULL, NULL, NULL) &&
         prepare(rows, "BEGIN IMMEDIATE", &rows->begin) && prepare(rows, insert, &rows->insert) &&
         prepare(rows, "COMMIT", &rows->commit);
}

static bool step(sqlite3_stmt *statement) {
  const bool is_done = sqlite3_step(statement) == SQLITE_DONE;
  sqlite3_reset(statement);
  return is_done;
}

bool load__rows_add(load_rows_t *rows, uint64_t user, bool is_focused, uint64_t number) {
  if (!rows->is_open && !(rows->is_open = step(rows->begin))) return false;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  const sqlite3_int64 now = (sqlite3_int64)time.tv_sec * 1000 + time.tv_nsec / 1000000;
  sqlite3_bind_int64(rows->insert, 1, (sqlite3_int64)user);
  if (is_focused)
    sqlite3_bind_int(rows->insert, 2, 1);
  else
    sqlite3_bind_null(rows->insert, 2);
  sqlite3_bind_int64(rows->insert, 3, now);
  sqlite3_bind_int64(rows->insert, 4, (sqlite3_int64)number);
  sqlite3_bind_int64(rows->insert, 5, now);
  sqlite3_bind_int64(rows->insert, 6, now);
  return step(rows->insert);
}

bool load__rows_commit(load_rows_t *rows) {
  if (!rows->is_open) return true;
  rows->is_open = false;
  return step(rows->commit);
}

void load__rows_close(load_rows_t *rows) {
  sqlite3_finalize(rows->begin);
  sqlite3_finalize(rows->insert);
  sqlite3_finalize(rows->commit);
  sqlite3_close(rows->database);
  if (rows->path_size) load__database_remove(rows->path, rows->path_size);
}
