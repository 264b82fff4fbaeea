// SPDX-License-Identifier: Apache-2.0
/* Rooms: creation and release, frames to all sessions in a room, and the timer for delayed work.
 *
 * The delayed work is `counts` events, changed marks, the cursor, and the release of an idle room. */
#include "core.h"

#include <stdlib.h>

void relay__entry_forget(relay_hub_t *hub, relay__entry_t *entry) {
  if (entry->frame) relay__frame_release(hub, entry->frame);
  entry->frame = NULL;
}

void relay__room_send(relay_hub_t *hub, relay_room_t *room, relay_frame_t *frame,
                      const relay_session_t *except, bool needs_presence) {
  for (uint32_t i = 0; i < room->live_count; i++) {
    const relay_seat_t *seat = room->live[i];
    if (seat->session == except || (needs_presence && !(seat->rights & RELAY_RIGHT_PRESENCE))) continue;
    relay__outbox_add(hub, seat->session, frame, false);
  }
}

void relay__room_add(relay_hub_t *hub, const relay_room_t *room, relay_session_t *session,
                     relay_frame_t *frame) {
  if (relay__room_batches(room))
    relay__outbox_add_batched(hub, session, frame);
  else
    relay__outbox_add(hub, session, frame, false);
}

void relay__room_show(relay_hub_t *hub, const relay_room_t *room, const relay_user_t *user) {
  relay__views_t views = {.user = user};
  for (uint32_t i = 0; i < room->live_count; i++) {
    const relay_seat_t *seat = room->live[i];
    if (!(seat->rights & RELAY_RIGHT_PRESENCE)) continue;
    const relay__view_t view = relay__view(user, seat->member->user, true);
    relay__room_add(hub, room, seat->session, relay__views_frame(hub, &views, view));
  }
  relay__views_release(hub, &views);
}

uint32_t relay__room_shown(const relay_room_t *room, uint32_t count) {
  return room->flags & RELAY_ROOM_PAIR ? 2 : count;
}

/* A room becomes large above `member_list` members. It becomes small again below half of that, so that it
 * does not change with each join. Its sessions then get the presence of all members. */
void relay__room_measure(relay_hub_t *hub, relay_room_t *room) {
  const uint32_t max = room->member_list;
  if (max && !room->is_large && room->member_count > max) {
    room->is_large = true;
  } else if (room->is_large && (!max || room->member_count < (max + 1) / 2)) {
    room->is_large = false;
    room->counts_at = 0;
    for (uint32_t i = 0; i < room->member_count; i++) relay__room_show(hub, room, room->members[i]->user);
  }
  if (room->is_large) relay__room_arm_counts(hub, room);
}

static void send_counts(relay_hub_t *hub, relay_room_t *room) {
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"counts\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"memberCount\":");
  relay__put_integer(text, room->member_count);
  relay__puts(text, ",\"onlineCount\":");
  relay__put_integer(text, room->online);
  relay__puts(text, "}");
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  relay__room_send(hub, room, frame, NULL, true);
  relay__frame_release(hub, frame);
  room->counts_sent_at = hub->clock.loop;
}

static void flush_marks(relay_hub_t *hub, relay_room_t *room) {
  for (uint32_t i = 0; i < room->member_count; i++) {
    relay_member_t *member = room->members[i];
    if (!member->has_marks) continue;
    member->has_marks = false;
    relay_event_t *event = relay__event(hub, RELAY_EVENT_MARK, NULL);
    event->room = room->id;
    event->user = member->user->id;
    event->read = member->read;
    event->received = member->received;
  }
}

void relay__room_flush(relay_hub_t *hub, relay_room_t *room) {
  flush_marks(hub, room);
  relay__room_send_cursor(hub, room);
}

