// SPDX-License-Identifier: Apache-2.0
/* Seats: the sessions that have joined a room. A member attends the room while one of its sessions with a
 * seat is not in the background. */
#include "core.h"

#include <stdlib.h>

void relay__member_attend(relay_member_t *member, bool attends) {
  relay_room_t *room = member->room;
  const bool did = member->room_index < room->attended;
  if (did == attends) return;
  const uint32_t to = attends ? room->attended : room->attended - 1;
  relay_member_t *other = room->members[to];
  room->members[member->room_index] = other;
  other->room_index = member->room_index;
  room->members[to] = member;
  member->room_index = to;
  room->attended += attends ? 1 : (uint32_t)-1;
}

void relay__member_activity_changed(relay_hub_t *hub, relay_member_t *member, int before, int after) {
  const bool did = before != RELAY_BACKGROUND, does = after != RELAY_BACKGROUND;
  if (did != does) {
    member->attending += does ? 1 : (uint32_t)-1;
    relay__member_attend(member, member->attending > 0);
    if (!member->attending) { /* the app was put into the background, so the member has no grace */
      member->away_since = hub->clock.now;
      member->away_since_loop = hub->clock.loop;
      member->is_clean = true;
    }
  }
  relay__away_changed(hub, member);
}

/* Called when a session leaves the room or ends, and when its membership ends. Without a store it also ends
 * the membership after the last seat: at once if `is_clean`, else after the grace. */
void relay__seat_remove(relay_hub_t *hub, relay_seat_t *seat, bool is_clean) {
  relay_session_t *session = seat->session;
  relay_member_t *member = seat->member;
  relay_room_t *room = member->room;
  relay_seat_t *last = room->live[--room->live_count];
  room->live[seat->room_index] = last;
  last->room_index = seat->room_index;
  for (uint32_t i = 0; i < session->seats.count; i++)
    if (relay__list_at(&session->seats, i) == seat) {
      relay__list_remove(&session->seats, i);
      break;
    }
  if (seat->unacked) session->unacked--;
  free(seat);
  hub->objects.seats--;
  const bool was_attending = member->attending > 0;
  member->seats--;
  if (session->activity != RELAY_BACKGROUND) member->attending--;
  if (was_attending && !member->attending) { /* the end of a session in the background changes nothing here */
    member->away_since = hub->clock.now;
    member->away_since_loop = hub->clock.loop;
    member->is_clean = is_clean;
  }
  relay__member_attend(member, member->attending > 0);
  relay__away_changed(hub, member);
  if (!room->live_count) relay__room_arm(hub, room, &room->idle_at, RELAY__ROOM_IDLE);
  if (member->seats || room->flags & RELAY_ROOM_STORED || member->leaves_at < 0) return;
  relay__member_leave_after(hub, member, is_clean ? 0 : hub->limits.presence_grace);
}

bool relay__seat_may_read(const relay_seat_t *seat, int64_t seq) {
  return seat->rights & RELAY_RIGHT_HISTORY || seq >= seat->given_from;
}

/* The functions of relay.h */

relay_status_t relay_session_may_join(const relay_hub_t *hub, relay_id_t session_id, relay_id_t room_id) {
  const relay_session_t *session = relay__session_find(hub, session_id);
  const relay_room_t *room = relay__room_find(hub, room_id);
  if (!session || !relay__session_is_live(session)) return RELAY_GONE;
  if (room && relay__seat_find(session, room)) return RELAY_OK;
  const uint32_t max = hub->limits.rooms_per_session;
  return max && session->seats.count >= max ? RELAY_TOO_MANY : RELAY_OK;
}

/* Gives the session a seat, or updates the one that it has: a second `join` may return older messages than
 * the first, and then `given_from` moves back. */
relay_status_t relay_room_join(relay_hub_t *hub, relay_id_t room_id, relay_id_t session_id, unsigned rights,
                               int64_t given_from) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_session_t *session = relay__session_find(hub, session_id);
  if (!room || !session || !relay__session_is_live(session)) return RELAY_GONE;
  relay_member_t *member = relay__member_find(session->user, room);
  if (!member) return RELAY_NOT_THERE;
  relay_seat_t *seat = relay__seat_find(session, room);
  if (!seat) {
    const relay_status_t status = relay_session_may_join(hub, session_id, room_id);
    if (status != RELAY_OK) return status;
    seat = relay__allocate(sizeof *seat);
    seat->session = session;
    seat->member = member;
    seat->given_from = given_from;
    room->live = relay__grow(room->live, room->live_count, &room->live_capacity, sizeof *room->live, 2);
    seat->room_index = room->live_count;
    room->live[room->live_count++] = seat;
    relay__list_add(&session->seats, seat);
    member->seats++;
    hub->objects.seats++;
    if (session->activity != RELAY_BACKGROUND) member->attending++;
    relay__member_attend(member, member->attending > 0);
  }
  seat->rights = (uint8_t)rights;
  seat->joined = hub->clock.now;
  seat->stamp = session->given = hub->presence.stamp;
  if (given_from < seat->given_from) { /* the newer messages were sent live */
    /* Earlier pongs did not confirm the messages of this reply, unless the member's mark covers them. */
    const bool is_gap = seat->given_from > relay__received_by(member) + 1;
    seat->given_from = given_from;
    if (!session->acks && is_gap && seat->received >= given_from) seat->received = given_from - 1;
  }
  member->leaves_at = 0;
  room->idle_at = 0;
  if (member->due_at && !session->acks) session->needs_ping = true;
  relay__away_changed(hub, member);
  return RELAY_OK;
}

relay_status_t relay_room_set_rights(relay_hub_t *hub, relay_id_t room_id, relay_id_t session_id,
                                     unsigned rights) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_session_t *session = relay__session_find(hub, session_id);
  if (!room || !session) return RELAY_GONE;
  relay_seat_t *seat = relay__seat_find(session, room);
  if (!seat) return RELAY_NOT_THERE;
  seat->rights = (uint8_t)rights;
  return RELAY_OK;
}

bool relay_room_may_read(const relay_hub_t *hub, relay_id_t room_id, relay_id_t session_id, int64_t seq) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_session_t *session = relay__session_find(hub, session_id);
  const relay_seat_t *seat = room && session ? relay__seat_find(session, room) : NULL;
  return seat && relay__seat_may_read(seat, seq);
}

size_t relay_room_sessions(const relay_hub_t *hub, relay_id_t id, relay_id_t *sessions, size_t max) {
  const relay_room_t *room = relay__room_find(hub, id);
  if (!room) return 0;
  for (uint32_t i = 0; i < room->live_count && i < max; i++) sessions[i] = room->live[i]->session->id;
  return room->live_count;
}

relay_status_t relay_room_leave(relay_hub_t *hub, relay_id_t room_id, relay_id_t session_id) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_session_t *session = relay__session_find(hub, session_id);
  if (!room || !session) return RELAY_GONE;
  relay_seat_t *seat = relay__seat_find(session, room);
  if (!seat) return RELAY_NOT_THERE;
  relay__seat_remove(hub, seat, true);
  return RELAY_OK;
}

bool relay_room_is_joined(const relay_hub_t *hub, relay_id_t room_id, relay_id_t session_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_session_t *session = relay__session_find(hub, session_id);
  return room && session && relay__seat_find(session, room);
}
