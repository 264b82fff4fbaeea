// SPDX-License-Identifier: Apache-2.0
/* Compares the capture with SQLite's session extension, on the tables of a store and with the changes that
 * messages with a push make there. The modes take turns, so that other programs on the machine slow all of
 * them down. */
#define SQLITE_ENABLE_PREUPDATE_HOOK
#define SQLITE_ENABLE_SESSION
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rows.h"

enum { MESSAGES = 10000, ROWS_EACH = 7, STATEMENTS = 7, USERS = 50, ROOMS = 20, LIMIT = 1 << 24 };

/* A push is claimed and sent some messages later, in another group. The first messages fill the tables. */
enum { LAG = 200 };

typedef enum { NONE, CAPTURE, SESSION, MODES } kind_t;

/* Each message makes one change by each statement. The last two are about the job of an earlier message. */
static const char *const statements[STATEMENTS] = {
    "INSERT INTO messages (room, seq, sender, time, mentions, push_category, push, body) "
    "VALUES (?1, ?2, ?3, 1700000000000 + ?4, '[\"ann\"]', 'order', CAST('{\"title\":\"An "
    "order\",\"sound\":\"default\"}' AS BLOB), ?5)",
    "INSERT INTO keys (room, user, key, seq, time, expires) "
    "VALUES (?1, ?3, ?6, ?2, 1700000000000 + ?4, 1700086400000 + ?4) "
    "ON CONFLICT (room, user, key) DO UPDATE SET seq = excluded.seq",
    "UPDATE rooms SET seq = ?2, cursor = ?2 WHERE id = ?1",
    "UPDATE members SET read = ?2 WHERE room = ?1 AND user = ?3",
    "INSERT INTO jobs (id, room, seq, round, user, device, platform, token, lane, state, is_next, due, "
    "created, expires, "
    "is_notify_anyway, level, reasons, explanation) VALUES (?6, ?1, ?2, 0, ?3, 'phone', 'ios', ?7, 'apple', "
    "'ready', 1, "
    "1700000000000 + ?4, 1700000000000 + ?4, 1700086400000 + ?4, 0, 'active', '[\"away\"]', ?8)",
    "UPDATE jobs SET state = 'sending', lease = 1700000030000 + ?4, attempts = attempts + 1 WHERE id = ?6",
    "UPDATE jobs SET state = 'sent', lease = NULL, finished_at = 1700000001000 + ?4, "
    "attempt_log = '[{\"at\":1700000000500,\"status\":200}]' WHERE id = ?6",
};

typedef struct {
  sqlite3 *db, *copy;
  sqlite3_stmt *statements[STATEMENTS];
  rows_capture_t *capture;
  rows_applier_t *applier;
  double seconds, apply_seconds;
  uint64_t bytes;
} side_t;

static char folder[] = "/dev/shm/rows-bench-XXXXXX";

static void must(bool is_true, const char *what, sqlite3 *db) {
  if (is_true) return;
  fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "");
  exit(1);
}

static void run(sqlite3 *db, const char *sql) {
  must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql, db);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void make_message(sqlite3 *db, sqlite3_stmt **prepared, int number, int count) {
  char body[201], id[37], token[65], explanation[161];
  memset(body, 'b', 200), memset(explanation, 'e', 160);
  body[200] = explanation[160] = 0;
  snprintf(token, sizeof token, "%064x", number % USERS);
  for (int i = 0; i < count; i++) {
    const int at = i < 5 ? number : number - LAG;
    sqlite3_stmt *statement = prepared[i];
    snprintf(id, sizeof id, "%08x-0000-4000-8000-%012x", (unsigned)at * 2654435761u, at);
    const int parameters = sqlite3_bind_parameter_count(statement);
    sqlite3_bind_int(statement, 1, number % ROOMS + 1);
    sqlite3_bind_int(statement, 2, number / ROOMS + 1);
    sqlite3_bind_int(statement, 3, number / ROOMS % USERS + 1);
    sqlite3_bind_int(statement, 4, number);
    if (parameters >= 5) sqlite3_bind_blob(statement, 5, body, 200, SQLITE_STATIC);
    if (parameters >= 6) sqlite3_bind_text(statement, 6, id, -1, SQLITE_STATIC);
    if (parameters >= 7) sqlite3_bind_text(statement, 7, token, -1, SQLITE_STATIC);
    if (parameters >= 8) sqlite3_bind_text(statement, 8, explanation, -1, SQLITE_STATIC);
    must(sqlite3_step(statement) == SQLITE_DONE, statements[i], db);
    must(sqlite3_changes(db) == 1, statements[i], NULL);
    sqlite3_reset(statement);
  }
}

