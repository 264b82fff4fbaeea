// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "test.h"

#define SCHEMA                                                                                               \
  "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INTEGER NOT NULL) STRICT; "                      \
  "CREATE TABLE s (a INTEGER, b TEXT, c, PRIMARY KEY (a, b)) WITHOUT ROWID; "                                \
  "CREATE TABLE applied (id INTEGER PRIMARY KEY); "                                                          \
  "INSERT INTO t VALUES (1, 'x', 0), (2, 'y', 0); INSERT INTO s VALUES (1, 'p q', 0); "

/* The copy has changed before the body reaches it. */
static void expect_conflict(const char *sql, const char *before, const char *text) {
  rows_error_t error = {""};
  file_t original = file_open(SCHEMA), copy = file_open(SCHEMA);
  sqlite3_extended_result_codes(copy.db, 1); /* as GRDB's connections have them */
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  file_run(original.db, sql);
  file_run(copy.db, before);
  char hash[ROWS_HASH_SIZE];
  strcpy(hash, file_hash(copy.db));
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_CONFLICT);
  EXPECT_TEXT(error.text, text);
  EXPECT_TEXT(file_hash(copy.db), hash);
  file_close(&original);
  file_close(&copy);
}

TEST(conflicts, "apply: a conflict names the table and the key") {
  expect_conflict("DELETE FROM t WHERE id = 2", "DELETE FROM t WHERE id = 2",
                  "table t, key (2): there is no such row");
  expect_conflict("UPDATE t SET n = 1 WHERE id = 2", "UPDATE t SET id = 9 WHERE id = 2",
                  "table t, key (2): there is no such row");
  expect_conflict("UPDATE s SET c = 1", "DELETE FROM s", "table s, key (1, p?q): there is no such row");
  expect_conflict("INSERT INTO t VALUES (3, 'z', 0)", "INSERT INTO t VALUES (3, 'w', 0)",
                  "table t, key (3): UNIQUE constraint failed: t.id");
  expect_conflict("INSERT INTO t VALUES (3, 'z', 0)", "INSERT INTO t VALUES (4, 'z', 0)",
                  "table t, key (3): UNIQUE constraint failed: t.u");
  expect_conflict("INSERT INTO s VALUES (2, 'secret', 'body')", "INSERT INTO s VALUES (2, 'secret', 0)",
                  "table s, key (2, secret): UNIQUE constraint failed: s.a, s.b");
  expect_conflict("UPDATE t SET u = 'z' WHERE id = 1", "UPDATE t SET u = 'z' WHERE id = 2",
                  "table t, key (1): UNIQUE constraint failed: t.u");
}

TEST(not_replaced, "apply: a conflict clause of the schema replaces no row") {
#define REPLACING "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, u UNIQUE ON CONFLICT IGNORE); "
  rows_error_t error = {""};
  file_t original = file_open(REPLACING), copy = file_open(REPLACING);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  file_run(original.db, "INSERT INTO t VALUES (1, 1)");
  file_run(copy.db, "INSERT INTO t VALUES (1, 2)");
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_CONFLICT);
  file_run(copy.db, "UPDATE t SET id = 5, u = 1");
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_CONFLICT);
  rows_capture_cut(original.capture, 0);
  file_run(original.db, "UPDATE t SET id = 5");
  file_run(copy.db, "INSERT INTO t VALUES (1, 2)");
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_CONFLICT);
  file_close(&original);
  file_close(&copy);
}

/* A body in hexadecimal digits, and the error of its application. */
static void expect_invalid(const char *digits, const char *text) {
  static const char *const local[] = {"applied", NULL};
  rows_error_t error = {""};
  file_t file = file_open(SCHEMA);
  const size_t size = strlen(digits) / 2;
  uint8_t *body = malloc(size + !size);
  for (size_t i = 0; i < size; i++) sscanf(digits + 2 * i, "%2hhx", &body[i]);
  rows_applier_t *applier = rows_applier_open(file.db, local, &error);
  file_run(file.db, "BEGIN");
  EXPECT_INTEGER(rows_apply(applier, body, size, &error), ROWS_INVALID);
  EXPECT_TEXT(error.text, text);
  file_run(file.db, "ROLLBACK");
  rows_applier_close(applier);
  file_close(&file);
  free(body);
}

#define T                                                                                                    \
  "0100017403"                                                                                               \
  "01" /* table 0: t, three columns, the first one is the key */
