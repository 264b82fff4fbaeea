// SPDX-License-Identifier: Apache-2.0
/* file.h -- a database in memory with a capture, as the store's writer uses it. */
#ifndef FILE_H
#define FILE_H

#define SQLITE_ENABLE_PREUPDATE_HOOK
#define SQLITE_ENABLE_SESSION
#include <sqlite3.h>

#include "rows.h"

enum { FILE_LIMIT = 1 << 24, MAX_SAVEPOINTS = 32 };

typedef struct saved {
  char name[16];
  size_t mark;
} saved_t;

typedef struct file {
  sqlite3 *db;
  rows_capture_t *capture;
  saved_t saved[MAX_SAVEPOINTS];
  int saved_count;
  int failed; /* statements */
} file_t;

/* Opens a database with foreign keys, and runs the SQL. A failure ends the process. */
file_t file_open(const char *sql);
void file_close(file_t *file);

/* Runs SQL that must succeed, outside the capture's rules. */
void file_run(sqlite3 *db, const char *sql);

/* Runs statements. Each may fail. The capture is cut as rows.h requires: after a statement that SQLite has
 * undone, after ROLLBACK TO, and after a ROLLBACK. */
void file_try(file_t *file, const char *sql);

/* The entries of the captured body as text, such as "+t(1,'a') ~t(1)[2='b'] -t(1)". Valid until the next
 * call. */
const char *file_body(const file_t *file);

/* Copies all content of a database into another one. */
void file_copy(sqlite3 *from, sqlite3 *to);

/* Valid until the second call after this one. */
const char *file_hash(sqlite3 *db);

/* Applies the captured body to another database in a transaction of its own. */
rows_status_t file_apply(const file_t *file, sqlite3 *to, rows_error_t *error);

#endif
