// SPDX-License-Identifier: Apache-2.0
/* Rooms: who is in them, and what they are told. */
#include "internal.h"

#include <stdlib.h>

enum { COUNTS_INTERVAL = 1000, FLUSH_INTERVAL = 1000, IDLE = 60000, TAIL_COUNT = 64, TAIL_BYTES = 65536 };

relay_room_t *relay__room_find(const relay_hub_t *hub, relay_id_t id) {
  return relay__slots_find(&hub->rooms, id);
}

relay_room_t *relay__room_named(const relay_hub_t *hub, const char *name, size_t size) {
  return relay__names_find(&hub->room_names, name, size);
}

relay_seat_t *relay__seat_find(const relay_session_t *session, const relay_room_t *room) {
  for (uint32_t i = 0; i < session->seats.count; i++) {
    relay_seat_t *seat = relay__list_at(&session->seats, i);
    if (seat->member->room == room) return seat;
  }
  return NULL;
}

relay_member_t *relay__member_find(const relay_user_t *user, const relay_room_t *room) {
  for (uint32_t i = 0; i < user->members.count; i++) {
    relay_member_t *member = relay__list_at(&user->members, i);
    if (member->room == room) return member;
  }
  return NULL;
}

static void arm(relay_hub_t *hub, relay_room_t *room, int64_t *what, int64_t delay) {
  if (*what) return;
  *what = hub->clock + delay;
  relay__timer_set_earlier(hub, &room->timer, RELAY__TIMER_ROOM, *what);
}

static void arm_counts(relay_hub_t *hub, relay_room_t *room) {
  const int64_t next = room->told_counts ? room->told_counts + COUNTS_INTERVAL - hub->clock : 0;
  arm(hub, room, &room->counts_at, next > 0 ? next : 0);
}

void relay__room_online_changed(relay_hub_t *hub, relay_room_t *room, int by) {
  room->online += (uint32_t)by;
  if (room->is_large) arm_counts(hub, room);
}

void relay__room_send(relay_hub_t *hub, relay_room_t *room, relay_frame_t *frame,
                      const relay_session_t *except, bool needs_presence) {
  for (uint32_t i = 0; i < room->live_count; i++) {
    const relay_seat_t *seat = room->live[i];
    if (seat->session == except || (needs_presence && !(seat->rights & RELAY_RIGHT_PRESENCE))) continue;
    relay__outbox_add(hub, seat->session, frame, false);
  }
}

/* A large room becomes one that lists its members, or the other way. */
static void measure(relay_hub_t *hub, relay_room_t *room) {
  const uint32_t most = hub->limits.member_list;
  if (!most) return;
  if (!room->is_large && room->member_count > most) {
    room->is_large = true;
  } else if (room->is_large && room->member_count < (most + 1) / 2) {
    room->is_large = false;
    room->counts_at = 0;
    for (uint32_t i = 0; i < room->member_count; i++) {
      relay_frame_t *frame = relay__user_frame(hub, room->members[i]->user);
      relay__room_send(hub, room, frame, NULL, true);
      relay__frame_release(hub, frame);
    }
  }
  if (room->is_large) arm_counts(hub, room);
}

/* Members */

/* Moves a member to where those are with, or without, a session that may be looked at. */
static void attend(relay_member_t *member, bool attends) {
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

static relay_member_t *add_member(relay_hub_t *hub, relay_room_t *room, relay_user_t *user) {
  relay_member_t *member = relay__allocate(sizeof *member);
  member->room = room;
  member->user = user;
  member->away_since = hub->started;
  member->away_since_loop = hub->started_clock; /* everybody went away at start, not cleanly */
  room->members =
      relay__grow(room->members, room->member_count, &room->member_capacity, sizeof *room->members, 4);
  member->room_index = room->member_count;
  room->members[room->member_count++] = member;
  member->user_index = user->members.count;
  relay__list_add(&user->members, member);
  if (user->is_counted) room->online++;
  hub->members++;
  return member;
}

/* Takes a member without a seat out of its room and its user. */
static void drop_member(relay_hub_t *hub, relay_member_t *member) {
  relay_room_t *room = member->room;
  relay_user_t *user = member->user;
  attend(member, false);
  relay_member_t *last = room->members[--room->member_count];
  room->members[member->room_index] = last;
  last->room_index = member->room_index;
  last = relay__list_at(&user->members, user->members.count - 1);
  last->user_index = member->user_index;
  relay__list_remove(&user->members, member->user_index);
  if (user->is_counted) room->online--;
  relay__timer_clear(hub, &member->timer);
  free(member);
  hub->members--;
  relay__user_release(hub, user);
}

static relay_frame_t *member_frame(relay_hub_t *hub, const relay_room_t *room, const relay_user_t *user,
                                   const char *event, uint32_t count) {
  relay__text_t *text = &hub->text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"member\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"user\":\"");
  relay__put(text, user->named.name, user->named.length);
  relay__puts(text, "\"");
  relay__put(text, user->profile, user->profile_size);
  relay__puts(text, ",\"event\":\"");
  relay__puts(text, event);
  relay__puts(text, "\",\"memberCount\":");
  relay__put_integer(text, count);
  relay__puts(text, "}");
  return relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
}

