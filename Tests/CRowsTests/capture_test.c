// SPDX-License-Identifier: Apache-2.0
/* One row for each behaviour of SQLite that a capture must follow: the SQL, the entries of the body, and a
 * copy that must equal the original after the body is applied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "test.h"

typedef struct {
  const char *name, *schema, *sql, *body;
} case_t;

#define NUMBERS "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b); "
#define UNIQUE "CREATE TABLE t (id INTEGER PRIMARY KEY, u INTEGER NOT NULL UNIQUE, a ANY) STRICT; "
#define PAIRS "CREATE TABLE t (a INTEGER, b TEXT, c ANY, PRIMARY KEY (a, b)) STRICT; "
#define WITHOUT "CREATE TABLE t (a INTEGER, b TEXT, c ANY, PRIMARY KEY (b, a)) STRICT, WITHOUT ROWID; "
#define NAMES "CREATE TABLE t (a INTEGER, name TEXT PRIMARY KEY COLLATE NOCASE NOT NULL); "
#define PARENTS "CREATE TABLE p (id INTEGER PRIMARY KEY, a); "

static const case_t cases[] = {
    {"nothing", NUMBERS, "SELECT 1", ""},
    {"insert, update, delete", NUMBERS,
     "INSERT INTO t VALUES (1, 'x', NULL), (2, 'y', 2); UPDATE t SET b = 5 WHERE id = 2; DELETE FROM t WHERE "
     "id = 1",
     "+t(1,'x',NULL) +t(2,'y',2) ~t(2)[3=5] -t(1)"},
    {"rowid that SQLite chooses", NUMBERS "INSERT INTO t VALUES (41, 0, 0); ",
     "INSERT INTO t (a) VALUES ('x')", "+t(42,'x',NULL)"},
    {"integers", NUMBERS,
     "INSERT INTO t VALUES (-9223372036854775808, 9223372036854775807, -1), (9223372036854775807, 15, -16), "
     "(0, 16, 4294967296)",
     "+t(-9223372036854775808,9223372036854775807,-1) +t(9223372036854775807,15,-16) +t(0,16,4294967296)"},
    {"reals", NUMBERS, "INSERT INTO t VALUES (1, 1.5, -0.0), (2, 9e999, -9e999), (3, 5e-324, 1e300)",
     "+t(1,1.5,-0) +t(2,inf,-inf) +t(3,4.9406564584124654e-324,1.0000000000000001e+300)"},
    {"a real column with whole numbers", "CREATE TABLE t (id INTEGER PRIMARY KEY, r REAL); ",
     "INSERT INTO t VALUES (1, 5); UPDATE t SET r = 6; UPDATE t SET r = 6.5; UPDATE t SET r = 7",
     "+t(1,5) ~t(1)[2=6] ~t(1)[2=6.5] ~t(1)[2=7]"},
    {"empty texts and blobs", NUMBERS, "INSERT INTO t VALUES (1, '', x''), (2, zeroblob(3), zeroblob(0))",
     "+t(1,'',x'') +t(2,x'000000',x'')"},
    {"texts of 30 and 31 bytes", NUMBERS,
     "INSERT INTO t VALUES (1, '123456789012345678901234567890', '1234567890123456789012345678901')",
     "+t(1,'123456789012345678901234567890','1234567890123456789012345678901')"},
    {"a type that changes", NUMBERS "INSERT INTO t VALUES (1, 1, 'x'); ",
     "UPDATE t SET a = '1'; UPDATE t SET a = 1.5; UPDATE t SET b = CAST('x' AS BLOB); UPDATE t SET b = NULL",
     "~t(1)[2='1'] ~t(1)[2=1.5] ~t(1)[3=x'78'] ~t(1)[3=NULL]"},
    {"an update of nothing", NUMBERS "INSERT INTO t VALUES (1, 'x', 2.5), (2, x'00', NULL); ",
     "UPDATE t SET a = a, b = b", ""},
    {"composite key", PAIRS "INSERT INTO t VALUES (1, 'x', 0), (1, 'y', 0), (2, 'x', 0); ",
     "UPDATE t SET c = 1 WHERE a = 1; DELETE FROM t WHERE b = 'x'",
     "~t(1,'x')[3=1] ~t(1,'y')[3=1] -t(1,'x') -t(2,'x')"},
    {"WITHOUT ROWID", WITHOUT "INSERT INTO t VALUES (1, 'x', 0), (1, 'y', 0), (2, 'x', 0); ",
     "INSERT INTO t VALUES (0, 'z', 4.0); UPDATE t SET c = 1 WHERE a = 1; DELETE FROM t WHERE b = 'x'",
     "+t(0,'z',4) ~t(1,'x')[3=1] ~t(1,'y')[3=1] -t(1,'x') -t(2,'x')"},
    {"text key with a collation", NAMES "INSERT INTO t VALUES (1, 'ann'), (2, 'bob'); ",
     "UPDATE t SET name = 'ANN' WHERE a = 1; UPDATE t SET a = 3 WHERE name = 'Ann'",
     "~t('ann')[2='ANN'] ~t('ANN')[1=3]"},
    {"primary key: rowid", NUMBERS "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2); ",
     "UPDATE t SET id = id + 10 WHERE id = 2; UPDATE t SET id = 2, a = 9 WHERE id = 1",
     "~t(2)[1=12] ~t(1)[1=2,2=9]"},
    {"primary key: composite", PAIRS "INSERT INTO t VALUES (1, 'x', 0); ",
     "UPDATE t SET a = 2; UPDATE t SET b = 'y', c = 1", "~t(1,'x')[1=2] ~t(2,'x')[2='y',3=1]"},
    {"primary key: WITHOUT ROWID", WITHOUT "INSERT INTO t VALUES (1, 'x', 0), (2, 'x', 0); ",
     "UPDATE t SET a = a + 2; UPDATE t SET b = 'y', c = 1 WHERE a = 3",
     "~t(1,'x')[1=3] ~t(2,'x')[1=4] ~t(3,'x')[2='y',3=1]"},
    {"primary key: changed and back", NUMBERS "INSERT INTO t VALUES (1, 1, 1); ",
     "UPDATE t SET id = 2; UPDATE t SET id = 1", "~t(1)[1=2] ~t(2)[1=1]"},
    {"two rows swap a UNIQUE value", UNIQUE "INSERT INTO t VALUES (1, 10, NULL), (2, 20, NULL); ",
     "UPDATE t SET u = 0 WHERE id = 1; UPDATE t SET u = 10 WHERE id = 2; UPDATE t SET u = 20 WHERE id = 1",
     "~t(1)[2=0] ~t(2)[2=10] ~t(1)[2=20]"},
    {"a deleted row hands its UNIQUE value on", UNIQUE "INSERT INTO t VALUES (1, 10, NULL); ",
     "DELETE FROM t; INSERT INTO t VALUES (2, 10, NULL)", "-t(1) +t(2,10,NULL)"},
    {"a row that comes and goes", NUMBERS, "INSERT INTO t VALUES (1, 1, 1); DELETE FROM t",
     "+t(1,1,1) -t(1)"},
    {"REPLACE of a rowid", NUMBERS "INSERT INTO t VALUES (1, 'x', 'y'); ",
     "REPLACE INTO t VALUES (1, 'z', 'y')", "-t(1) +t(1,'z','y')"},
    {"REPLACE of two rows", UNIQUE "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0); ",
     "REPLACE INTO t VALUES (1, 20, 1)", "-t(1) -t(2) +t(1,20,1)"},
    {"REPLACE, WITHOUT ROWID", WITHOUT "INSERT INTO t VALUES (1, 'x', 0); ",
     "REPLACE INTO t VALUES (1, 'x', 1)", "-t(1,'x') +t(1,'x',1)"},
    {"REPLACE with recursive triggers",
     UNIQUE "CREATE TABLE log (id INTEGER PRIMARY KEY, old); CREATE TRIGGER g AFTER DELETE ON t BEGIN "
            "INSERT INTO log (old) VALUES (old.u); END; INSERT INTO t VALUES (1, 10, 0), (2, 20, 0); "
            "PRAGMA recursive_triggers = ON; ",
     "REPLACE INTO t VALUES (3, 20, 1)", "-t(2) +log(1,20) +t(3,20,1)"},
    {"UPDATE OR REPLACE", UNIQUE "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0); ",
     "UPDATE OR REPLACE t SET u = 20 WHERE id = 1", "-t(2) ~t(1)[2=20]"},
    {"a conflict clause of the schema",
     "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE ON CONFLICT REPLACE); "
     "INSERT INTO t VALUES (1, 10); ",
     "INSERT INTO t VALUES (2, 10)", "-t(1) +t(2,10)"},
    {"upserts", UNIQUE "INSERT INTO t VALUES (1, 10, 0); ",
     "INSERT INTO t VALUES (2, 10, 5) ON CONFLICT (u) DO UPDATE SET a = excluded.a; "
     "INSERT INTO t VALUES (3, 10, 5) ON CONFLICT DO NOTHING; "
     "INSERT INTO t VALUES (1, 30, 6) ON CONFLICT DO UPDATE SET u = excluded.u, a = 7 WHERE t.a > 5; "
     "INSERT OR IGNORE INTO t VALUES (1, 1, 1), (4, 40, 1)",
     "~t(1)[3=5] +t(4,40,1)"},
    {"a trigger",
     NUMBERS "CREATE TABLE log (id INTEGER PRIMARY KEY, a); CREATE TRIGGER g BEFORE UPDATE ON t BEGIN "
             "INSERT INTO log (a) VALUES (old.a); END; INSERT INTO t VALUES (1, 1, 1); ",
     "UPDATE t SET a = 2", "+log(1,1) ~t(1)[2=2]"},
    {"a trigger that changes the same row",
     NUMBERS "CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET b = new.a * 2 WHERE id = new.id; END; ",
     "INSERT INTO t VALUES (1, 4, 0)", "+t(1,4,0) ~t(1)[3=8]"},
    {"a trigger that ignores a row",
     NUMBERS "CREATE TRIGGER g BEFORE INSERT ON t WHEN new.a = 2 BEGIN SELECT RAISE(IGNORE); END; ",
     "INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0)", "+t(1,1,0) +t(3,3,0)"},
    {"a trigger on a view",
     NUMBERS "CREATE VIEW v AS SELECT * FROM t; CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN "
             "INSERT INTO t VALUES (new.id, new.a, 1); END; ",
     "INSERT INTO v VALUES (1, 2, 3)", "+t(1,2,1)"},
    {"ON DELETE CASCADE",
     PARENTS "CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE); "
             "INSERT INTO p VALUES (1, 0), (2, 0); INSERT INTO c VALUES (1, 1), (2, 2), (3, 1); ",
     "DELETE FROM p WHERE id = 1", "-p(1) -c(1) -c(3)"},
    {"ON DELETE SET NULL and ON UPDATE CASCADE",
     PARENTS "CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE SET NULL ON UPDATE CASCADE); "
             "INSERT INTO p VALUES (1, 0), (2, 0); INSERT INTO c VALUES (1, 1), (2, 2); ",
     "DELETE FROM p WHERE id = 1; UPDATE p SET id = 7", "-p(1) ~c(1)[2=NULL] ~p(2)[1=7] ~c(2)[2=7]"},
    {"a cascade to the same table",
     "CREATE TABLE t (id INTEGER PRIMARY KEY, p REFERENCES t ON DELETE CASCADE); "
     "INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2); ",
     "DELETE FROM t WHERE id = 1", "-t(1) -t(2) -t(3)"},
    {"a reference that is missing for a while",
     PARENTS "CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p DEFERRABLE INITIALLY DEFERRED); ",
     "BEGIN; INSERT INTO c VALUES (1, 5); INSERT INTO p VALUES (5, 0); COMMIT", "+c(1,5) +p(5,0)"},
    {"DELETE without WHERE", NUMBERS "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2); ", "DELETE FROM t",
     "-t(1) -t(2)"},
    {"DELETE without WHERE, WITHOUT ROWID", WITHOUT "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2); ",
     "DELETE FROM t", "-t(1,'x') -t(2,'y')"},
    {"INSERT from a table with the same columns",
     WITHOUT "CREATE TABLE s (a INTEGER, b TEXT, c ANY, PRIMARY KEY (b, a)) STRICT, WITHOUT ROWID; "
             "INSERT INTO s VALUES (1, 'x', 0), (2, 'x', 0); ",
     "INSERT INTO t SELECT * FROM s", "+t(1,'x',0) +t(2,'x',0)"},
    {"INSERT from a rowid table with the same columns",
     NUMBERS "CREATE TABLE s (id INTEGER PRIMARY KEY, a, b); INSERT INTO s VALUES (1, 2, 3), (4, 5, 6); ",
     "INSERT INTO t SELECT * FROM s", "+t(1,2,3) +t(4,5,6)"},
    {"UPDATE FROM, RETURNING", NUMBERS "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2); ",
     "UPDATE t SET a = o.b FROM t AS o WHERE o.id = t.id + 1; DELETE FROM t WHERE id = 2 RETURNING a",
     "~t(1)[2=2] -t(2)"},
    {"ROLLBACK TO", NUMBERS "CREATE TABLE s (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1, 1, 1); ",
     "BEGIN; UPDATE t SET a = 2; SAVEPOINT one; INSERT INTO s VALUES (1); SAVEPOINT two; INSERT INTO s "
     "VALUES (2); "
     "RELEASE two; ROLLBACK TO one; INSERT INTO s VALUES (3); SAVEPOINT two; DELETE FROM t; ROLLBACK TO two; "
     "UPDATE t SET b = 3; RELEASE one; COMMIT",
     "~t(1)[2=2] +s(3) ~t(1)[3=3]"},
    {"ROLLBACK", NUMBERS, "BEGIN; INSERT INTO t VALUES (1, 1, 1); ROLLBACK; INSERT INTO t VALUES (2, 2, 2)",
     "+t(2,2,2)"},
    {"a statement that fails at its second row", UNIQUE "INSERT INTO t VALUES (1, 10, 0); ",
     "BEGIN; INSERT INTO t VALUES (2, 20, 0), (3, 10, 0); INSERT INTO t VALUES (4, 40, 0); COMMIT",
     "+t(4,40,0)"},
    {"OR FAIL keeps the rows before, so it needs a savepoint", UNIQUE "INSERT INTO t VALUES (1, 10, 0); ",
     "BEGIN; INSERT OR FAIL INTO t VALUES (2, 20, 0), (3, 10, 0), (4, 40, 0); COMMIT", ""},
    {"a wrong type keeps the rows before, so it needs a savepoint",
     "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER) STRICT; INSERT INTO t VALUES (1, 1), (2, "
     "9223372036854775807);",
     "BEGIN; UPDATE t SET a = a + 1; INSERT INTO t VALUES (3, 'x'); INSERT INTO t VALUES (4, 4); COMMIT",
     "+t(4,4)"},
    {"OR ROLLBACK undoes the transaction", UNIQUE "INSERT INTO t VALUES (1, 10, 0); ",
     "BEGIN; INSERT INTO t VALUES (2, 20, 0); INSERT OR ROLLBACK INTO t VALUES (3, 30, 0), (4, 10, 0)", ""},
    {"a reference that is missing",
     PARENTS "CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p); INSERT INTO p VALUES (1, 0); ",
     "BEGIN; INSERT INTO c VALUES (1, 1); INSERT INTO c VALUES (2, 2); DELETE FROM p; INSERT INTO p VALUES "
     "(2, 0); "
     "COMMIT",
     "+c(1,1) +p(2,0)"},
    {"a column that was added later",
     "CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3); "
     "ALTER TABLE t ADD COLUMN a DEFAULT 5; ALTER TABLE t ADD COLUMN b; ",
     "UPDATE t SET a = NULL WHERE id = 1; UPDATE t SET a = 5 WHERE id = 2; UPDATE t SET b = 6 WHERE id = 3",
     "~t(1)[2=NULL] ~t(2)[2=5] ~t(3)[2=5,3=6]"},
    {"a result that is no number, and a negative zero", NUMBERS,
     "INSERT INTO t VALUES (1, 9e999 - 9e999, 0.0); UPDATE t SET b = -0.0", "+t(1,NULL,0) ~t(1)[3=-0]"},
    {"WITHOUT ROWID: a blob of zeros", WITHOUT, "INSERT INTO t VALUES (1, 'x', zeroblob(2))",
     "+t(1,'x',x'0000')"},
    {"keys of every type", "CREATE TABLE t (k PRIMARY KEY NOT NULL, a); ",
     "INSERT INTO t VALUES (1.5, 0), (x'00', 0), ('1', 0), (1, 0), (9007199254740993, 0), "
     "(9007199254740992.0, 0), "
     "(9e999, 0); UPDATE t SET a = 1; DELETE FROM t WHERE typeof(k) IN ('real', 'blob')",
     "+t(1.5,0) +t(x'00',0) +t('1',0) +t(1,0) +t(9007199254740993,0) +t(9007199254740992,0) +t(inf,0) "
     "~t(1.5)[2=1] "
     "~t(x'00')[2=1] ~t('1')[2=1] ~t(1)[2=1] ~t(9007199254740993)[2=1] ~t(9007199254740992)[2=1] "
     "~t(inf)[2=1] "
     "-t(1.5) -t(x'00') -t(9007199254740992) -t(inf)"},
    {"an integer key that is not the rowid",
     "CREATE TABLE t (id INT PRIMARY KEY NOT NULL, a); INSERT INTO t VALUES "
     "(5, 0), (4, 0); ",
     "UPDATE t SET id = '6' WHERE id = 5; DELETE FROM t WHERE id = 4", "~t(5)[1=6] -t(4)"},
    {"WITHOUT ROWID: a value that its column converts",
     "CREATE TABLE t (a INTEGER, b TEXT, PRIMARY KEY (b)) WITHOUT ROWID; INSERT INTO t VALUES (5, '1'); ",
     "UPDATE t SET a = '6', b = 2; UPDATE t SET a = '7.0' WHERE b = '2'", "~t('1')[1=6,2='2'] ~t('2')[1=7]"},
    {"NULL that ON CONFLICT REPLACE replaces",
     "CREATE TABLE t (id INTEGER PRIMARY KEY, a NOT NULL ON CONFLICT REPLACE DEFAULT 7); ",
     "INSERT INTO t VALUES (1, NULL)", "+t(1,7)"},
    {"a trigger that deletes the row that is being updated",
     NUMBERS "CREATE TRIGGER g BEFORE UPDATE ON t WHEN old.a = 1 BEGIN DELETE FROM t WHERE id = old.id; END; "
             "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2); ",
     "UPDATE t SET b = 5", "-t(1) ~t(2)[3=5]"},
    {"a trigger that replaces the row that was updated",
     NUMBERS "CREATE TRIGGER g AFTER UPDATE OF a ON t BEGIN REPLACE INTO t VALUES (new.id, 9, 9); END; "
             "INSERT INTO t VALUES (1, 1, 1); ",
     "UPDATE t SET a = 5", "~t(1)[2=5] -t(1) +t(1,9,9)"},
    {"a trigger that keeps a row from being replaced",
     UNIQUE "CREATE TRIGGER g BEFORE DELETE ON t WHEN old.id = 1 BEGIN SELECT RAISE(IGNORE); END; "
            "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0); PRAGMA recursive_triggers = ON; ",
     "REPLACE INTO t VALUES (3, 20, 0)", "-t(2) +t(3,20,0)"},
    {"a REPLACE whose deleted row has children",
     PARENTS "CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE); "
             "INSERT INTO p VALUES (1, 0); INSERT INTO c VALUES (1, 1), (2, 1); ",
     "REPLACE INTO p VALUES (1, 5)", "-p(1) -c(1) -c(2) +p(1,5)"},
    {"names with quotes and spaces",
     "CREATE TABLE \"a \"\"table\" (\"the \"\"key\" TEXT PRIMARY KEY NOT NULL, \"select\"); ",
     "INSERT INTO \"a \"\"table\" VALUES ('x', 1); UPDATE \"a \"\"table\" SET \"select\" = 2; DELETE FROM "
     "\"a \"\"table\"",
     "+a \"table('x',1) ~a \"table('x')[2=2] -a \"table('x')"},
    {"temporary tables, other databases and statistics",
     NUMBERS
     "INSERT INTO t VALUES (1, 1, 1); CREATE INDEX i ON t (a); CREATE TEMP TABLE t (id INTEGER PRIMARY KEY); "
     "ATTACH ':memory:' AS other; CREATE TABLE other.t (id INTEGER PRIMARY KEY); ",
     "INSERT INTO t VALUES (5); INSERT INTO other.t VALUES (6); ANALYZE main; INSERT INTO main.t VALUES (2, "
     "2, 2)",
     "+t(2,2,2)"},
};

static void check(const case_t *row) {
  rows_error_t error = {""};
  file_t original = file_open(row->schema), copy = file_open("");
  file_copy(original.db, copy.db);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  if (!EXPECT_TEXT(error.text, "")) return;
  file_try(&original, row->sql);
  const bool is_equal = EXPECT_TEXT(file_body(&original), row->body) &
                        EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_APPLIED) &
                        EXPECT_TEXT(file_hash(copy.db), file_hash(original.db)) & EXPECT_TEXT(error.text, "");
  if (!is_equal) printf("  in the case: %s\n", row->name);
  file_close(&original);
  file_close(&copy);
}

TEST(each_case, "capture: each kind of change reaches the copy") {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check(&cases[i]);
}

#define BYTES "CREATE TABLE k (k PRIMARY KEY NOT NULL, a) WITHOUT ROWID; "
TEST(bytes, "capture: texts with NUL and large blobs") {
  rows_error_t error = {""};
  file_t original = file_open(NUMBERS BYTES), copy = file_open(NUMBERS BYTES);
  original.capture = rows_capture_open(original.db, NULL, FILE_LIMIT, &error);
  file_try(&original, "INSERT INTO t VALUES (1, CAST(x'610062ff' AS TEXT), randomblob(100000)); "
                      "UPDATE t SET a = CAST(x'610063' AS TEXT)");
  file_try(&original,
           "INSERT INTO k VALUES (CAST(x'ff00fe' AS TEXT), 1), (CAST(x'ff00' AS TEXT), 1), (x'ff00', 1); "
           "UPDATE k SET a = 2 WHERE k = CAST(x'ff00fe' AS TEXT); DELETE FROM k WHERE k = x'ff00'");
  EXPECT_INTEGER(file_apply(&original, copy.db, &error), ROWS_APPLIED);
  EXPECT_TEXT(file_hash(copy.db), file_hash(original.db));
  EXPECT(rows_capture_size(original.capture) < 100150);
  file_close(&original);
  file_close(&copy);
}

TEST(prepared, "capture: a DELETE without WHERE that was prepared before") {
  rows_error_t error = {""};
  file_t file = file_open(NUMBERS "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2); ");
  sqlite3_stmt *early;
  sqlite3_prepare_v3(file.db, "DELETE FROM t", -1, SQLITE_PREPARE_PERSISTENT, &early, NULL);
  file.capture = rows_capture_open(file.db, NULL, FILE_LIMIT, &error);
  EXPECT_INTEGER(sqlite3_step(early), SQLITE_DONE);
  EXPECT_TEXT(file_body(&file), "-t(1) -t(2)");
  sqlite3_finalize(early);
  file_close(&file);
}

TEST(triggers_stay, "capture: the connection keeps its setting of triggers") {
  rows_error_t error = {""};
  for (int was = 0; was < 2; was++) {
    int is = -1;
    file_t file = file_open(NUMBERS);
    sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, was, NULL);
    file.capture = rows_capture_open(file.db, NULL, FILE_LIMIT, &error);
    sqlite3_db_config(file.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &is);
    EXPECT_INTEGER(is, was);
    file_close(&file);
  }
}

TEST(marks, "capture: a cut to each mark leaves the body of that moment") {
  rows_error_t error = {""};
  size_t marks[40], size;
  uint8_t *bodies[40];
  char sql[80];
  file_t file = file_open("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY); "
                          "CREATE TABLE c (id INTEGER PRIMARY KEY); ");
  file.capture = rows_capture_open(file.db, NULL, FILE_LIMIT, &error);
  for (int i = 0; i < 40; i++) {
    marks[i] = rows_capture_size(file.capture);
    const uint8_t *body = rows_capture_body(file.capture, &size, &error);
    bodies[i] = memcpy(malloc(size + 1), body, size);
    EXPECT_INTEGER(size, marks[i]);
    snprintf(sql, sizeof sql, "INSERT INTO %c VALUES (%d)", "abc"[i % 11 % 3], i);
    file_run(file.db, sql);
  }
  for (int i = 39; i >= 0; i--) {
    rows_capture_cut(file.capture, marks[i]);
    const uint8_t *body = rows_capture_body(file.capture, &size, &error);
    EXPECT(size == marks[i] && !memcmp(body, bodies[i], size));
    /* A table is defined again if the cut removed its definition. */
    snprintf(sql, sizeof sql, "INSERT INTO c VALUES (%d)", 100 + i);
    file_run(file.db, sql);
    snprintf(sql, sizeof sql, "+c(%d)", 100 + i);
    EXPECT_CONTAINS(file_body(&file), sql);
    rows_capture_cut(file.capture, marks[i]);
    free(bodies[i]);
  }
  EXPECT_INTEGER(rows_capture_size(file.capture), 0);
  file_close(&file);
}