static void prepare_all(sqlite3 *db, sqlite3_stmt **prepared) {
  for (int i = 0; i < STATEMENTS; i++)
    must(!sqlite3_prepare_v3(db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &prepared[i], NULL),
         statements[i], db);
}

static sqlite3 *open_file(const char *name, const char *schema) {
  char path[100];
  sqlite3 *db;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  must(sqlite3_open(path, &db) == SQLITE_OK, path, db);
  run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; BEGIN");
  run(db, schema);
  char sql[200];
  for (int user = 1; user <= USERS; user++) {
    snprintf(sql, sizeof sql, "INSERT INTO users (id, name) VALUES (%d, 'user-%d')", user, user);
    run(db, sql);
  }
  for (int room = 1; room <= ROOMS; room++) {
    snprintf(sql, sizeof sql, "INSERT INTO rooms (id, name, epoch) VALUES (%d, 'room-%d', 'epoch')", room,
             room);
    run(db, sql);
    for (int user = 1; user <= USERS; user++) {
      snprintf(sql, sizeof sql, "INSERT INTO members (room, user, read, received) VALUES (%d, %d, 0, 0)",
               room, user);
      run(db, sql);
    }
  }
  sqlite3_stmt *prepared[STATEMENTS];
  prepare_all(db, prepared);
  for (int number = 0; number < LAG; number++) make_message(db, prepared, number, 5);
  for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(prepared[i]);
  run(db, "COMMIT; PRAGMA foreign_keys = ON");
  return db;
}

static int stop_at_conflict(void *context, int reason, sqlite3_changeset_iter *iterator) {
  (void)context, (void)reason, (void)iterator;
  return SQLITE_CHANGESET_ABORT;
}

/* The time from BEGIN to COMMIT, with the body; then that of its application. */
static void make_group(side_t *side, kind_t mode, int first, int size) {
  rows_error_t error = {""};
  sqlite3_session *session = NULL;
  const void *body = NULL;
  void *changes = NULL;
  size_t bytes = 0;
  int changeset_size = 0;
  double began = now();
  run(side->db, "BEGIN IMMEDIATE");
  if (mode == SESSION) {
    sqlite3session_create(side->db, "main", &session);
    sqlite3session_attach(session, NULL);
  }
  for (int i = 0; i < size; i++) make_message(side->db, side->statements, LAG + first + i, STATEMENTS);
  if (mode == CAPTURE) body = rows_capture_body(side->capture, &bytes, &error);
  if (mode == SESSION) {
    must(sqlite3session_changeset(session, &changeset_size, &changes) == SQLITE_OK, "changeset", side->db);
    sqlite3session_delete(session);
  }
  run(side->db, "COMMIT");
  side->seconds += now() - began;
  side->bytes += bytes + (size_t)changeset_size;
  if (mode == NONE) return;
  began = now();
  run(side->copy, "BEGIN IMMEDIATE");
  if (mode == CAPTURE)
    must(rows_apply(side->applier, body, bytes, &error) == ROWS_APPLIED, error.text, NULL);
  else
    must(!sqlite3changeset_apply(side->copy, changeset_size, changes, NULL, stop_at_conflict, NULL), "apply",
         side->copy);
  run(side->copy, "COMMIT");
  side->apply_seconds += now() - began;
  sqlite3_free(changes);
  if (side->capture) rows_capture_cut(side->capture, 0);
}