void relay__member_remove(relay_hub_t *hub, relay_member_t *member, const char *event) {
  relay_room_t *room = member->room;
  relay_user_t *user = member->user;
  relay_frame_t *frame = member_frame(hub, room, user, event, room->member_count - 1);
  if (room->is_large) {
    for (uint32_t i = 0; i < user->sessions.count; i++) {
      relay_session_t *own = relay__list_at(&user->sessions, i);
      if (relay__seat_find(own, room)) relay__outbox_add(hub, own, frame, false);
    }
  } else {
    for (uint32_t i = 0; i < room->live_count; i++) {
      const relay_seat_t *seat = room->live[i];
      if (seat->member == member || seat->rights & RELAY_RIGHT_PRESENCE)
        relay__outbox_add(hub, seat->session, frame, false);
    }
  }
  relay__frame_release(hub, frame);
  member->leaves_at = -1; /* removing its seats ends nothing more */
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    relay_seat_t *seat = relay__seat_find(relay__list_at(&user->sessions, i), room);
    if (seat) relay__seat_remove(hub, seat, true);
  }
  drop_member(hub, member);
  measure(hub, room);
  if (!room->member_count) room->idle_at = 0; /* sooner than it was to be */
  if (!room->member_count || !room->live_count) arm(hub, room, &room->idle_at, room->member_count ? IDLE : 0);
}

void relay__member_timer(relay_hub_t *hub, relay_member_t *member) {
  if (member->leaves_at > 0 && hub->clock >= member->leaves_at) {
    relay__member_remove(hub, member, "left");
    return;
  }
  if (member->ask_at && hub->clock >= member->ask_at && !member->is_asked) relay__away_timer(hub, member);
  if (member->leaves_at > 0)
    relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->leaves_at);
  if (member->ask_at && !member->is_asked)
    relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->ask_at);
}

void relay__member_activity_changed(relay_hub_t *hub, relay_member_t *member, int before, int after) {
  const bool did = before != RELAY_BACKGROUND, does = after != RELAY_BACKGROUND;
  if (did != does) {
    member->attending += does ? 1 : (uint32_t)-1;
    attend(member, member->attending > 0);
    if (!member->attending) { /* put away: away without a grace */
      member->away_since = hub->now;
      member->away_since_loop = hub->clock;
      member->is_clean = true;
    }
  }
  relay__away_changed(hub, member);
}

/* Ends the membership of a room without a store, unless a session of the member joins. */
static void leave_after(relay_hub_t *hub, relay_member_t *member, int64_t delay) {
  member->leaves_at = hub->clock + delay;
  relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->leaves_at);
}

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
  free(seat);
  hub->seats--;
  const bool was_attending = member->attending > 0;
  member->seats--;
  if (session->activity != RELAY_BACKGROUND) member->attending--;
  if (was_attending || !member->seats) {
    member->away_since = hub->now;
    member->away_since_loop = hub->clock;
    member->is_clean = is_clean || !was_attending;
  }
  attend(member, member->attending > 0);
  relay__away_changed(hub, member);
  if (!room->live_count) arm(hub, room, &room->idle_at, IDLE);
  if (member->seats || room->flags & RELAY_ROOM_STORED || member->leaves_at < 0) return;
  leave_after(hub, member, is_clean ? 0 : hub->limits.presence_grace);
}

/* The timer of a room: counts, marks and cursor, and forgetting */

static void tell_counts(relay_hub_t *hub, relay_room_t *room) {
  relay__text_t *text = &hub->text;
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
  room->told_counts = hub->clock;
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
  relay__room_tell_cursor(hub, room);
}

static void forget_entry(relay_hub_t *hub, relay__entry_t *entry) {
  if (entry->frame) relay__frame_release(hub, entry->frame);
  entry->frame = NULL;
}