TEST(local, "capture: local tables are left out") {
  static const char *const local[] = {"applied", "other", NULL};
  rows_error_t error = {""};
  file_t file = file_open(NUMBERS "CREATE TABLE applied (generation, term, sequence); ");
  file.capture = rows_capture_open(file.db, local, FILE_LIMIT, &error);
  if (!EXPECT(file.capture)) return;
  file_run(file.db,
           "INSERT INTO applied VALUES (1, 2, 3); INSERT INTO t VALUES (1, 1, 1); DELETE FROM applied");
  EXPECT_TEXT(file_body(&file), "+t(1,1,1)");
  file_close(&file);
}

/* A change that cannot be captured makes the body unavailable until a cut to a mark before it. */
static void expect_failure(file_t *file, const char *sql, const char *reason) {
  file_run(file->db, "INSERT INTO t VALUES (100, 1, 1)");
  const size_t before = rows_capture_size(file->capture);
  file_run(file->db, sql);
  const size_t behind = rows_capture_size(file->capture);
  file_run(file->db, "INSERT INTO t VALUES (101, 1, 1)");
  EXPECT_TEXT(file_body(file), reason);
  rows_capture_cut(file->capture, behind);
  EXPECT_TEXT(file_body(file), reason);
  rows_capture_cut(file->capture, before);
  EXPECT_TEXT(file_body(file), "+t(100,1,1)");
  file_run(file->db, "INSERT INTO t VALUES (102, 1, 1)");
  EXPECT_TEXT(file_body(file), "+t(100,1,1) +t(102,1,1)");
  file_close(file);
}

