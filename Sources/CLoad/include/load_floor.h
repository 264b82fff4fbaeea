// SPDX-License-Identifier: Apache-2.0
/* load_floor.h -- a process that does the least that a relay must do, for comparison with a relay.
 *
 * It has one thread, which waits for all connections. It parses only what it needs, and checks no caller.
 *
 * REPORTS: it accepts the Focus reports of load_report(), and stores each in one row of SQLite, with the
 * relay's settings (write-ahead log, synchronous FULL). The requests of one round of its loop share a
 * transaction. It sends the answers after the commit, and sends no events.
 *
 * SESSIONS: it accepts the sessions of load_open(), sends a ping to each at each heartbeat, and closes those
 * that have not answered the last one.
 */
#ifndef LOAD_FLOOR_H
#define LOAD_FLOOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
  const char *folder; /* for the database; NULL: there are no reports */
  double heartbeat;   /* seconds */
} load_floor_t;

typedef struct {
  pid_t process;
  uint16_t port; /* on 127.0.0.1 */
  int life;      /* the process ends when this descriptor is closed */
} load_floor_process_t;

/* Starts the process. On failure it returns a process of 0 and writes a message to `why`. */
load_floor_process_t load_floor_start(const load_floor_t *floor, char *why, size_t why_size);
/* Ends the process, which removes its database, and waits for its end. */
void load_floor_stop(load_floor_process_t process);

#endif
