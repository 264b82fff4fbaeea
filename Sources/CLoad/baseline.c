// SPDX-License-Identifier: Apache-2.0
/* The baseline: a loop of SQLite transactions. See load_baseline.h. */
#include "floor.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char schema[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
    "CREATE TABLE messages (room INTEGER NOT NULL, seq INTEGER NOT NULL, sender INTEGER "
    "NOT NULL, time INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (room, seq)) "
    "STRICT, WITHOUT ROWID;";

static bool insert(sqlite3_stmt *statement, const load_baseline_t *baseline, uint64_t row, const char *body) {
  const uint64_t room = row % baseline->rooms;
  sqlite3_bind_int64(statement, 1, (sqlite3_int64)room + 1);
  sqlite3_bind_int64(statement, 2, (sqlite3_int64)(row / baseline->rooms) + 1);
  sqlite3_bind_int64(statement, 3, (sqlite3_int64)room + 1);
  sqlite3_bind_int64(statement, 4, (sqlite3_int64)time(NULL) * 1000);
  sqlite3_bind_blob(statement, 5, body, (int)baseline->body, SQLITE_STATIC);
  const bool is_in = sqlite3_step(statement) == SQLITE_DONE;
  sqlite3_reset(statement);
  return is_in;
}

static bool run(sqlite3 *database, const load_baseline_t *baseline, const char *body,
                load_baseline_result_t *result) {
  load_histogram_t commits = {0};
  sqlite3_stmt *statement = NULL;
  if (sqlite3_exec(database, schema, NULL, NULL, NULL)) return false;
  if (sqlite3_prepare_v2(database,
                         "INSERT INTO messages (room, seq, sender, time, body) VALUES (?, ?, ?, ?, ?)", -1,
                         &statement, NULL))
    return false;
  const uint64_t started = load__clock(), end = started + (uint64_t)(baseline->seconds * 1e9);
  uint64_t rows = 0, now = started;
  bool is_well = true;
  while (is_well && now < end) {
    is_well = !sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (uint32_t i = 0; is_well && i < baseline->group; i++)
      is_well = insert(statement, baseline, rows++, body);
    is_well = is_well && !sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    const uint64_t before = now;
    now = load__clock();
    load_histogram_add(&commits, now - before);
  }
  *result = (load_baseline_result_t){.rate = (double)rows * 1e9 / (double)(now - started),
                                     .median = load_histogram_quantile(&commits, 0.5),
                                     .high = load_histogram_quantile(&commits, 0.99),
                                     .highest = load_histogram_quantile(&commits, 0.999)};
  sqlite3_finalize(statement);
  return is_well;
}

size_t load__database_path(char *path, size_t capacity, const char *folder) {
  const int size = snprintf(path, capacity, "%s/stillwire-bench-%ld.db", folder, (long)getpid());
  return size > 0 && (size_t)size + sizeof "-wal" <= capacity ? (size_t)size : 0;
}

void load__database_remove(char *path, size_t size) {
  static const char *const endings[] = {"", "-wal", "-shm"};
  for (int i = 0; i < 3; i++) {
    strcpy(path + size, endings[i]);
    unlink(path);
  }
}

bool load_baseline_run(const load_baseline_t *baseline, const char *folder, load_baseline_result_t *result,
                       char *why, size_t why_size) {
  char path[FLOOR_MAX_PATH];
  const size_t size = load__database_path(path, sizeof path, folder);
  if (!size) {
    snprintf(why, why_size, "the path of the folder is too long");
    return false;
  }
  sqlite3 *database = NULL;
  char *body = load__resize(NULL, baseline->body);
  memset(body, 'x', baseline->body);
  bool is_well = !sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  is_well = is_well && run(database, baseline, body, result);
  if (!is_well) snprintf(why, why_size, "%s: %s", path, sqlite3_errmsg(database));
  sqlite3_close(database);
  free(body);
  load__database_remove(path, size);
  return is_well;
}
