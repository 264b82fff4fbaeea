// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool is_true, const char *what, sqlite3 *db) {
  if (is_true) return;
  printf("%s: %s\n", what, db ? sqlite3_errmsg(db) : "");
  abort();
}

void file_run(sqlite3 *db, const char *sql) {
  must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, sql, db);
}

file_t file_open(const char *sql) {
  file_t file = {0};
  must(sqlite3_open(":memory:", &file.db) == SQLITE_OK, "open", file.db);
  file_run(file.db, "PRAGMA foreign_keys = ON");
  file_run(file.db, sql);
  return file;
}

void file_close(file_t *file) {
  rows_capture_close(file->capture);
  must(sqlite3_close(file->db) == SQLITE_OK, "close", file->db);
  *file = (file_t){0};
}

/* The name behind a prefix of a statement; NULL: it has another one. */
static const char *name_after(const char *sql, const char *prefix) {
  return strncmp(sql, prefix, strlen(prefix)) ? NULL : sql + strlen(prefix);
}

static int find_saved(const file_t *file, const char *name) {
  for (int i = file->saved_count; i-- > 0;)
    if (!strcmp(file->saved[i].name, name)) return i;
  must(false, name, NULL);
  return 0;
}

static void cut(file_t *file, size_t mark) {
  if (file->capture) rows_capture_cut(file->capture, mark);
}

static void follow(file_t *file, const char *sql, size_t mark) {
  const char *name;
  if ((name = name_after(sql, "SAVEPOINT "))) {
    must(file->saved_count < MAX_SAVEPOINTS, "savepoints", NULL);
    saved_t *saved = &file->saved[file->saved_count++];
    snprintf(saved->name, sizeof saved->name, "%s", name);
    saved->mark = mark;
  } else if ((name = name_after(sql, "RELEASE "))) {
    file->saved_count = find_saved(file, name);
  } else if ((name = name_after(sql, "ROLLBACK TO "))) {
    const int index = find_saved(file, name);
    file->saved_count = index + 1;
    cut(file, file->saved[index].mark);
  }
}

/* An INSERT of one row needs no savepoint. Neither do the statements that begin and end transactions. */
static bool needs_savepoint(const file_t *file, const char *sql) {
  if (sqlite3_get_autocommit(file->db)) return false;
  if (name_after(sql, "INSERT INTO") && !strstr(sql, "), (")) return false;
  return name_after(sql, "INSERT") || name_after(sql, "UPDATE") || name_after(sql, "DELETE") ||
         name_after(sql, "REPLACE");
}

static void try_one(file_t *file, sqlite3_stmt *statement) {
  char sql[20000];
  snprintf(sql, sizeof sql, "%s", sqlite3_sql(statement));
  const size_t mark = file->capture ? rows_capture_size(file->capture) : 0;
  const bool was_inside = !sqlite3_get_autocommit(file->db), has_savepoint = needs_savepoint(file, sql);
  if (has_savepoint) file_run(file->db, "SAVEPOINT statement");
  while (sqlite3_step(statement) == SQLITE_ROW) continue;
  const int code = sqlite3_finalize(statement);
  const bool is_commit = name_after(sql, "COMMIT") || name_after(sql, "RELEASE");
  if (was_inside && sqlite3_get_autocommit(file->db) && !is_commit) {
    cut(file, 0);
    file->saved_count = 0;
    return;
  }
  if (code && has_savepoint) file_run(file->db, "ROLLBACK TO statement");
  if (has_savepoint) file_run(file->db, "RELEASE statement");
  if (!code) return follow(file, sql, mark);
  file->failed++;
  cut(file, mark);
}

void file_try(file_t *file, const char *sql) {
  while (*sql) {
    sqlite3_stmt *statement = NULL;
    const char *rest;
    must(sqlite3_prepare_v2(file->db, sql, -1, &statement, &rest) == SQLITE_OK, sql, file->db);
    sql = rest;
    while (*sql == ' ' || *sql == '\n') sql++;
    if (statement) try_one(file, statement);
  }
}

/* A second reader of the format, by its description alone. */
typedef struct {
  const uint8_t *at, *end;
} view_t;

static uint64_t number(view_t *view) {
  uint64_t number = 0;
  int shift = 0;
  do {
    must(view->at < view->end, "number", NULL);
    number |= (uint64_t)(*view->at & 127) << shift;
    shift += 7;
  } while (*view->at++ & 128);
  return number;
}