TEST(invalid, "apply: a malformed body is refused") {
  expect_invalid("", "the version of the body is unknown");
  expect_invalid("02", "the version of the body is unknown");
  expect_invalid("0101", "an entry has a table that is not defined");
  expect_invalid(T "05", "an entry has a table that is not defined");
  expect_invalid("0104", "an entry has a table that is not defined");
  expect_invalid("0180", "an entry has a table that is not defined");
  expect_invalid("01ffffffffffffffffffff01", "an entry has a table that is not defined");
  expect_invalid("0100", "the definition of a table is malformed");
  expect_invalid("010001740380", "the definition of a table is malformed");
  expect_invalid("0100ffffffffffffffffff0174", "the definition of a table is malformed");
  expect_invalid("01000175"
                 "0301",
                 "table u is unknown");
  expect_invalid("010003740075"
                 "0301",
                 "table t?u is unknown");
  expect_invalid("010000"
                 "0301",
                 "table  is unknown");
  expect_invalid("0100076170706c696564"
                 "0101",
                 "table applied is local");
  expect_invalid("0100076170706c696564"
                 "0000",
                 "table applied is local");
  expect_invalid("0100017404"
                 "01",
                 "table t has other columns or another primary key in the body");
  expect_invalid("0100017403"
                 "03",
                 "table t has other columns or another primary key in the body");
  expect_invalid(T "01", "table t: an entry is malformed");
  expect_invalid(T "01"
                   "0505",
                 "table t: an entry is malformed"); /* two of three values */
  expect_invalid(T "01"
                   "05050b",
                 "table t: an entry is malformed"); /* a text without its byte */
  expect_invalid(T "01"
                   "0505f9ffffffffffffffffffff",
                 "table t: an entry is malformed");
  expect_invalid(T "01"
                   "0505f9ffffffffffffffffff02", /* a number above 2^64 */
                 "table t: an entry is malformed");
  expect_invalid(T "01"
                   "0505fbffffffffffffffff01",
                 "table t: an entry is malformed"); /* a size of 2^63 */
  expect_invalid(T "01"
                   "050500",
                 "table t: an entry is malformed"); /* no such type */
  expect_invalid(T "01"
                   "050506",
                 "table t: an entry is malformed");
  expect_invalid(T "01"
                   "05050d",
                 "table t: an entry is malformed"); /* NULL with a number */
  expect_invalid(T "01"
                   "05050a"
                   "0000000000000000",
                 "table t: an entry is malformed");
  expect_invalid(T "01"
                   "050502"
                   "00000000000000",
                 "table t: an entry is malformed");
  expect_invalid(T "02"
                   "00"
                   "11",
                 "table t: an entry is malformed"); /* an update of no column */
  expect_invalid(T "02"
                   "08"
                   "1111",
                 "table t: an entry is malformed"); /* of the fourth column */
  expect_invalid(T "02"
                   "04"
                   "11",
                 "table t: an entry is malformed");
  expect_invalid(T "03", "table t: an entry is malformed");
}

TEST(no_number, "apply: a real that is no number becomes NULL") {
  static const uint8_t body[] = {
      1, 0,    1,    's', 3, 3, /* table 0: s, three columns, the first two are the key */
      1, 0x71, 0x0b, 'x', 2, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f};
  rows_error_t error = {""};
  file_t file = file_open(SCHEMA), expected = file_open(SCHEMA "INSERT INTO s VALUES (7, 'x', NULL)");
  rows_applier_t *applier = rows_applier_open(file.db, NULL, &error);
  file_run(file.db, "BEGIN");
  EXPECT_INTEGER(rows_apply(applier, body, sizeof body, &error), ROWS_APPLIED);
  file_run(file.db, "COMMIT");
  EXPECT_TEXT(file_hash(file.db), file_hash(expected.db));
  rows_applier_close(applier);
  file_close(&file);
  file_close(&expected);
}

TEST(many_definitions, "apply: a body defines no more tables than the file has") {
  char body[200] = "01";
  for (int i = 0; i < 10; i++) sprintf(body + strlen(body), "%02x01740301", i << 2);
  expect_invalid(body, "the definition of a table is malformed");
}

TEST(cut_off, "apply: every body that is cut off is refused, or ends between two entries") {
  rows_error_t error = {""};
  size_t size;
  file_t original = file_open(SCHEMA), copy = file_open(SCHEMA);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  file_run(original.db,
           "INSERT INTO t VALUES (300, 'a longer text than those of thirty bytes', -1); "
           "UPDATE s SET a = 5000, c = 1.5; DELETE FROM t WHERE id = 1; INSERT INTO s VALUES (1, 2, x'')");
  const uint8_t *body = rows_capture_body(original.capture, &size, &error);
  rows_applier_t *applier = rows_applier_open(copy.db, NULL, &error);
  int applied = 0;
  for (size_t end = 0; end <= size; end++) {
    uint8_t *part = malloc(end + !end);
    memcpy(part, body, end);
    file_run(copy.db, "BEGIN");
    const rows_status_t status = rows_apply(applier, part, end, &error);
    EXPECT(status == ROWS_APPLIED || status == ROWS_INVALID);
    applied += status == ROWS_APPLIED;
    file_run(copy.db, "ROLLBACK");
    free(part);
  }
  EXPECT_INTEGER(applied, 7); /* behind the version, two definitions and four changes */
  rows_applier_close(applier);
  file_close(&original);
  file_close(&copy);
}

