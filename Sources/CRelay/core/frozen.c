// SPDX-License-Identifier: Apache-2.0
/* Frozen clients: the script of a page hangs, while the browser still answers pings. A client with `acks`
 * acknowledges each message of another user with `received` or `read`. If an acknowledgement is missing for
 * `received_timeout`, the session counts as in the background until the client sends a frame.
 *
 * On a slow connection the message may still be on its way. So the hub sends a ping after the message, and
 * moves the session to the background `LATE` after the pong or later. */
#include "core.h"

/* In milliseconds: the time from the ping to the end of `received_timeout`, the minimum time from the pong to
 * the background, and the time between two checks for the pong. */
enum { LATE = 5000 };

/* Starts `received_timeout` again, and requires a new pong. */
static void await_received(relay_hub_t *hub, relay_session_t *session) {
  session->unacked_at = hub->clock.loop;
  session->proved_at = 0;
  relay__timer_set_earlier(hub, &session->timer, RELAY__TIMER_SESSION,
                           hub->clock.loop + hub->limits.received_timeout - LATE);
}

void relay__frozen_published(relay_hub_t *hub, const relay_room_t *room, const relay_user_t *author,
                             const relay_session_t *sender, int64_t seq) {
  if (!hub->limits.received_timeout) return;
  for (uint32_t i = 0; i < room->live_count; i++) {
    relay_seat_t *seat = room->live[i];
    relay_session_t *session = seat->session;
    /* Clients do not acknowledge messages of their own user. */
    if (!session->acks || session == sender || session->user == author) continue;
    if (!seat->unacked && !session->unacked++) await_received(hub, session);
    seat->unacked = seq;
  }
}

void relay__frozen_acked(relay_seat_t *seat, int64_t seq) {
  if (!seat->unacked || seq < seat->unacked) return;
  seat->unacked = 0;
  seat->session->unacked--;
}

void relay__frozen_heard(relay_hub_t *hub, relay_session_t *session) {
  if (session->unacked) await_received(hub, session);
  if (!session->is_frozen) return;
  session->is_frozen = false;
  relay__session_set_activity(hub, session, session->stated, 0);
}

void relay__frozen_ponged(const relay_hub_t *hub, relay_session_t *session) {
  if (session->unacked && !session->proved_at && session->ping_at > session->unacked_at)
    session->proved_at = hub->clock.loop;
}

int64_t relay__frozen_check(relay_hub_t *hub, relay_session_t *session) {
  const int64_t timeout = hub->limits.received_timeout;
  if (!timeout || !session->unacked || session->activity == RELAY_BACKGROUND) return INT64_MAX;
  const int64_t ping = session->unacked_at + timeout - LATE, end = session->unacked_at + timeout;
  if (hub->clock.loop < ping) return ping;
  if (!session->proved_at) {
    if (session->ping_at <= session->unacked_at) relay__session_ping(hub, session);
    return hub->clock.loop + LATE;
  }
  const int64_t due = session->proved_at + LATE > end ? session->proved_at + LATE : end;
  if (hub->clock.loop < due) return due;
  session->is_frozen = true;
  session->stated = session->activity;
  relay__session_set_activity(hub, session, RELAY_BACKGROUND, 0);
  return INT64_MAX;
}
