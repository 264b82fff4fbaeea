// SPDX-License-Identifier: Apache-2.0
/* Returns: the users who were online when an earlier run of the relay ended. Their clients reconnect.
 *
 * The store has these users. When one of them enters memory, relay_user_await() shows the user as online, in
 * a grace. If no session of the user opens until its end, the user goes offline as after each grace.
 *
 * A user who has been online in this run stays in memory as long as users are awaited. The caller could
 * otherwise load such a user again, with an online state that is older than this run. */
#include "core.h"

enum {
  ENDS_PER_MS = 8
}; /* users who go offline in a millisecond, so that many of them do not stall the loop */

void relay__returns_timer(relay_hub_t *hub) {
  relay__event(hub, RELAY_EVENT_RETURNS_OVER, NULL);
}

/* The functions of relay.h */

void relay_hub_await_returns(relay_hub_t *hub, int64_t duration) {
  relay__expect_thread(hub);
  hub->returns.until = hub->clock.loop + duration;
  relay__timer_set(hub, &hub->returns.timer, RELAY__TIMER_RETURNS, hub->returns.until);
}

bool relay_user_await(relay_hub_t *hub, relay_id_t id, relay_activity_t activity) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user || user->is_settled || hub->clock.loop >= hub->returns.until) return false;
  user->was_attending = activity != RELAY_BACKGROUND;
  user->is_settled = user->was_online = user->shown.online = true;
  user->grace_activity = (uint8_t)activity;
  user->shown.activity = user->stored_activity = (int8_t)activity;
  user->grace_until = hub->returns.until + hub->returns.awaited++ / ENDS_PER_MS;
  relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, user->grace_until);
  relay__user_count(hub, user);
  return true;
}
