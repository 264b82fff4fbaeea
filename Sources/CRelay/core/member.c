// SPDX-License-Identifier: Apache-2.0
/* Members of a room: their roles, restrictions and marks, and the events about them.
 *
 * A membership of a stored room is durable, and the store decides about it. In another room it ends when the
 * last session of the member leaves, or a grace after the connection of that session is lost. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

relay_member_t *relay__member_add(relay_hub_t *hub, relay_room_t *room, relay_user_t *user) {
  relay_member_t *member = relay__allocate(sizeof *member);
  member->room = room;
  member->user = user;
  /* As if all members had lost their connection at the start. */
  member->away_since = hub->clock.started;
  member->away_since_loop = hub->clock.started_loop;
  room->members =
      relay__grow(room->members, room->member_count, &room->member_capacity, sizeof *room->members, 4);
  member->room_index = room->member_count;
  room->members[room->member_count++] = member;
  member->user_index = user->members.count;
  relay__list_add(&user->members, member);
  if (user->is_counted) room->online++;
  hub->objects.members++;
  return member;
}

void relay__member_drop(relay_hub_t *hub, relay_member_t *member) {
  relay_room_t *room = member->room;
  relay_user_t *user = member->user;
  relay__member_attend(member, false);
  relay_member_t *last = room->members[--room->member_count];
  room->members[member->room_index] = last;
  last->room_index = member->room_index;
  last = relay__list_at(&user->members, user->members.count - 1);
  last->user_index = member->user_index;
  relay__list_remove(&user->members, member->user_index);
  if (user->is_counted) room->online--;
  relay__timer_clear(hub, &member->timer);
  relay__receipt_forget(hub, member);
  free(member->waits);
  free(member->calls);
  free(member);
  hub->objects.members--;
  relay__user_release(hub, user);
}

int64_t relay__member_restricted_until(const relay_hub_t *hub, const relay_member_t *member) {
  return member->restricted_until > hub->clock.now ? member->restricted_until : 0;
}

static void put_role(const relay_member_t *member, relay__text_t *text) {
  if (member->role == RELAY_ROLE_MEMBER) return;
  relay__puts(text, member->role == RELAY_ROLE_OWNER ? ",\"role\":\"owner\"" : ",\"role\":\"moderator\"");
}

static void put_restriction(const relay_hub_t *hub, const relay_member_t *member, relay__text_t *text) {
  const int64_t until = relay__member_restricted_until(hub, member);
  if (!until) return;
  relay__puts(text, ",\"restrictedUntil\":");
  relay__put_integer(text, until);
}

void relay__member_put_state(const relay_hub_t *hub, const relay_member_t *member, relay__text_t *text) {
  put_role(member, text);
  put_restriction(hub, member, text);
}

/* The cause of a `member` event, and the user who caused it. */
typedef struct change {
  const char *cause; /* joined, added, left, removed, banned, restricted, unrestricted; NULL: a new role */
  const char *by;    /* NULL: nobody, or a backend */
} change_t;

/* Returns the event of a cause. A client that does not know the cause still knows the event. */
static const char *event_of(const char *cause) {
  if (!strcmp(cause, "added")) return "joined";
  return strcmp(cause, "banned") ? cause : "removed";
}

static bool is_arrival(change_t change) {
  return change.cause && !strcmp(event_of(change.cause), "joined");
}

static relay_frame_t *member_frame(relay_hub_t *hub, const relay_member_t *member, change_t change,
                                   uint32_t count, relay__view_t view) {
  const relay_room_t *room = member->room;
  const relay_user_t *user = member->user;
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, change.cause ? "{\"type\":\"member\",\"room\":\"" : "{\"type\":\"role\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"user\":\"");
  relay__put(text, user->named.name, user->named.length);
  relay__puts(text, "\"");
  if (view & RELAY__SEES_PERSON && change.cause) relay__put(text, user->profile, user->profile_size);
  if (change.cause) {
    relay__puts(text, ",\"event\":\"");
    relay__puts(text, event_of(change.cause));
    relay__puts(text, "\"");
    if (strcmp(change.cause, event_of(change.cause))) {
      relay__puts(text, ",\"cause\":\"");
      relay__puts(text, change.cause);
      relay__puts(text, "\"");
    }
  }
  if (change.by) {
    relay__puts(text, ",\"by\":\"");
    relay__puts(text, change.by);
    relay__puts(text, "\"");
  }
  if (!change.cause && member->role == RELAY_ROLE_MEMBER)
    relay__puts(text, ",\"role\":\"member\"");
  else
    put_role(member, text);
  if (change.cause) {
    put_restriction(hub, member, text);
    relay__puts(text, ",\"memberCount\":");
    relay__put_integer(text, relay__room_shown(room, count));
  }
  if (is_arrival(change)) { /* so that no client shows an online member as offline first */
    relay__puts(text, ",\"presence\":{");
    relay__user_put_entry(user, view, text);
    relay__puts(text, "}");
  }
  relay__puts(text, "}");
  return relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
}

