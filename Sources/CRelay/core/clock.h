// SPDX-License-Identifier: Apache-2.0
/* clock.h -- the clocks of a hub. "The loop's clock" is in milliseconds from an arbitrary start; other
 * times are since 1970. */
#ifndef RELAY_CLOCK_H
#define RELAY_CLOCK_H

#include "timers.h"

typedef struct relay__clock {
  int64_t now, loop;             /* the wall clock and the loop's clock of this iteration */
  int64_t started, started_loop; /* the same at the start */
  int64_t offset;                /* wall clock minus loop's clock, since the wall clock was set last */
  int64_t suspended;             /* time for which the machine was suspended, up to then */
  bool has_jumped;               /* a RELAY_EVENT_CLOCK_SET is not delivered yet */
  bool is_simulated;             /* see relay_hub_set_clock() */
  uv_timer_t look; /* wakes the loop each second, so that it notices a wall clock that was set */
} relay__clock_t;

/* Reads both clocks once an iteration: the loop's clock stands still while its callbacks run. */
void relay__clock_read(relay_hub_t *hub);
void relay__clock_start(relay_hub_t *hub);
void relay__clock_stop(relay_hub_t *hub);

/* alarm.c: times of the wall clock that a caller sets */

typedef struct relay__alarm {
  relay__timer_t timer;
  int64_t time; /* since 1970; 0: none */
} relay__alarm_t;

/* Returns true and clears the alarm if it is due. Otherwise writes its time on the loop's clock to `due`, if
 * the alarm is set. */
bool relay__alarm_has_come(const relay_hub_t *hub, int64_t *alarm, int64_t *due);
void relay__alarm_timer(relay_hub_t *hub);
/* Sets the timers of all alarms again, after the wall clock was set. */
void relay__alarms_arm(relay_hub_t *hub);

#endif