static void open_side(side_t *side, kind_t mode, const char *schema) {
  rows_error_t error = {""};
  char name[20];
  *side = (side_t){0};
  snprintf(name, sizeof name, "%d", mode);
  side->db = open_file(name, schema);
  snprintf(name, sizeof name, "%d-copy", mode);
  side->copy = open_file(name, schema);
  run(side->copy, "PRAGMA foreign_keys = OFF");
  if (mode == CAPTURE) {
    side->capture = rows_capture_open(side->db, NULL, LIMIT, &error);
    side->applier = rows_applier_open(side->copy, NULL, &error);
    must(side->capture && side->applier, error.text, NULL);
  }
  prepare_all(side->db, side->statements);
}

static void close_side(side_t *side) {
  for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(side->statements[i]);
  rows_capture_close(side->capture);
  rows_applier_close(side->applier);
  sqlite3_close(side->db);
  sqlite3_close(side->copy);
}

static void compare(const char *schema, int size) {
  side_t sides[MODES];
  char hashes[MODES][2][ROWS_HASH_SIZE];
  rows_error_t error;
  must(mkdtemp(strcpy(folder, "/dev/shm/rows-bench-XXXXXX")), "a folder in /dev/shm", NULL);
  for (kind_t mode = NONE; mode < MODES; mode++) open_side(&sides[mode], mode, schema);
  for (int first = 0; first < MESSAGES; first += size)
    for (int turn = 0; turn < MODES; turn++) {
      /* Each mode is the first one equally often, because a copy's changes evict the pages of others. */
      const kind_t mode = (kind_t)((first / size + turn) % MODES);
      make_group(&sides[mode], mode, first, size);
    }
  for (kind_t mode = NONE; mode < MODES; mode++) {
    must(rows_hash(sides[mode].db, NULL, hashes[mode][0], &error), error.text, NULL);
    must(rows_hash(sides[mode].copy, NULL, hashes[mode][1], &error), error.text, NULL);
    must(!strcmp(hashes[mode][0], hashes[NONE][0]), "equal originals", NULL);
    must(mode == NONE || !strcmp(hashes[mode][0], hashes[mode][1]), "an equal copy", NULL);
  }
  const double rows = (double)MESSAGES * ROWS_EACH;
  const side_t *none = &sides[NONE], *capture = &sides[CAPTURE], *session = &sides[SESSION];
  printf("%8d %5d | %8.2f us %8.2f %10.2f | %8.0f %10.0f | %8.2f us %8.2f us %6.1f\n", size, size * ROWS_EACH,
         none->seconds / rows * 1e6, capture->seconds / none->seconds, session->seconds / none->seconds,
         (double)capture->bytes / rows, (double)session->bytes / rows, session->apply_seconds / rows * 1e6,
         capture->apply_seconds / rows * 1e6, session->apply_seconds / capture->apply_seconds);
  for (kind_t mode = NONE; mode < MODES; mode++) close_side(&sides[mode]);
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", folder);
  must(!system(command), command, NULL);
}

int main(void) {
  /* A process with a large heap gives no memory back to the kernel after each group. */
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 26);
  char *schema = calloc(1, 1 << 20);
  FILE *file = fopen(SCHEMA_FILE, "r");
  must(file && fread(schema, 1, (1 << 20) - 1, file), SCHEMA_FILE, NULL);
  fclose(file);
  printf("%14s | %35s | %19s | %29s\n", "a group", "to change a row, and its commit", "bytes a row",
         "to apply a row");
  printf("%8s %5s | %11s %8s %10s | %8s %10s | %11s %11s %6s\n", "messages", "rows", "alone = 1", "capture",
         "extension", "capture", "extension", "extension", "capture", "faster");
  for (int size = 1; size <= 100; size *= 10) compare(schema, size);
  free(schema);
}