static void destroy(relay_hub_t *hub, relay_room_t *room) {
  while (room->member_count) drop_member(hub, room->members[room->member_count - 1]);
  for (uint32_t i = 0; i < room->entry_count; i++)
    forget_entry(hub, &room->entries[(room->first + i) % room->entry_capacity]);
  relay__timer_clear(hub, &room->timer);
  relay__names_remove(&hub->room_names, &room->named);
  relay__slots_remove(&hub->rooms, room->id);
  free(room->epoch);
  free(room->live);
  free(room->members);
  free(room->entries);
  free(room);
}

static bool is_waited_for(const relay_room_t *room) {
  for (uint32_t i = 0; i < room->member_count; i++)
    if (room->members[i]->ask_at) return true;
  return false;
}

void relay__room_timer(relay_hub_t *hub, relay_room_t *room) {
  if (room->counts_at && hub->clock >= room->counts_at) {
    room->counts_at = 0;
    if (room->is_large) tell_counts(hub, room);
  }
  if (room->flush_at && hub->clock >= room->flush_at) {
    room->flush_at = 0;
    relay__room_flush(hub, room);
  }
  if (room->idle_at && hub->clock >= room->idle_at) {
    room->idle_at = 0;
    if (!room->live_count && !(room->flags & RELAY_ROOM_STORED) && !room->member_count) {
      destroy(hub, room);
      return;
    }
    if (!room->live_count && room->flags & RELAY_ROOM_STORED) {
      if (is_waited_for(room))
        arm(hub, room, &room->idle_at, IDLE);
      else
        relay__event(hub, RELAY_EVENT_ROOM_IDLE, NULL)->room = room->id;
    }
  }
  const int64_t times[] = {room->counts_at, room->flush_at, room->idle_at};
  for (int i = 0; i < 3; i++)
    if (times[i]) relay__timer_set_earlier(hub, &room->timer, RELAY__TIMER_ROOM, times[i]);
}

void relay__member_mark(relay_hub_t *hub, relay_member_t *member, int64_t read, int64_t received) {
  if (received < read) received = read;
  if (read <= member->read && received <= member->received) return;
  if (read > member->read) member->read = read;
  if (received > member->received) member->received = received;
  if (member->room->flags & RELAY_ROOM_STORED) {
    member->has_marks = true;
    arm(hub, member->room, &member->room->flush_at, FLUSH_INTERVAL);
  }
  relay__away_changed(hub, member);
}

/* Messages */

static size_t prefix_size(const relay_room_t *room) {
  return strlen("{\"type\":\"message\",\"room\":\"") + room->named.length + strlen("\",");
}

/* Keeps the newest frames for those who join while a message is on its way to them. */
static void keep(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry) {
  if (room->entry_count == room->entry_capacity) {
    const uint32_t capacity = room->entry_capacity ? room->entry_capacity * 2 : 8;
    relay__entry_t *entries = relay__allocate(capacity * sizeof *entries);
    for (uint32_t i = 0; i < room->entry_count; i++)
      entries[i] = room->entries[(room->first + i) % room->entry_capacity];
    free(room->entries);
    room->entries = entries;
    room->entry_capacity = capacity;
    room->first = 0;
  }
  room->entries[(room->first + room->entry_count++) % room->entry_capacity] = *entry;
  if (!entry->frame) return;
  entry->frame->references++;
  room->tail_count++;
  room->tail_bytes += entry->frame->size;
  while (room->tail_count > TAIL_COUNT || (room->tail_bytes > TAIL_BYTES && room->tail_count > 1)) {
    relay__entry_t *oldest =
        &room->entries[(room->first + room->entry_count - room->tail_count) % room->entry_capacity];
    room->tail_count--;
    room->tail_bytes -= oldest->frame->size;
    forget_entry(hub, oldest);
  }
  relay__away_trim(hub, room);
}