static void destroy(relay_hub_t *hub, relay_room_t *room) {
  relay__event(hub, RELAY_EVENT_ROOM_GONE, NULL)->room = room->id;
  while (room->member_count) relay__member_drop(hub, room->members[room->member_count - 1]);
  for (uint32_t i = 0; i < room->entry_count; i++)
    relay__entry_forget(hub, &room->entries[(room->first + i) % room->entry_capacity]);
  relay__timer_clear(hub, &room->timer);
  relay__names_remove(&hub->names.rooms, &room->named);
  relay__slots_remove(&hub->rooms, room->id);
  free(room->epoch);
  free(room->live);
  free(room->members);
  free(room->entries);
  free(room);
}

static bool is_waited_for(const relay_room_t *room) {
  for (uint32_t i = 0; i < room->member_count; i++)
    if (room->members[i]->due_at) return true;
  return false;
}

void relay__room_timer(relay_hub_t *hub, relay_room_t *room) {
  if (room->counts_at && hub->clock.loop >= room->counts_at) {
    room->counts_at = 0;
    if (room->is_large) send_counts(hub, room);
  }
  if (room->flush_at && hub->clock.loop >= room->flush_at) {
    room->flush_at = 0;
    relay__room_flush(hub, room);
  }
  if (room->idle_at && hub->clock.loop >= room->idle_at) {
    room->idle_at = 0;
    if (!room->live_count && !(room->flags & RELAY_ROOM_STORED) && !room->member_count) {
      destroy(hub, room);
      return;
    }
    if (!room->live_count && room->flags & RELAY_ROOM_STORED) {
      if (!is_waited_for(room)) relay__event(hub, RELAY_EVENT_ROOM_IDLE, NULL)->room = room->id;
      /* The caller may still need the room, so the event repeats until the room is released. */
      relay__room_arm(hub, room, &room->idle_at, RELAY__ROOM_IDLE);
    }
  }
  const int64_t times[] = {room->counts_at, room->flush_at, room->idle_at};
  for (int i = 0; i < 3; i++)
    if (times[i]) relay__timer_set_earlier(hub, &room->timer, RELAY__TIMER_ROOM, times[i]);
}

/* The functions of relay.h */

relay_id_t relay_room_create(relay_hub_t *hub, const char *name, const char *epoch, int64_t seq,
                             int64_t cursor, unsigned flags) {
  const size_t length = strlen(name);
  relay_room_t *room = relay__room_named(hub, name, length);
  if (room) return room->id;
  room = relay__named_allocate(sizeof *room, name, length);
  relay__names_add(&hub->names.rooms, &room->named);
  room->id = relay__slots_add(&hub->rooms, room);
  room->epoch = relay__copy_string(epoch, strlen(epoch));
  room->seq = seq;
  room->cursor = room->stored_cursor = cursor;
  room->flags = (uint8_t)flags;
  room->member_list = hub->limits.member_list;
  relay__room_arm(hub, room, &room->idle_at, RELAY__ROOM_IDLE);
  return room->id;
}

void relay_room_configure(relay_hub_t *hub, relay_id_t id, unsigned flags, uint32_t member_list,
                          uint32_t max_members) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return;
  room->flags = (uint8_t)((flags & ~(unsigned)RELAY_ROOM_STORED) | (room->flags & RELAY_ROOM_STORED));
  room->member_list = member_list;
  room->max_members = max_members;
  relay__room_measure(hub, room);
}

relay_id_t relay_room_named(const relay_hub_t *hub, const char *name) {
  const relay_room_t *room = relay__room_named(hub, name, strlen(name));
  return room ? room->id : 0;
}

const char *relay_room_name(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room ? room->named.name : NULL;
}

const char *relay_room_epoch(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room ? room->epoch : NULL;
}

int64_t relay_room_seq(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room ? room->seq : 0;
}

