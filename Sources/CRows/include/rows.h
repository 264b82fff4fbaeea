// SPDX-License-Identifier: Apache-2.0
/* rows.h -- captures the rows that a SQLite transaction changes, and applies them to another file.
 *
 * THREADS   An object belongs to the thread that uses its connection. Close it before the connection.
 *
 * SCHEMA    Both files have the same tables. Each table has a PRIMARY KEY with the collations of its columns,
 * at most ROWS_MAX_COLUMNS columns, no generated column, and no REAL column if it is WITHOUT ROWID. Views and
 * tables whose name begins with `sqlite_` are ignored. DDL is not captured: open the objects after the
 * migrations. A call of sqlite3_blob_write() makes the capture fail.
 *
 * LOCAL     `local` lists the tables that are not replicated, and ends with NULL. If it is NULL, all tables
 * are replicated.
 *
 * MEMORY    Callers own the memory that they pass. A process without memory ends.
 *
 * FAULTS    SQLite 3.40 copies the stored records for `INSERT INTO a SELECT * FROM b` if both tables have the
 * same columns. A column with a default that ALTER TABLE added later is then captured as NULL. Name the
 * columns in such a SELECT.
 *
 * Everything that is not in this file is private.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

enum { ROWS_MAX_COLUMNS = 64, ROWS_HASH_SIZE = 33 };

/* The text of an error, for the operator. A conflict names its table and its key, and contains no other
 * value. */
typedef struct rows_error {
  char text[256];
} rows_error_t;

/* Capture: all changes of rows in the order in which SQLite makes them, also those of triggers and cascades.
 */

typedef struct rows_capture rows_capture_t;

/* Installs the preupdate hook of the connection. SQLite then prepares the statements of the connection again,
 * so that a DELETE without WHERE that was prepared before visits each row. Call this outside a transaction.
 * The capture fails if the changes have more than `limit` bytes. Returns NULL and sets the error if a table
 * is unsuitable or if there is another hook. No other code may install a preupdate hook or a session later.
 */
rows_capture_t *rows_capture_open(struct sqlite3 *db, const char *const *local, size_t limit,
                                  rows_error_t *error);
/* NULL is allowed. */
void rows_capture_close(rows_capture_t *capture);

/* The bytes that are captured so far. The value is also a mark for rows_capture_cut(). */
size_t rows_capture_size(const rows_capture_t *capture);
/* True if the changes exceeded the limit. rows_capture_body() then fails until the changes are cut. */
bool rows_capture_is_over(const rows_capture_t *capture);

/* Removes the changes after a mark. SQLite does not report what it undoes, so call this:
 *
 * - after ROLLBACK TO, with the mark of the savepoint
 * - after ROLLBACK, after a rollback by SQLite, and after COMMIT, with 0
 * - after a failed INSERT of one row, with the mark before it
 *
 * Run any other statement that may fail within a savepoint, and ROLLBACK TO it after a failure. SQLite 3.40
 * keeps the rows before the one that failed, not only with OR FAIL, but also if a value has the wrong type
 * for a STRICT table. */
void rows_capture_cut(rows_capture_t *capture, size_t mark);

/* Returns the changes, valid until the next change, cut or close. The size is 0 if no row changed. Returns
 * NULL and sets the error if a change could not be captured. The transaction must then be rolled back to a
 * mark before it.
 *
 * COMMIT still fails if a deferred foreign key has no row: sqlite3_db_status() counts these keys for
 * SQLITE_DBSTATUS_DEFERRED_FKS. */
const uint8_t *rows_capture_body(const rows_capture_t *capture, size_t *size, rows_error_t *error);

/* Apply */

typedef enum rows_status {
  ROWS_APPLIED,
  ROWS_CONFLICT, /* an inserted row exists already, a changed row is missing, or a constraint failed */
  ROWS_INVALID,  /* the body is malformed, or its tables are not those of the file */
  ROWS_FAILED    /* SQLite could not read or write, or the connection is in the wrong state */
} rows_status_t;

typedef struct rows_applier rows_applier_t;

/* Switches the connection's triggers and foreign keys off until rows_applier_close(), because a body contains
 * the changes that they made. Close the applier before other code changes rows. Call both functions outside a
 * transaction, and on a connection without a capture. Returns NULL and sets the error on failure. */
rows_applier_t *rows_applier_open(struct sqlite3 *db, const char *const *local, rows_error_t *error);
/* NULL is allowed. */
void rows_applier_close(rows_applier_t *applier);

/* Applies a body within the caller's transaction. The body may have any content. Each change must affect
 * exactly one row. The first change that fails ends the call. Roll the transaction back unless the result is
 * ROWS_APPLIED. After ROWS_FAILED, SQLite may have rolled it back already.
 *
 * The numbers of AUTOINCREMENT follow the inserted rows. The copy may use a number that an INSERT without
 * effect has skipped in the original. */
rows_status_t rows_apply(rows_applier_t *applier, const void *body, size_t size, rows_error_t *error);

/* Comparison */

/* Writes the hash of all replicated tables as 32 hexadecimal digits and NUL: FNV-1a with 128 bits over the
 * names and the values, ordered by primary key. It does not depend on rowids. It detects accidents, not
 * forgeries. Call this within a transaction, so that all tables are read at one point in time. */
bool rows_hash(struct sqlite3 *db, const char *const *local, char hash[ROWS_HASH_SIZE], rows_error_t *error);

#endif