/* Sends a `member` event to the sessions in the room, as each may see the user. A large room announces no
 * members, so only the user's own sessions get the event. */
static void send_event(relay_hub_t *hub, const relay_room_t *room, const relay_member_t *member,
                       change_t change, uint32_t count) {
  const relay_user_t *user = member->user;
  relay_frame_t *frames[RELAY__SEES_ALL + 1] = {NULL}; /* by view, each made when it is first needed */
  frames[RELAY__SEES_ALL] = member_frame(hub, member, change, count, RELAY__SEES_ALL);
  for (uint32_t i = 0; i < user->sessions.count && room->is_large; i++) {
    relay_session_t *own = relay__list_at(&user->sessions, i);
    if (relay__seat_find(own, room)) relay__outbox_add(hub, own, frames[RELAY__SEES_ALL], false);
  }
  for (uint32_t i = 0; i < room->live_count && !room->is_large; i++) {
    const relay_seat_t *seat = room->live[i];
    if (seat->member != member && !(seat->rights & RELAY_RIGHT_PRESENCE)) continue;
    relay__view_t view = relay__view(user, seat->member->user, true);
    if (!is_arrival(change)) view &= RELAY__SEES_PERSON; /* the other events show no state */
    if (!frames[view]) frames[view] = member_frame(hub, member, change, count, view);
    relay__room_add(hub, room, seat->session, frames[view]);
  }
  for (int i = 0; i <= RELAY__SEES_ALL; i++)
    if (frames[i]) relay__frame_release(hub, frames[i]);
}

void relay__member_remove(relay_hub_t *hub, relay_member_t *member, const char *cause, const char *by) {
  relay_room_t *room = member->room;
  relay_user_t *user = member->user;
  if (cause) send_event(hub, room, member, (change_t){cause, by}, room->member_count - 1);
  member->leaves_at = -1; /* so that relay__seat_remove() does not end the membership again */
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    relay_seat_t *seat = relay__seat_find(relay__list_at(&user->sessions, i), room);
    if (seat) relay__seat_remove(hub, seat, true);
  }
  relay__away_left(hub, member);
  relay_user_retain(hub, user->id);
  relay__member_drop(hub, member);
  relay__watch_left(hub, user, room);
  relay_user_release(hub, user->id);
  if (cause) relay__room_measure(hub, room);
  if (!room->member_count) room->idle_at = 0; /* an empty room is idle at once */
  if (!room->member_count || !room->live_count)
    relay__room_arm(hub, room, &room->idle_at, room->member_count ? RELAY__ROOM_IDLE : 0);
}

void relay__member_timer(relay_hub_t *hub, relay_member_t *member) {
  if (member->leaves_at > 0 && hub->clock.loop >= member->leaves_at) {
    relay__member_remove(hub, member, "left", NULL);
    return;
  }
  if (member->due_at && hub->clock.loop >= member->due_at && !member->is_being_decided)
    relay__away_timer(hub, member);
  if (member->leaves_at > 0)
    relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->leaves_at);
  if (member->due_at && !member->is_being_decided)
    relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->due_at);
}

void relay__member_leave_after(relay_hub_t *hub, relay_member_t *member, int64_t delay) {
  member->leaves_at = hub->clock.loop + delay;
  relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->leaves_at);
}

void relay__member_mark(relay_hub_t *hub, relay_member_t *member, int64_t read, int64_t received) {
  if (received < read) received = read;
  if (read <= member->read && received <= member->received) return;
  const bool may_close_gap = read > member->read || member->seats > 1;
  if (read > member->read) member->read = read;
  if (received > member->received) member->received = received;
  if (member->room->flags & RELAY_ROOM_STORED) {
    member->has_marks = true;
    relay__room_arm(hub, member->room, &member->room->flush_at, RELAY__ROOM_FLUSH);
  }
  if (may_close_gap) relay__away_gap_closed(hub, member);
  relay__away_marked(hub, member);
}

