// SPDX-License-Identifier: Apache-2.0
/* floor.h -- the parts of the floor: its loop and its rows. See load_floor.h. */
#ifndef FLOOR_H
#define FLOOR_H

#include "internal.h"

#include <sqlite3.h>

enum { FLOOR_MAX_PATH = 4096 };

/* The database of the reports. */
typedef struct {
  sqlite3 *database;
  sqlite3_stmt *begin, *insert, *commit;
  bool is_open; /* the transaction */
  char path[FLOOR_MAX_PATH];
  size_t path_size;
} load_rows_t;

/* Uses a new file in `folder`. Returns false on failure. */
bool load__rows_open(load_rows_t *rows, const char *folder);
/* Stores the row of a report in the open transaction, and begins one if none is open. */
bool load__rows_add(load_rows_t *rows, uint64_t user, bool is_focused, uint64_t number);
bool load__rows_commit(load_rows_t *rows);
/* Closes the database and removes its files. */
void load__rows_close(load_rows_t *rows);

/* Makes the path of a new database in `folder`. Returns its size, or 0 if it is too long. */
size_t load__database_path(char *path, size_t capacity, const char *folder);
/* Removes the files of such a database. Changes the path. */
void load__database_remove(char *path, size_t size);

#endif