static file_t captured(const char *schema, size_t limit) {
  rows_error_t error = {""};
  file_t file = file_open(schema);
  file.capture = rows_capture_open(file.db, NULL, limit, &error);
  EXPECT_TEXT(error.text, "");
  return file;
}

TEST(new_table, "capture: fails at a table that is new") {
  file_t file = captured(NUMBERS, FILE_LIMIT);
  expect_failure(&file, "CREATE TABLE s (id INTEGER PRIMARY KEY); INSERT INTO s VALUES (1)",
                 "table s: it was created after the capture began");
}

TEST(new_column, "capture: fails at a table with a new column") {
  file_t file = captured(NUMBERS "CREATE TABLE s (id INTEGER PRIMARY KEY); ", FILE_LIMIT);
  expect_failure(&file, "ALTER TABLE s ADD COLUMN a; INSERT INTO s VALUES (1, 2)",
                 "table s: its columns have changed since the capture began");
}

TEST(null_key, "capture: fails at a primary key that is NULL") {
  file_t file = captured(NUMBERS "CREATE TABLE s (name TEXT PRIMARY KEY); ", FILE_LIMIT);
  expect_failure(&file, "INSERT INTO s VALUES (NULL)", "table s: a primary key is NULL");
}

#define TOO_LARGE "table t: the transaction changes too many bytes"
TEST(too_large, "capture: fails above its limit") {
  file_t file = captured(NUMBERS, 1000);
  expect_failure(&file, "INSERT INTO t VALUES (1, zeroblob(990), 1)", TOO_LARGE);
}

