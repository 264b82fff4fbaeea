// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "file.h"
#include "test.h"

#define SCHEMA                                                                                               \
  "CREATE TABLE t (a INTEGER NOT NULL, b TEXT NOT NULL, c, PRIMARY KEY (b, a)); "                            \
  "CREATE TABLE s (id INTEGER PRIMARY KEY, a ANY) STRICT, WITHOUT ROWID; "

static void expect(const char *one, const char *other, bool is_equal) {
  file_t file = file_open(one), second = file_open(other);
  EXPECT(!strcmp(file_hash(file.db), file_hash(second.db)) == is_equal);
  file_close(&file);
  file_close(&second);
}

TEST(equal, "hash: equal for the same rows") {
  expect(SCHEMA, SCHEMA, true);
  /* Other rowids, and another order of insertion. */
  expect(SCHEMA "INSERT INTO t VALUES (1, 'x', 2.5), (2, 'x', NULL), (3, 'w', x'00')",
         SCHEMA "INSERT INTO t VALUES (9, 'x', 0); INSERT INTO t VALUES (3, 'w', x'00'), (2, 'x', NULL), (1, "
                "'x', 2.5); "
                "DELETE FROM t WHERE a = 9",
         true);
  expect(SCHEMA "CREATE INDEX i ON t (c); INSERT INTO t VALUES (1, 'x', 1); ANALYZE",
         SCHEMA "INSERT INTO t VALUES (1, 'x', 1)", true);
}

TEST(different, "hash: different for any other value, type or table") {
  static const char *const rows[] = {
      SCHEMA,
      SCHEMA "CREATE TABLE u (id INTEGER PRIMARY KEY)",
      SCHEMA "INSERT INTO t VALUES (1, 'x', NULL)",
      SCHEMA "INSERT INTO t VALUES (1, 'x', 1)",
      SCHEMA "INSERT INTO t VALUES (1, 'x', 1.0)",
      SCHEMA "INSERT INTO t VALUES (1, 'x', '1')",
      SCHEMA "INSERT INTO t VALUES (1, 'x', x'31')",
      SCHEMA "INSERT INTO t VALUES (1, 'x', '')",
      SCHEMA "INSERT INTO t VALUES (1, 'x', x'')",
      SCHEMA "INSERT INTO t VALUES (1, 'x', -1)",
      SCHEMA "INSERT INTO t VALUES (1, 'x1', '')",
      SCHEMA "INSERT INTO t VALUES (1, 'x', 1), (2, 'x', 1)",
  };
  enum { COUNT = sizeof rows / sizeof *rows };
  for (int i = 0; i < COUNT; i++)
    for (int j = 0; j < i; j++) expect(rows[i], rows[j], false);
}

TEST(local_tables, "hash: local tables do not count") {
  static const char *const local[] = {"applied", NULL};
  char one[ROWS_HASH_SIZE], other[ROWS_HASH_SIZE];
  rows_error_t error;
  file_t file = file_open(SCHEMA "CREATE TABLE applied (a); ");
  EXPECT(rows_hash(file.db, local, one, &error));
  file_run(file.db, "INSERT INTO applied VALUES (1)");
  EXPECT(rows_hash(file.db, local, other, &error));
  EXPECT_TEXT(one, other);
  file_run(file.db, "DROP TABLE applied");
  EXPECT_TEXT(file_hash(file.db), one);
  file_close(&file);
}

TEST(vectors, "hash: the values of FNV-1a") {
  char hash[ROWS_HASH_SIZE];
  rows_error_t error;
  file_t file = file_open("");
  EXPECT(rows_hash(file.db, NULL, hash, &error));
  EXPECT_TEXT(hash, "6c62272e07bb014262b821756295c58d"); /* of no bytes */
  file_close(&file);
}

TEST(unreadable, "hash: fails without a file") {
  char hash[ROWS_HASH_SIZE];
  rows_error_t error = {""};
  file_t file = file_open("PRAGMA writable_schema = ON; CREATE TABLE t (id INTEGER PRIMARY KEY); "
                          "UPDATE sqlite_schema SET rootpage = 9999");
  sqlite3 *db;
  sqlite3_open(":memory:", &db);
  file_copy(file.db, db);
  EXPECT(!rows_hash(db, NULL, hash, &error));
  EXPECT(error.text[0]);
  sqlite3_close(db);
  file_close(&file);
}