static void show_value(view_t *view, char **to) {
  must(view->at < view->end, "value", NULL);
  const int type = *view->at & 7;
  uint64_t count = *view->at++ >> 3;
  double real;
  if (count == 31) count = number(view);
  if (type == SQLITE_NULL) *to += sprintf(*to, "NULL");
  if (type == SQLITE_INTEGER) *to += sprintf(*to, "%lld", (long long)(count >> 1 ^ -(count & 1)));
  if (type == SQLITE_FLOAT) {
    memcpy(&real, view->at, 8);
    view->at += 8;
    *to += sprintf(*to, "%.17g", real);
  }
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) return;
  must(count <= (uint64_t)(view->end - view->at), "bytes", NULL);
  *to += sprintf(*to, type == SQLITE_TEXT ? "'" : "x'");
  for (uint64_t i = 0; i < count; i++)
    *to += sprintf(*to, type == SQLITE_BLOB ? "%02x" : "%c", count > 100 ? 0 : view->at[i]);
  *to += sprintf(*to, "'");
  view->at += count;
}

static void show_key(view_t *view, uint64_t keys, char **to) {
  *to += sprintf(*to, "(");
  for (const char *comma = ""; keys; keys &= keys - 1, comma = ",") {
    *to += sprintf(*to, "%s", comma);
    show_value(view, to);
  }
  *to += sprintf(*to, ")");
}

const char *file_body(const file_t *file) {
  static char text[1 << 20];
  static struct {
    const char *name;
    uint64_t size, columns, keys;
  } tables[64];
  size_t size;
  rows_error_t error;
  const uint8_t *body = rows_capture_body(file->capture, &size, &error);
  if (!body) return strcpy(text, error.text);
  view_t view = {body + 1, body + size};
  char *to = text;
  *to = 0;
  for (size_t count = 0; size && view.at < view.end;) {
    const uint64_t head = number(&view), table = head >> 2;
    if (!(head & 3)) {
      must(table == count && count < 64, "definition", NULL);
      tables[count].size = number(&view);
      tables[count].name = (const char *)view.at;
      view.at += tables[count].size;
      tables[count].columns = number(&view);
      tables[count++].keys = number(&view);
      continue;
    }
    must(table < count, "table", NULL);
    to += sprintf(to, "%s%c%.*s", to == text ? "" : " ", "?+~-"[head & 3], (int)tables[table].size,
                  tables[table].name);
    uint64_t changed = (head & 3) == 2 ? number(&view) : 0;
    show_key(&view, (head & 3) == 1 ? (UINT64_C(1) << tables[table].columns) - 1 : tables[table].keys, &to);
    for (const char *before = "["; changed; changed &= changed - 1, before = ",") {
      to += sprintf(to, "%s%d=", before, __builtin_ctzll(changed) + 1);
      show_value(&view, &to);
      if (!(changed & (changed - 1))) to += sprintf(to, "]");
    }
  }
  return text;
}

void file_copy(sqlite3 *from, sqlite3 *to) {
  sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
  must(backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE, "copy", to);
  sqlite3_backup_finish(backup);
}

const char *file_hash(sqlite3 *db) {
  static char hashes[2][ROWS_HASH_SIZE];
  static int turn;
  rows_error_t error;
  turn = !turn;
  if (!rows_hash(db, NULL, hashes[turn], &error)) must(false, error.text, db);
  return hashes[turn];
}

rows_status_t file_apply(const file_t *file, sqlite3 *to, rows_error_t *error) {
  size_t size;
  const uint8_t *body = rows_capture_body(file->capture, &size, error);
  if (!body) return ROWS_FAILED;
  rows_applier_t *applier = rows_applier_open(to, NULL, error);
  if (!applier) return ROWS_FAILED;
  file_run(to, "BEGIN");
  /* A copy of the exact size, so that the address sanitizer notices a read beyond the end. */
  uint8_t *copy = malloc(size + !size);
  memcpy(copy, body, size);
  const rows_status_t status = size ? rows_apply(applier, copy, size, error) : ROWS_APPLIED;
  free(copy);
  file_run(to, status == ROWS_APPLIED ? "COMMIT" : "ROLLBACK");
  rows_applier_close(applier);
  return status;
}
