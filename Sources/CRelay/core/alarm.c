// SPDX-License-Identifier: Apache-2.0
/* Alarms: times of the wall clock that a caller sets, one for the hub and one for each user. They are timers
 * of the hub, so simulations control them too. */
#include "core.h"

/* Converts a time of the wall clock to the loop's clock. */
static int64_t due_of(const relay_hub_t *hub, int64_t time) {
  return time > hub->clock.now ? hub->clock.loop + (time - hub->clock.now) : hub->clock.loop;
}

bool relay__alarm_has_come(const relay_hub_t *hub, int64_t *alarm, int64_t *due) {
  if (!*alarm) return false;
  *due = due_of(hub, *alarm); /* in the future if the wall clock was set back */
  if (hub->clock.now < *alarm) return false;
  *alarm = 0;
  return true;
}

void relay__alarm_timer(relay_hub_t *hub) {
  int64_t due;
  if (relay__alarm_has_come(hub, &hub->alarm.time, &due))
    relay__event(hub, RELAY_EVENT_ALARM, NULL);
  else if (hub->alarm.time)
    relay__timer_set(hub, &hub->alarm.timer, RELAY__TIMER_ALARM, due);
}

void relay__alarms_arm(relay_hub_t *hub) {
  if (hub->alarm.time)
    relay__timer_set(hub, &hub->alarm.timer, RELAY__TIMER_ALARM, due_of(hub, hub->alarm.time));
  for (uint32_t i = 0; i < hub->users.count; i++) {
    relay_user_t *user = hub->users.items[i];
    if (user && user->alarm)
      relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, due_of(hub, user->alarm));
  }
}

/* The functions of relay.h */

void relay_hub_set_alarm(relay_hub_t *hub, int64_t time) {
  relay__expect_thread(hub);
  hub->alarm.time = time;
  if (time)
    relay__timer_set(hub, &hub->alarm.timer, RELAY__TIMER_ALARM, due_of(hub, time));
  else
    relay__timer_clear(hub, &hub->alarm.timer);
}

bool relay_user_set_alarm(relay_hub_t *hub, relay_id_t id, int64_t time) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  user->alarm = time;
  if (time) relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, due_of(hub, time));
  return true;
}