int64_t relay__room_publish(relay_hub_t *hub, relay_room_t *room, const char *from, relay_session_t *sender,
                            relay_bytes_t body, int64_t seq, int64_t time, const relay_id_t *decided,
                            size_t decided_count) {
  const bool is_stored = room->flags & RELAY_ROOM_STORED;
  if (is_stored)
    room->seq = seq;
  else
    room->seq++, time = hub->now;
  relay__text_t *text = &hub->text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"message\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"seq\":");
  relay__put_integer(text, room->seq);
  relay__puts(text, ",\"from\":\"");
  relay__puts(text, from);
  relay__puts(text, "\",\"time\":");
  relay__put_integer(text, time);
  relay__puts(text, ",\"body\":");
  relay__put(text, body.at, body.count);
  relay__puts(text, "}");
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  relay__room_send(hub, room, frame, sender, false);
  if (is_stored) {
    relay_user_t *author = relay__names_find(&hub->user_names, from, strlen(from));
    const relay__entry_t entry = {room->seq, time, hub->now, author ? author->id : 0, frame};
    relay_member_t *own = author ? relay__member_find(author, room) : NULL;
    if (own) { /* the store raised the marks with the message */
      if (own->read < seq) own->read = seq;
      if (own->received < seq) own->received = seq;
    }
    const uint32_t stamp = ++hub->stamp;
    for (size_t i = 0; i < decided_count; i++) {
      const relay_user_t *user = relay__user_find(hub, decided[i]);
      relay_member_t *member = user ? relay__member_find(user, room) : NULL;
      if (member) member->stamp = stamp;
    }
    relay__away_published(hub, room, &entry);
    keep(hub, room, &entry);
    arm(hub, room, &room->flush_at, FLUSH_INTERVAL);
    if (!room->live_count) {
      room->idle_at = 0;
      arm(hub, room, &room->idle_at, IDLE);
    }
  }
  relay__frame_release(hub, frame);
  return room->seq;
}

void relay__room_signal(relay_hub_t *hub, relay_room_t *room, const char *from, relay_session_t *sender,
                        relay_bytes_t name, relay_bytes_t body) {
  relay__text_t *text = &hub->text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"signal\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"from\":\"");
  relay__puts(text, from);
  relay__puts(text, "\",\"name\":");
  relay__put(text, name.at, name.count);
  if (body.at) {
    relay__puts(text, ",\"body\":");
    relay__put(text, body.at, body.count);
  }
  relay__puts(text, "}");
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  relay__room_send(hub, room, frame, sender, false);
  relay__frame_release(hub, frame);
}

/* What relay.h publishes */

relay_id_t relay_room_create(relay_hub_t *hub, const char *name, const char *epoch, int64_t seq,
                             int64_t cursor, unsigned flags) {
  const size_t length = strlen(name);
  relay_room_t *room = relay__room_named(hub, name, length);
  if (room) return room->id;
  room = relay__allocate(sizeof *room);
  relay__names_add(&hub->room_names, &room->named, name, length);
  room->id = relay__slots_add(&hub->rooms, room);
  room->epoch = relay__copy_string(epoch, strlen(epoch));
  room->seq = seq;
  room->cursor = room->stored_cursor = cursor;
  room->flags = (uint8_t)flags;
  arm(hub, room, &room->idle_at, IDLE);
  return room->id;
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
  const uint32_t events = hub->event_count;
  relay__room_flush(hub, room);
  if (hub->event_count != events && !hub->is_over) {
    arm(hub, room, &room->idle_at, FLUSH_INTERVAL);
    return false;
  }
  destroy(hub, room);
  return true;
}

relay_status_t relay_room_restore_member(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                                         int64_t read, int64_t received) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  if (relay__member_find(user, room)) return RELAY_OK;
  relay_member_t *member = add_member(hub, room, user);
  member->read = read;
  member->received = received;
  measure(hub, room);
  return RELAY_OK;
}

relay_status_t relay_room_restore_message(relay_hub_t *hub, relay_id_t id, int64_t seq, int64_t time,
                                          relay_id_t from) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return RELAY_GONE;
  const int64_t newest = room->entry_count
                             ? room->entries[(room->first + room->entry_count - 1) % room->entry_capacity].seq
                             : room->cursor;
  if (seq <= newest || seq > room->seq || room->tail_count) return RELAY_NOT_THERE;
  const relay__entry_t entry = {seq, time, hub->now, from, NULL};
  keep(hub, room, &entry);
  return RELAY_OK;
}

relay_status_t relay_room_add_member(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  if (relay__member_find(user, room)) return RELAY_OK;
  relay_member_t *member = add_member(hub, room, user);
  member->read = member->received = room->seq;
  if (!(room->flags & RELAY_ROOM_STORED)) leave_after(hub, member, hub->limits.presence_grace);
  measure(hub, room);
  if (room->is_large) return RELAY_OK;
  relay_frame_t *frame = member_frame(hub, room, user, "joined", room->member_count);
  relay__room_send(hub, room, frame, NULL, true);
  relay__frame_release(hub, frame);
  frame = relay__user_frame(hub, user);
  relay__room_send(hub, room, frame, NULL, true);
  relay__frame_release(hub, frame);
  return RELAY_OK;
}

