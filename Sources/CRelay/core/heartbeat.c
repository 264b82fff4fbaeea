// SPDX-License-Identifier: Apache-2.0
/* The heartbeat of a session: pings, pongs and timeouts. At the limit of sessions, a new session replaces one
 * whose ping has no answer. */
#include "core.h"

enum {
  PROBE = 5000, /* ms without an answer to a ping, after which a new session may replace a session */
  SHARES = 64,  /* of a heartbeat */
};

int64_t relay__session_ping_due(const relay_hub_t *hub, const relay_session_t *session) {
  const int64_t due = session->received_at + hub->limits.heartbeat;
  const int64_t share = hub->limits.heartbeat / SHARES;
  /* The shares begin at the start of the hub: equal runs of the simulation ping at equal times. */
  return share ? due - (due - hub->clock.started_loop) % share : due;
}

void relay__session_ping(relay_hub_t *hub, relay_session_t *session) {
  session->needs_ping = false;
  session->ping_is_out = true;
  session->ping_at = hub->clock.loop;
  session->ping_count++;
  for (uint32_t i = 0; i < session->seats.count; i++) {
    relay_seat_t *seat = relay__list_at(&session->seats, i);
    seat->pinged = seat->member->room->seq;
  }
  relay_frame_t *frame =
      relay__frame_create(hub, RELAY__PING, &session->ping_count, sizeof session->ping_count);
  relay__outbox_add(hub, session, frame, true);
  relay__frame_release(hub, frame);
  relay__timer_set_earlier(hub, &session->timer, RELAY__TIMER_SESSION,
                           hub->clock.loop + hub->limits.pong_timeout);
}

void relay__session_ponged(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size) {
  if (session->state == RELAY__CLOSING) return;
  session->received_at = hub->clock.loop;
  /* A late pong counts as well: it has the number of the newest ping, so all frames before that ping have
   * arrived. */
  if (size != sizeof session->ping_count || memcmp(at, &session->ping_count, size)) return;
  session->ping_is_out = false;
  relay__frozen_ponged(hub, session);
  if (!session->acks)
    for (uint32_t i = 0; i < session->seats.count; i++) {
      relay_seat_t *seat = relay__list_at(&session->seats, i);
      relay__away_received(hub, seat, seat->pinged);
    }
  if (session->confirms) {
    relay_event_t *event = relay__event(hub, RELAY_EVENT_CONFIRMED, NULL);
    event->session = session->id;
    event->seq = session->ping_count;
    session->confirms = session->needs_ping;
  }
  if (session->needs_ping) relay__session_ping(hub, session);
}

void relay__session_set_timer(relay_hub_t *hub, relay_session_t *session, int64_t due) {
  if (session->expires) {
    const int64_t end = hub->clock.loop + relay__session_end(session) - hub->clock.now;
    if (end < due) due = end;
  }
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION,
                   due > hub->clock.loop ? due : hub->clock.loop + 1);
}

void relay__session_timer(relay_hub_t *hub, relay_session_t *session) {
  switch ((relay__state_t)session->state) {
  case RELAY__NEW:
    relay__session_close(hub, session, RELAY_CLOSE_NO_HELLO, "no hello in time", -1);
    return;
  case RELAY__HELLO: /* the client waits for our answer, so it need not send anything */
    session->received_at = hub->clock.loop;
    break;
  case RELAY__CLOSING:
    relay__session_cut(session);
    return;
  case RELAY__OPEN:
    if (session->expires && hub->clock.now >= relay__session_end(session)) {
      relay__session_close(hub, session, RELAY_CLOSE_TOKEN_EXPIRED, "the token has expired", -1);
      return;
    }
    if (session->is_paused) { /* its frames are not read, so only a write proves that the client is alive */
      session->ping_is_out = false;
      if (!session->is_blocked) session->received_at = hub->clock.loop;
      const int64_t due = session->received_at + hub->limits.heartbeat, last = due + hub->limits.pong_timeout;
      if (hub->clock.loop >= last)
        relay__session_close(hub, session, RELAY_CLOSE_NO_PONG, "replies were not read in time", -1);
      else
        relay__session_set_timer(hub, session, hub->clock.loop < due ? due : last);
      return;
    }
    if (session->ping_is_out && hub->clock.loop >= session->ping_at + hub->limits.pong_timeout) {
      if (session->received_at < session->ping_at) {
        relay__session_close(hub, session, RELAY_CLOSE_NO_PONG, "no pong in time", -1);
        return;
      }
      session->ping_is_out = false; /* the client is alive, but does not answer pings */
    }
    /* A client that has sent something after the ping and is silent again gets another ping, even if its pong
     * is missing. */
    if (hub->clock.loop >= relay__session_ping_due(hub, session) &&
        (!session->ping_is_out || session->received_at >= session->ping_at))
      relay__session_ping(hub, session);
    break;
  }
  int64_t due = relay__session_ping_due(hub, session);
  if (session->ping_is_out) {
    const int64_t last = session->ping_at + hub->limits.pong_timeout;
    /* Received bytes do not set the timer. If the heartbeat is shorter than the pong timeout, check again
     * before the pong timeout. */
    if (due <= hub->clock.loop) due = session->ping_at + hub->limits.heartbeat;
    if (due <= hub->clock.loop || due > last) due = last;
  }
  const int64_t check = session->state == RELAY__OPEN ? relay__frozen_check(hub, session) : INT64_MAX;
  relay__session_set_timer(hub, session, check < due ? check : due);
}

/* True if the session has sent nothing since its newest ping. The hub does not read the pong of a session
 * that is paused. */
static bool is_silent(const relay_session_t *session) {
  return session->ping_is_out && session->received_at < session->ping_at && !session->is_paused;
}

static bool is_at_limit(const relay_hub_t *hub, const relay_user_t *user) {
  const uint32_t max = hub->limits.sessions_per_user;
  return max && user->sessions.count >= max;
}

/* Returns the session that has been silent for longest; NULL if none counts as dead. A session counts as dead
 * if its ping has had no answer for PROBE. On a slow connection, other frames may be in front of the ping. So
 * the time begins again whenever the socket has accepted some of them. */
static relay_session_t *find_dead(const relay_hub_t *hub, const relay_user_t *user) {
  relay_session_t *found = NULL;
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    relay_session_t *session = relay__list_at(&user->sessions, i);
    const int64_t since = session->ping_at > session->progress_at ? session->ping_at : session->progress_at;
    if (!is_silent(session) || hub->clock.loop < since + PROBE) continue;
    if (!found || session->received_at < found->received_at) found = session;
  }
  return found;
}

bool relay__user_make_place(relay_hub_t *hub, const relay_user_t *user) {
  if (!is_at_limit(hub, user)) return true;
  relay_session_t *dead = find_dead(hub, user);
  if (dead)
    relay__session_close(hub, dead, RELAY_CLOSE_NO_PONG, "no pong, and a new session needs the place", -1);
  return dead;
}

/* The functions of relay.h */

bool relay_user_probe(relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user || !is_at_limit(hub, user)) return false;
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    relay_session_t *session = relay__list_at(&user->sessions, i);
    if (!is_silent(session) && !session->is_paused) relay__session_ping(hub, session);
  }
  return true;
}

bool relay_user_awaits_pongs(const relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user || !is_at_limit(hub, user) || find_dead(hub, user)) return false;
  for (uint32_t i = 0; i < user->sessions.count; i++)
    if (is_silent(relay__list_at(&user->sessions, i))) return true;
  return false;
}