TEST(over, "capture: reports a transaction above its limit, and does not copy it") {
  file_t file = captured(NUMBERS, 1000);
  file_run(file.db, "BEGIN; INSERT INTO t VALUES (1, zeroblob(900), 1)");
  EXPECT(!rows_capture_is_over(file.capture));
  const size_t mark = rows_capture_size(file.capture);
  file_run(file.db, "INSERT INTO t VALUES (2, 1, zeroblob(50000)); INSERT INTO t VALUES (3, 1, 1)");
  EXPECT(rows_capture_is_over(file.capture));
  EXPECT_TEXT(file_body(&file), TOO_LARGE);
  EXPECT(rows_capture_size(file.capture) < 1000);
  rows_capture_cut(file.capture, mark);
  EXPECT(!rows_capture_is_over(file.capture));
  for (int id = 10; id < 100 && !rows_capture_is_over(file.capture); id++) {
    char sql[80];
    snprintf(sql, sizeof sql, "INSERT INTO t VALUES (%d, 1, 1)", id);
    file_run(file.db, sql);
  }
  EXPECT(rows_capture_is_over(file.capture));
  EXPECT(rows_capture_size(file.capture) <= 1010);
  file_close(&file);
}

TEST(incremental, "capture: fails at a blob that is written incrementally") {
  file_t file = captured(NUMBERS "INSERT INTO t VALUES (1, x'000000', 1); ", FILE_LIMIT);
  sqlite3_blob *blob;
  EXPECT_INTEGER(sqlite3_blob_open(file.db, "main", "t", "a", 1, 1, &blob), SQLITE_OK);
  sqlite3_blob_write(blob, "x", 1, 1);
  sqlite3_blob_close(blob);
  EXPECT_TEXT(file_body(&file), "table t: a blob was written incrementally");
  file_close(&file);
}