relay_status_t relay_room_remove_member(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  relay_member_t *member = relay__member_find(user, room);
  if (!member) return RELAY_NOT_THERE;
  relay__member_remove(hub, member, "left");
  return RELAY_OK;
}

bool relay_room_has_member(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  return room && user && relay__member_find(user, room);
}

relay_status_t relay_session_may_join(const relay_hub_t *hub, relay_id_t session_id, relay_id_t room_id) {
  const relay_session_t *session = relay__session_find(hub, session_id);
  const relay_room_t *room = relay__room_find(hub, room_id);
  if (!session || !relay__session_is_live(session)) return RELAY_GONE;
  if (room && relay__seat_find(session, room)) return RELAY_OK;
  const uint32_t most = hub->limits.rooms_per_session;
  return most && session->seats.count >= most ? RELAY_TOO_MANY : RELAY_OK;
}

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
    hub->seats++;
    if (session->activity != RELAY_BACKGROUND) member->attending++;
    attend(member, member->attending > 0);
  }
  seat->rights = (uint8_t)rights;
  seat->joined = hub->now;
  seat->stamp = hub->stamp;
  if (given_from < seat->given_from) seat->given_from = given_from; /* the rest came live */
  member->leaves_at = 0;
  room->idle_at = 0;
  if (member->ask_at && !session->acks) session->needs_ping = true;
  relay__away_changed(hub, member);
  return RELAY_OK;
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

relay_room_facts_t relay_room_facts(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  if (!room) return (relay_room_facts_t){.read = -1, .received = -1};
  const relay_member_t *member = user ? relay__member_find(user, room) : NULL;
  return (relay_room_facts_t){room->member_count, room->online, room->is_large, member ? member->read : -1,
                              member ? member->received : -1};
}

char *relay_room_entries(const relay_hub_t *hub, relay_id_t room_id, relay_id_t viewer, size_t *size) {
  (void)viewer;
  const relay_room_t *room = relay__room_find(hub, room_id);
  relay__text_t text = {0};
  relay__puts(&text, "[");
  for (uint32_t i = 0; room && i < room->member_count; i++) {
    relay__puts(&text, i ? ",{" : "{");
    relay__user_put_entry(room->members[i]->user, true, &text);
    relay__puts(&text, "}");
  }
  relay__puts(&text, "]");
  *size = text.size;
  return text.at;
}

char *relay_room_tail(const relay_hub_t *hub, relay_id_t room_id, int64_t after, size_t *size,
                      size_t *count) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  relay__text_t text = {0};
  *size = *count = 0;
  if (!room || after > room->seq || room->seq - after > room->tail_count) return NULL;
  relay__text_extend(&text, 1);
  text.size = 0;
  for (int64_t seq = after + 1; seq <= room->seq; seq++) {
    const uint32_t back = (uint32_t)(room->seq - seq) + 1;
    const relay__entry_t *entry =
        &room->entries[(room->first + room->entry_count - back) % room->entry_capacity];
    const uint32_t frame_size = entry->frame->size;
    const size_t header = entry->frame->bytes[1] < 126 ? 2 : entry->frame->bytes[1] == 126 ? 4 : 10;
    const size_t skip = header + prefix_size(room);
    relay__puts(&text, *count ? ",{" : "{");
    relay__put(&text, entry->frame->bytes + skip, frame_size - skip);
    (*count)++;
  }
  *size = text.size;
  return text.at;
}

int64_t relay_room_publish(relay_hub_t *hub, relay_id_t id, const char *from, relay_id_t sender,
                           relay_bytes_t body, int64_t seq, int64_t *time, const relay_id_t *decided,
                           size_t decided_count) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return 0;
  const bool is_stored = room->flags & RELAY_ROOM_STORED;
  if (!is_stored) *time = hub->now;
  relay_session_t *session = relay__session_find(hub, sender);
  return relay__room_publish(hub, room, from, session, body, seq, *time, decided, decided_count);
}

relay_status_t relay_room_signal(relay_hub_t *hub, relay_id_t id, const char *from, relay_id_t sender,
                                 relay_bytes_t name, relay_bytes_t body) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return RELAY_GONE;
  relay__room_signal(hub, room, from, relay__session_find(hub, sender), name, body);
  return RELAY_OK;
}

relay_status_t relay_room_read(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t seq) {
  relay_room_t *room = relay__room_find(hub, room_id);
  relay_user_t *user = relay__user_find(hub, user_id);
  relay_member_t *member = room && user ? relay__member_find(user, room) : NULL;
  if (!member) return RELAY_NOT_THERE;
  relay__member_mark(hub, member, seq, seq);
  return RELAY_OK;
}