TEST(state, "apply: refuses to run triggers, foreign keys, or without a transaction") {
  rows_error_t error = {""};
  const uint8_t body[] = {1};
  file_t file = file_open(SCHEMA);
  file_run(file.db, "BEGIN");
  EXPECT(!rows_applier_open(file.db, NULL, &error));
  EXPECT_TEXT(error.text, "the connection is in a transaction");
  file_run(file.db, "COMMIT");
  rows_applier_t *applier = rows_applier_open(file.db, NULL, &error);
  EXPECT_INTEGER(rows_apply(applier, body, 1, &error), ROWS_FAILED);
  file_run(file.db, "BEGIN");
  EXPECT_INTEGER(rows_apply(applier, body, 1, &error), ROWS_APPLIED);
  file_run(file.db, "COMMIT; PRAGMA foreign_keys = ON; BEGIN");
  EXPECT_INTEGER(rows_apply(applier, body, 1, &error), ROWS_FAILED);
  file_run(file.db, "COMMIT; PRAGMA foreign_keys = OFF; BEGIN");
  sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
  EXPECT_INTEGER(rows_apply(applier, body, 1, &error), ROWS_FAILED);
  EXPECT_TEXT(error.text, "the connection runs triggers or foreign keys, or no transaction");
  file_run(file.db, "COMMIT");
  rows_applier_close(applier);
  int triggers = 0, foreign_keys = 0;
  sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &triggers);
  sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &foreign_keys);
  EXPECT(triggers && foreign_keys);
  file_close(&file);
}

TEST(read_only, "apply: a file that cannot be written is no conflict") {
  rows_error_t error = {""};
  file_t original = file_open(SCHEMA), copy = file_open(SCHEMA);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  file_run(original.db, "DELETE FROM t");
  file_run(copy.db, "PRAGMA query_only = ON");
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_FAILED);
  EXPECT_TEXT(error.text, "table t, key (1): attempt to write a readonly database");
  file_close(&original);
  file_close(&copy);
}

TEST(statements, "apply: keeps a bounded number of statements") {
  rows_error_t error = {""};
  char sql[2000];
  file_t original = file_open(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a DEFAULT 0, b DEFAULT 0, c DEFAULT 0, d DEFAULT 0, "
      "e DEFAULT 0, f DEFAULT 0, g DEFAULT 0, h DEFAULT 0, i DEFAULT 0); INSERT INTO t (id) VALUES (1)");
  file_t copy = file_open("");
  file_copy(original.db, copy.db);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  for (int set = 1; set < 512; set++) {
    strcpy(sql, "UPDATE t SET id = id");
    for (int column = 0; column < 9; column++)
      if (set >> column & 1) sprintf(sql + strlen(sql), ", %c = %c + 1", 'a' + column, 'a' + column);
    file_run(original.db, sql);
  }
  rows_applier_t *applier = rows_applier_open(copy.db, NULL, &error);
  size_t size;
  const uint8_t *body = rows_capture_body(original.capture, &size, &error);
  for (int round = 0; round < 2; round++) {
    file_run(copy.db, "BEGIN");
    EXPECT_INTEGER(rows_apply(applier, body, size, &error), ROWS_APPLIED);
    file_run(copy.db, round ? "ROLLBACK" : "COMMIT");
  }
  EXPECT_TEXT(file_hash(copy.db), file_hash(original.db));
  int count = 0;
  for (sqlite3_stmt *at = NULL; (at = sqlite3_next_stmt(copy.db, at));) count++;
  EXPECT_INTEGER(count, 256);
  rows_applier_close(applier);
  file_close(&original);
  file_close(&copy);
}

TEST(sequence, "apply: the copy goes on with the numbers of AUTOINCREMENT") {
#define NUMBERED "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE); "
  rows_error_t error = {""};
  file_t original = file_open(NUMBERED), copy = file_open(NUMBERED);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  file_run(original.db, "INSERT INTO t (a) VALUES (1), (2), (3); DELETE FROM t WHERE id > 1");
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_APPLIED);
  file_run(original.db, "INSERT INTO t (a) VALUES (4)");
  file_run(copy.db, "INSERT INTO t (a) VALUES (4)");
  EXPECT_TEXT(file_hash(copy.db), file_hash(original.db));
  file_close(&original);
  file_close(&copy);
}
