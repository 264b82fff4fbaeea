// SPDX-License-Identifier: Apache-2.0
/* Delayed work of a room: sets the times that relay__room_timer() checks, and decides if events
 * are batched. */
#include "core.h"

enum {
  COUNTS_INTERVAL = 1000, /* ms */
  BATCH_SEATS = 32,       /* sessions in a room; with this many or more, events about members are batched */
};

void relay__room_arm(relay_hub_t *hub, relay_room_t *room, int64_t *what, int64_t delay) {
  if (*what) return;
  *what = hub->clock.loop + delay;
  relay__timer_set_earlier(hub, &room->timer, RELAY__TIMER_ROOM, *what);
}

void relay__room_arm_counts(relay_hub_t *hub, relay_room_t *room) {
  const int64_t next = room->counts_sent_at ? room->counts_sent_at + COUNTS_INTERVAL - hub->clock.loop : 0;
  relay__room_arm(hub, room, &room->counts_at, next > 0 ? next : 0);
}

void relay__room_online_changed(relay_hub_t *hub, relay_room_t *room, int by) {
  room->online += (uint32_t)by;
  if (room->is_large) relay__room_arm_counts(hub, room);
}

bool relay__room_batches(const relay_room_t *room) {
  return room->live_count >= BATCH_SEATS;
}
