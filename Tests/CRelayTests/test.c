// SPDX-License-Identifier: Apache-2.0
/* Runs all tests, or those with the first argument in their name. */
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* All tests take 50 s on an idle machine, and several times as long during a build. */
enum { MAX_TESTS = 512, DESCRIPTORS = 4096, SLOWEST_RUN = 900 };

static struct {
  const char *name;
  test_body_t body;
} tests[MAX_TESTS];
static int count, failures;

void test_register(const char *name, test_body_t body) {
  if (count == MAX_TESTS) abort();
  tests[count].name = name;
  tests[count++].body = body;
}

bool test_true(const char *file, int line, const char *what, bool is_true) {
  if (is_true) return true;
  failures++;
  printf("%s:%d: expected %s\n", file, line, what);
  return false;
}

bool test_integer(const char *file, int line, const char *what, int64_t actual, int64_t expected) {
  if (actual == expected) return true;
  failures++;
  printf("%s:%d: %s is %lld, expected %lld\n", file, line, what, (long long)actual, (long long)expected);
  return false;
}

bool test_text(const char *file, int line, const char *what, const char *actual, const char *expected) {
  if (actual && !strcmp(actual, expected)) return true;
  failures++;
  printf("%s:%d: %s is\n  %s\nexpected\n  %s\n", file, line, what, actual ? actual : "(nothing)", expected);
  return false;
}

bool test_bytes(const char *file, int line, const char *what, const void *actual, size_t size,
                const char *expected) {
  if (actual && size == strlen(expected) && !memcmp(actual, expected, size)) return true;
  failures++;
  printf("%s:%d: %s is\n  %.*s\nexpected\n  %s\n", file, line, what, actual ? (int)size : 0,
         actual ? (const char *)actual : "", expected);
  return false;
}

bool test_contains(const char *file, int line, const char *actual, const char *part, bool expected) {
  if (actual && (strstr(actual, part) != NULL) == expected) return true;
  failures++;
  printf("%s:%d: expected %s in\n  %s\n%s\n", file, line, expected ? "this" : "nothing like this",
         actual ? actual : "(nothing)", part);
  return false;
}

int main(int argument_count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  alarm(SLOWEST_RUN);
  /* A hub sizes its tables by this limit, and each test has its own hub. */
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){DESCRIPTORS, DESCRIPTORS});
  int passed = 0, failed = 0;
  for (int i = 0; i < count; i++) {
    if (argument_count > 1 && !strstr(tests[i].name, arguments[1])) continue;
    failures = 0;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    tests[i].body();
    clock_gettime(CLOCK_MONOTONIC, &after);
    const long took = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    printf("%s %s (%ld ms)\n", failures ? "FAILED" : "ok    ", tests[i].name, took);
    if (failures)
      failed++;
    else
      passed++;
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
