// SPDX-License-Identifier: Apache-2.0
/* A wall clock for tests, which LD_PRELOAD loads into a relay. It adds two offsets to the system's wall
 * clock: the milliseconds in the file WALL_CLOCK_OFFSET, two int64_t. The first one is a wall clock that was
 * set. The second one is the time for which the machine was suspended, which CLOCK_BOOTTIME includes. The
 * monotonic clock does not change.
 *
 * The kernel's clock has no offset, so waits until a time of the wall clock subtract it. libnats waits so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
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

/* The end of a wait, by the kernel's clock. */
static struct timespec end_of_wait(clockid_t clock, const struct timespec *end) {
  struct timespec result = *end;
  if (offsets && clock == CLOCK_REALTIME) result.tv_sec -= offsets[0] / 1000 + offsets[1] / 1000;
  if (result.tv_sec < 0) result = (struct timespec){0};
  return result;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict end) {
  /* A condition does not show its clock. No machine has been up for 30 years. */
  const clockid_t clock = end->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  const struct timespec real = end_of_wait(clock, end);
  return pthread_cond_clockwait(condition, mutex, clock, &real);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end) {
  const struct timespec real = end_of_wait(CLOCK_REALTIME, end);
  return sem_clockwait(semaphore, CLOCK_REALTIME, &real);
}