bool relay_room_release(relay_hub_t *hub, relay_id_t id) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room || room->live_count || is_waited_for(room)) return false;
  const uint32_t events = hub->events.queued.count;
  relay__room_flush(hub, room);
  if (hub->events.queued.count != events && !hub->loop.is_over) {
    relay__room_arm(hub, room, &room->idle_at, RELAY__ROOM_FLUSH);
    return false;
  }
  destroy(hub, room);
  return true;
}

void relay_room_delete(relay_hub_t *hub, relay_id_t id) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return;
  while (room->member_count) relay__member_remove(hub, room->members[room->member_count - 1], NULL, NULL);
  destroy(hub, room);
}

size_t relay_room_member_sessions(const relay_hub_t *hub, relay_id_t id, relay_id_t *sessions, size_t max) {
  const relay_room_t *room = relay__room_find(hub, id);
  size_t count = 0;
  for (uint32_t i = 0; room && i < room->member_count; i++) {
    const relay_user_t *user = room->members[i]->user;
    for (uint32_t j = 0; j < user->sessions.count; j++) {
      const relay_session_t *session = relay__list_at(&user->sessions, j);
      if (!relay__session_is_live(session)) continue;
      if (count < max) sessions[count] = session->id;
      count++;
    }
  }
  return count;
}

size_t relay_room_inbox(const relay_hub_t *hub, relay_id_t id, relay_id_t *users, size_t max) {
  const relay_room_t *room = relay__room_find(hub, id);
  size_t count = 0;
  for (uint32_t i = 0; room && i < room->member_count; i++) {
    const relay_user_t *user = room->members[i]->user;
    if (!user->has_inbox) continue;
    if (count < max) users[count] = user->id;
    count++;
  }
  return count;
}

size_t relay_room_members(const relay_hub_t *hub, relay_id_t id, relay_id_t *users, size_t max) {
  const relay_room_t *room = relay__room_find(hub, id);
  size_t count = room ? room->member_count : 0;
  for (size_t i = 0; i < count && i < max; i++) users[i] = room->members[i]->user->id;
  return count;
}

/* Returns the number of online members that the viewer may see. For a large room, which lists no members, it
 * is the number in `counts`. */
static uint32_t online_for(const relay_hub_t *hub, const relay_room_t *room, relay_id_t viewer) {
  if (room->is_large) return room->online;
  uint32_t count = 0;
  for (uint32_t i = 0; i < room->member_count; i++) {
    const relay_user_t *user = room->members[i]->user;
    if (relay__user_is_online(user) && relay__view_by(hub, user, viewer, true) & RELAY__SEES_ONLINE) count++;
  }
  return count;
}

bool relay_room_is_large(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room && room->is_large;
}

void relay_room_set_read_only(relay_hub_t *hub, relay_id_t id, bool is_read_only) {
  relay_room_t *room = relay__room_find(hub, id);
  if (room) room->is_read_only = is_read_only;
}

bool relay_room_is_read_only(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room && room->is_read_only;
}

size_t relay_room_member_count(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room ? room->member_count : 0;
}

relay_room_facts_t relay_room_facts(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  if (!room) return (relay_room_facts_t){.read = -1, .received = -1};
  const relay_member_t *member = user ? relay__member_find(user, room) : NULL;
  return (relay_room_facts_t){relay__room_shown(room, room->member_count), online_for(hub, room, user_id),
                              room->is_large, member ? member->read : -1, member ? member->received : -1};
}

char *relay_room_entries(const relay_hub_t *hub, relay_id_t room_id, relay_id_t viewer, size_t *size) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  relay__text_t text = {0};
  relay__puts(&text, "[");
  for (uint32_t i = 0; room && i < room->member_count; i++) {
    relay__puts(&text, i ? ",{" : "{");
    const relay_user_t *user = room->members[i]->user;
    relay__user_put_entry(user, relay__view_by(hub, user, viewer, true), &text);
    relay__member_put_state(hub, room->members[i], &text);
    relay__puts(&text, "}");
  }
  relay__puts(&text, "]");
  *size = text.size;
  return text.at;
}