/* The functions of relay.h */

relay_status_t relay_room_restore_member(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                                         int64_t read, int64_t received) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  if (relay__member_find(user, room)) return RELAY_OK;
  relay_member_t *member = relay__member_add(hub, room, user);
  member->read = read;
  member->received = received;
  member->is_clean = !user->was_attending; /* others have lost no session, so they have no grace */
  relay__room_measure(hub, room);
  return RELAY_OK;
}

relay_status_t relay_room_add_member(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                                     relay_role_t role, const char *cause, const char *by) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  if (relay__member_find(user, room)) return RELAY_OK;
  const bool is_stored = room->flags & RELAY_ROOM_STORED; /* then the store has checked the bound */
  if (!is_stored && room->max_members && room->member_count >= room->max_members) return RELAY_TOO_MANY;
  relay__user_announce_now(hub, user); /* so that relay__room_show() below sends the newest presence, once */
  relay_member_t *member = relay__member_add(hub, room, user);
  member->read = member->received = room->seq;
  member->role = (uint8_t)role;
  member->is_clean = true; /* a new member has lost no session here, so it has no grace */
  relay__watch_joined(hub, user, room);
  if (!is_stored) relay__member_leave_after(hub, member, hub->limits.presence_grace);
  relay__room_measure(hub, room);
  if (room->is_large) return RELAY_OK;
  send_event(hub, room, member, (change_t){cause, by}, room->member_count);
  relay__room_show(hub, room, user);
  return RELAY_OK;
}

relay_status_t relay_room_set_marks(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t seq) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  relay_member_t *member = relay__member_find(user, room);
  if (!member) return RELAY_NOT_THERE;
  member->read = member->received = seq;
  return RELAY_OK;
}

relay_status_t relay_room_remove_member(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                                        const char *cause, const char *by) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  relay_member_t *member = relay__member_find(user, room);
  if (!member) return RELAY_NOT_THERE;
  relay__member_remove(hub, member, cause, by);
  return RELAY_OK;
}

relay_status_t relay_room_set_role(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                                   relay_role_t role, bool is_announced, const char *by) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  relay_member_t *member = relay__member_find(user, room);
  if (!member) return RELAY_NOT_THERE;
  if (member->role == role) return RELAY_OK;
  member->role = (uint8_t)role;
  if (is_announced) send_event(hub, room, member, (change_t){NULL, by}, room->member_count);
  return RELAY_OK;
}

relay_role_t relay_room_role(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  const relay_member_t *member = room && user ? relay__member_find(user, room) : NULL;
  return member ? member->role : RELAY_ROLE_MEMBER;
}

relay_status_t relay_room_restrict(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t until,
                                   bool is_announced, const char *by) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  relay_member_t *member = relay__member_find(user, room);
  if (!member) return RELAY_NOT_THERE;
  const int64_t before = relay__member_restricted_until(hub, member);
  member->restricted_until = until;
  if (!is_announced || relay__member_restricted_until(hub, member) == before) return RELAY_OK;
  const char *cause = until > hub->clock.now ? "restricted" : "unrestricted";
  send_event(hub, room, member, (change_t){cause, by}, room->member_count);
  return RELAY_OK;
}

int64_t relay_room_restricted_until(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  const relay_member_t *member = room && user ? relay__member_find(user, room) : NULL;
  return member ? relay__member_restricted_until(hub, member) : 0;
}

bool relay_room_has_member(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  return room && user && relay__member_find(user, room);
}

bool relay_room_marks(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t *read,
                      int64_t *received) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  const relay_member_t *member = room && user ? relay__member_find(user, room) : NULL;
  if (!member) return false;
  *read = member->read;
  *received = member->received;
  return true;
}

bool relay_room_take_marks(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  relay_member_t *member = room && user ? relay__member_find(user, room) : NULL;
  if (!member || !member->has_marks) return false;
  member->has_marks = false;
  return true;
}

relay_status_t relay_room_read(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t seq) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  relay_member_t *member = room && user ? relay__member_find(user, room) : NULL;
  if (!member) return RELAY_NOT_THERE;
  const int64_t before = member->read;
  relay__member_mark(hub, member, seq, seq);
  if (member->read > before) relay__receipt_read(hub, member, seq, 0);
  return RELAY_OK;
}