TEST(unsuitable, "capture: does not open with an unsuitable table") {
  static const char *const cases[][2] = {
      {"CREATE TABLE t (a)", "table t has no PRIMARY KEY"},
      {"CREATE VIRTUAL TABLE t USING fts5 (a)", "table t is virtual"},
      {"CREATE TABLE t (id INTEGER PRIMARY KEY, a AS (id + 1))", "table t has a generated column"},
      {"PRAGMA case_sensitive_like = ON; CREATE TABLE t (id INTEGER PRIMARY KEY, a Real) WITHOUT ROWID",
       "table t is WITHOUT ROWID and has a REAL column"},
      {"PRAGMA encoding = 'UTF-16'; CREATE TABLE t (id INTEGER PRIMARY KEY)",
       "table t has texts that are not in UTF-8"},
  };
  rows_error_t error;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    file_t file = file_open(cases[i][0]);
    EXPECT(!rows_capture_open(file.db, NULL, FILE_LIMIT, &error));
    EXPECT_TEXT(error.text, cases[i][1]);
    file_close(&file);
  }
}

TEST(columns, "capture: 64 columns, and no more") {
  rows_error_t error = {""};
  for (int count = 64; count <= 65; count++) {
    char schema[1000] = "CREATE TABLE t (id INTEGER PRIMARY KEY", sql[1000] = "INSERT INTO t VALUES (1";
    for (int i = 2; i <= count; i++) {
      sprintf(schema + strlen(schema), ", c%d", i);
      sprintf(sql + strlen(sql), ", %d", i);
    }
    file_t file = file_open(strcat(schema, ")")), copy = file_open(schema);
    file.capture = rows_capture_open(file.db, NULL, FILE_LIMIT, &error);
    EXPECT_TEXT(error.text, count > 64 ? "table t has more than 64 columns" : "");
    if (file.capture) {
      file_run(file.db, strcat(sql, "); UPDATE t SET c64 = 0; UPDATE t SET id = 2, c2 = 0"));
      EXPECT_INTEGER(file_apply(&file, copy.db, &error), ROWS_APPLIED);
      EXPECT_TEXT(file_hash(copy.db), file_hash(file.db));
    }
    file_close(&file);
    file_close(&copy);
  }
}

TEST(inside, "capture: does not open in a transaction, whose earlier changes it would lack") {
  rows_error_t error;
  file_t file = file_open("BEGIN");
  EXPECT(!rows_capture_open(file.db, NULL, FILE_LIMIT, &error));
  EXPECT_TEXT(error.text, "the connection is in a transaction");
  file_close(&file);
}

TEST(other_hook, "capture: does not open beside another hook") {
  rows_error_t error;
  file_t file = captured(NUMBERS, FILE_LIMIT);
  EXPECT(!rows_capture_open(file.db, NULL, FILE_LIMIT, &error));
  EXPECT_TEXT(error.text, "the connection had another preupdate hook");
  file_close(&file);
}
