// SPDX-License-Identifier: Apache-2.0
/* The two clocks of the hub: the loop's clock, which all timeouts use, and the wall clock, which an operator
 * may set.
 *
 * When the wall clock jumps, the hub moves the wall-clock times that it keeps by the same difference, so that
 * the time since them does not change. It also sets the timers of alarms again. There are two causes: the
 * clock was set, or the machine was suspended, so that the loop's clock stood still.
 */
#include "core.h"

#include <time.h>

enum {
  MIN_JUMP_MS = 1000,
  CHECK_INTERVAL_MS = 1000,
  MAX_READING_GAP_MS = 20, /* between two readings that count as one */
  MAX_READINGS = 5,
};

static int64_t read_wall(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Returns wall clock minus loop's clock. The thread may pause between the two readings, which would look like
 * a jump, so a slow reading is repeated. */
static int64_t measure_offset(void) {
  int64_t offset = 0;
  for (int i = 0; i < MAX_READINGS; i++) {
    const int64_t before = (int64_t)(uv_hrtime() / 1000000);
    offset = read_wall() - before - 1; /* the hub's clock is one more than the loop's */
    if ((int64_t)(uv_hrtime() / 1000000) - before < MAX_READING_GAP_MS) break;
  }
  return offset;
}

/* Moves the times that decisions compare. The times in frames and in stored messages do not change. */
static void move_room(relay_room_t *room, int64_t by) {
  for (uint32_t i = 0; i < room->entry_count; i++) {
    relay__entry_t *entry = &room->entries[(room->first + i) % room->entry_capacity];
    entry->time += by;
    entry->shown += by;
  }
  for (uint32_t i = 0; i < room->member_count; i++) room->members[i]->away_since += by;
  for (uint32_t i = 0; i < room->live_count; i++) room->live[i]->joined += by;
}

/* Moves the end of a session's token, so that the session lasts as long as without the step. The relay judges
 * a new `hello` or `refresh` by the present clock. */
static void move_expiry(relay_session_t *session, int64_t by) {
  const int64_t moved = session->expires_moved + (by + (by < 0 ? -500 : 500)) / 1000;
  session->expires_moved = moved < INT32_MIN ? INT32_MIN : moved > INT32_MAX ? INT32_MAX : (int32_t)moved;
}

/* Returns the time for which the machine was suspended since its start. The loop's clock stops meanwhile. */
static int64_t read_suspended(void) {
  struct timespec boot, monotonic;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return ((int64_t)boot.tv_sec - monotonic.tv_sec) * 1000 + (boot.tv_nsec - monotonic.tv_nsec) / 1000000;
}

/* `suspended`: the part of the jump in which the machine was suspended, and tokens grew older. */
static void jump(relay_hub_t *hub, int64_t by, int64_t suspended) {
  hub->clock.offset += by;
  hub->clock.started += by;
  hub->clock.has_jumped = true;
  for (uint32_t i = 0; i < hub->rooms.count; i++)
    if (hub->rooms.items[i]) move_room(hub->rooms.items[i], by);
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    relay_session_t *session = hub->sessions.items[i];
    if (!session) continue;
    move_expiry(session, by - suspended);
    session->drained += by;
    if (session->blocked) session->blocked += by;
  }
  relay__alarms_arm(hub);
  relay_event_t *event = relay__event(hub, RELAY_EVENT_CLOCK_SET, NULL);
  event->time = by;
  event->suspended = suspended;
}

void relay__clock_read(relay_hub_t *hub) {
  relay__clock_t *clock = &hub->clock;
  if (clock->is_simulated) return;
  const int64_t loop = (int64_t)uv_now(&hub->loop.uv) + 1; /* 0 means "not set" */
  if (loop == clock->loop) return;
  clock->loop = loop;
  clock->now = read_wall();
  relay__service_read(hub);
  const int64_t drift = clock->now - clock->loop - clock->offset;
  if (drift > -MIN_JUMP_MS && drift < MIN_JUMP_MS) return;
  const int64_t by = measure_offset() - clock->offset;
  if (by > -MIN_JUMP_MS && by < MIN_JUMP_MS) return;
  const int64_t suspended = read_suspended();
  jump(hub, by, suspended - clock->suspended);
  clock->suspended = suspended;
}

/* Does nothing: the timer wakes the loop, and each iteration reads the clocks. */
static void wake(uv_timer_t *timer) {
  (void)timer;
}

void relay__clock_start(relay_hub_t *hub) {
  relay__clock_t *clock = &hub->clock;
  clock->offset = measure_offset();
  clock->suspended = read_suspended();
  relay__clock_read(hub);
  clock->started = clock->now;
  clock->started_loop = clock->loop;
  uv_timer_init(&hub->loop.uv, &clock->look);
  uv_timer_start(&clock->look, wake, CHECK_INTERVAL_MS, CHECK_INTERVAL_MS);
}

void relay__clock_stop(relay_hub_t *hub) {
  uv_close((uv_handle_t *)&hub->clock.look, NULL);
}

/* The functions of relay.h */

int64_t relay_hub_now(const relay_hub_t *hub) {
  return hub->clock.now;
}

int64_t relay_hub_clock(const relay_hub_t *hub) {
  return hub->clock.loop;
}

void relay_hub_set_clock(relay_hub_t *hub, int64_t now) {
  relay__clock_t *clock = &hub->clock;
  if (!clock->is_simulated) {
    clock->is_simulated = true;
    clock->started = clock->now = now;
    clock->offset = clock->now - clock->loop;
  }
  clock->loop += now - clock->now;
  clock->now = now;
  hub->timers.armed_for = 0; /* the loop's own timer uses another clock, so arm it again */
}

void relay_hub_set_wall_clock(relay_hub_t *hub, int64_t now) {
  const int64_t by = now - hub->clock.now;
  hub->clock.now = now;
  jump(hub, by, 0);
}

void relay_hub_suspend(relay_hub_t *hub, int64_t duration) {
  hub->clock.now += duration;
  jump(hub, duration, duration);
}
