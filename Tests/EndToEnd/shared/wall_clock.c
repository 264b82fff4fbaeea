// SPDX-License-Identifier: Apache-2.0
/* A wall clock for tests, which LD_PRELOAD loads into a relay. It adds two offsets to the system's wall
 * clock: the milliseconds in the file WALL_CLOCK_OFFSET, two int64_t. The first one is a wall clock that was
 * set. The second one is the time for which the machine was suspended, which CLOCK_BOOTTIME includes. The
 * monotonic clock does not change. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *offsets; /* set, suspended */

__attribute__((constructor)) static void open_offset(void) {
  const char *path = getenv("WALL_CLOCK_OFFSET");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) abort();
  void *at = mmap(NULL, 2 * sizeof *offsets, PROT_READ, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) abort();
  offsets = at;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result || !offsets) return result;
  const int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (is_wall) time->tv_sec += offsets[0] / 1000;
  if (is_wall || clock == CLOCK_BOOTTIME) time->tv_sec += offsets[1] / 1000;
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
