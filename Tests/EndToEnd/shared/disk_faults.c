// SPDX-License-Identifier: Apache-2.0
// Faults of the disk for one process, which loads this library with LD_PRELOAD:
//
// - FAULT_KILL_AT=N: the process ends by SIGKILL immediately before the Nth call that changes or synchronizes
// files.
// - FAULT_NO_LOCKS=TEXT: files whose path contains TEXT cannot be locked, as on some remote disks.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void count(void) {
  static int calls;
  const char *end = getenv("FAULT_KILL_AT");
  if (end && ++calls == atoi(end)) raise(SIGKILL);
}

// Counts a call, and passes it on.
#define COUNTED(name, parameters, arguments)                                                                 \
  int name parameters {                                                                                      \
    count();                                                                                                 \
    return ((int(*) parameters)dlsym(RTLD_NEXT, #name))arguments;                                            \
  }

COUNTED(rename, (const char *old, const char *new), (old, new))
COUNTED(link, (const char *old, const char *new), (old, new))
COUNTED(unlink, (const char *path), (path))
COUNTED(mkdir, (const char *path, mode_t mode), (path, mode))
COUNTED(rmdir, (const char *path), (path))
COUNTED(chmod, (const char *path, mode_t mode), (path, mode))
COUNTED(chown, (const char *path, uid_t user, gid_t group), (path, user, group))
COUNTED(ftruncate64, (int file, off64_t size), (file, size))
COUNTED(fsync, (int file), (file))
COUNTED(fdatasync, (int file), (file))

static int has_locks(int file) {
  const char *text = getenv("FAULT_NO_LOCKS");
  if (!text) return 1;
  char name[64], path[PATH_MAX] = "";
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  return readlink(name, path, sizeof path - 1) <= 0 || !strstr(path, text);
}

#define LOCKED(name)                                                                                         \
  int name(int file, int command, ...) {                                                                     \
    va_list list;                                                                                            \
    va_start(list, command);                                                                                 \
    void *argument = va_arg(list, void *);                                                                   \
    va_end(list);                                                                                            \
    if (command == F_SETLK && !has_locks(file)) {                                                            \
      errno = ENOLCK;                                                                                        \
      return -1;                                                                                             \
    }                                                                                                        \
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, #name))(file, command, argument);                       \
  }

LOCKED(fcntl)
LOCKED(fcntl64)
