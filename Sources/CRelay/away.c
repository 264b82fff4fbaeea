// SPDX-License-Identifier: Apache-2.0
/* The away queue: which messages a member may still have to be pushed, and when to decide again.
 *
 * A member's undecided messages are those of the room above `decided`, so a member waits with one
 * timer, however many messages there are. The hub does not decide: it knows when it is worth asking.
 */
#include "internal.h"

enum { RECEIPT_WAIT = 5000 };

static bool pushes(const relay_hub_t *hub, const relay_room_t *room) {
  return room->flags & RELAY_ROOM_PUSHES &&
         (!hub->limits.pushed_members || room->member_count <= hub->limits.pushed_members);
}

static bool is_in_grace(const relay_hub_t *hub, const relay_member_t *member) {
  return !member->is_clean && hub->clock < member->away_since_loop + hub->limits.presence_grace;
}

/* 0 is never a time to ask at: it says that nothing waits. */
static void ask_at(relay_hub_t *hub, relay_member_t *member, int64_t due) {
  member->ask_at = due > 0 ? due : 1;
  relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->ask_at);
}

static void wait_for(relay_hub_t *hub, relay_member_t *member, int64_t seq, int64_t due) {
  if (!member->ask_at) member->decided = seq - 1;
  if (member->is_asked) {
    member->has_changed = true;
    return;
  }
  if (!member->ask_at || due < member->ask_at) ask_at(hub, member, due);
}

static void stop_waiting(relay_hub_t *hub, relay_member_t *member) {
  member->ask_at = 0;
  relay__room_arm(hub, member->room, &member->room->flush_at, RELAY__ROOM_FLUSH);
}

void relay__away_published(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry) {
  if (!pushes(hub, room)) return;
  const uint64_t stamp = hub->stamp; /* of those who were decided with the message */
  for (uint32_t i = 0; i < room->member_count; i++) {
    relay_member_t *member = room->members[i];
    if (member->user->id == entry->from) continue;
    if (member->user->decided == stamp) continue;
    if (i < room->attended)
      wait_for(hub, member, entry->seq, hub->clock + RECEIPT_WAIT);
    else if (!member->seats && is_in_grace(hub, member))
      wait_for(hub, member, entry->seq, member->away_since_loop + hub->limits.presence_grace);
    else if (member->user->has_devices)
      wait_for(hub, member, entry->seq, hub->clock);
  }
  for (uint32_t i = 0; i < room->live_count; i++)
    if (!room->live[i]->session->acks) room->live[i]->session->needs_ping = true;
}

static const relay__entry_t *entry_at(const relay_room_t *room, uint32_t i) {
  return &room->entries[(room->first + i) % room->entry_capacity];
}

int64_t relay__received_by(const relay_member_t *member) {
  return member->read > member->received ? member->read : member->received;
}

/* Up to which seq nothing is to be decided; marks are told before a cursor that builds on them. */
static int64_t done_by(const relay_member_t *member) {
  return relay__received_by(member) > member->decided ? relay__received_by(member) : member->decided;
}

/* Where the first undecided message is; `entry_count` when there is none. */
static uint32_t first_undecided(const relay_member_t *member) {
  const relay_room_t *room = member->room;
  uint32_t i = 0;
  if (room->entry_count) { /* seqs are contiguous */
    const int64_t skip = done_by(member) + 1 - entry_at(room, 0)->seq;
    if (skip > 0) i = skip < room->entry_count ? (uint32_t)skip : room->entry_count;
  }
  while (i < room->entry_count && entry_at(room, i)->from == member->user->id) i++;
  return i;
}

void relay__away_changed(relay_hub_t *hub, relay_member_t *member) {
  if (!member->ask_at) return;
  if (member->is_asked) {
    member->has_changed = true;
    return;
  }
  /* What was read or received needs no question: those rules come before all that wait. */
  if (first_undecided(member) == member->room->entry_count)
    stop_waiting(hub, member);
  else
    ask_at(hub, member, hub->clock);
}

void relay__away_left(relay_hub_t *hub, relay_member_t *member) {
  if (member->ask_at) stop_waiting(hub, member);
}

void relay__away_timer(relay_hub_t *hub, relay_member_t *member) {
  if (first_undecided(member) == member->room->entry_count) {
    stop_waiting(hub, member);
    return;
  }
  member->is_asked = true;
  member->has_changed = false;
  relay_event_t *event = relay__event(hub, RELAY_EVENT_DUE, NULL);
  event->room = member->room->id;
  event->user = member->user->id;
}

void relay__away_received(relay_hub_t *hub, relay_seat_t *seat, int64_t seq) {
  if (seq <= seat->received) return;
  seat->received = seq;
  if (seat->session->activity == RELAY_ACTIVE) relay__away_attended(hub, seat);
}

void relay__away_attended(relay_hub_t *hub, relay_seat_t *seat) {
  /* A pong tells of what was given; where something before that was not, the mark would tell of it too. */
  if (!seat->session->acks && seat->given_from > relay__received_by(seat->member) + 1)
    relay__away_changed(hub, seat->member); /* what it can tell is decided while it is there */
  else
    relay__member_mark(hub, seat->member, 0, seat->received);
}

void relay__away_gap_closed(relay_hub_t *hub, relay_member_t *member) {
  for (uint32_t i = 0; i < member->user->sessions.count; i++) {
    relay_session_t *session = relay__list_at(&member->user->sessions, i);
    relay_seat_t *seat = session->activity == RELAY_ACTIVE ? relay__seat_find(session, member->room) : NULL;
    if (seat && seat->received > member->received) relay__away_attended(hub, seat);
  }
}

/* The highest seq up to which nobody waits. */
static int64_t decided_by_all(const relay_room_t *room) {
  int64_t decided = room->seq;
  for (uint32_t i = 0; i < room->member_count; i++)
    if (room->members[i]->ask_at && done_by(room->members[i]) < decided) decided = done_by(room->members[i]);
  return decided;
}

void relay__away_trim(relay_hub_t *hub, relay_room_t *room) {
  (void)hub;
  while (room->entry_count > room->tail_count && entry_at(room, 0)->seq <= room->cursor) {
    room->first = (room->first + 1) % room->entry_capacity;
    room->entry_count--;
  }
}

void relay__room_tell_cursor(relay_hub_t *hub, relay_room_t *room) {
  if (!(room->flags & RELAY_ROOM_STORED)) return;
  const int64_t decided = decided_by_all(room);
  if (decided > room->cursor) room->cursor = decided;
  relay__away_trim(hub, room);
  if (room->cursor <= room->stored_cursor) return;
  room->stored_cursor = room->cursor;
  relay_event_t *event = relay__event(hub, RELAY_EVENT_CURSOR, NULL);
  event->room = room->id;
  event->seq = room->cursor;
}

/* What relay.h publishes */

static relay_member_t *find(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  return room && user ? relay__member_find(user, room) : NULL;
}

void relay_room_resume(relay_hub_t *hub, relay_id_t id) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room || !room->entry_count) return;
  for (uint32_t i = 0; i < room->member_count; i++)
    wait_for(hub, room->members[i], entry_at(room, 0)->seq, hub->started_clock + hub->limits.presence_grace);
}

bool relay_room_pushes(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room && pushes(hub, room);
}

size_t relay_room_delivery(const relay_hub_t *hub, relay_id_t room_id, relay_id_t sender_id,
                           relay_delivery_t *delivery, relay_id_t *quiet, size_t room_for) {
  *delivery = (relay_delivery_t){0};
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *sender = relay__user_find(hub, sender_id);
  if (!room || !sender) return 0;
  size_t count = 0;
  for (uint32_t i = 0; i < room->member_count; i++) {
    const relay_member_t *member = room->members[i];
    const relay_user_t *user = member->user;
    if (user == sender) continue;
    const relay__view_t view = relay__view(user, sender, true);
    if (!(view & RELAY__SEES_ONLINE))
      delivery->away++;
    else if (i < room->attended)
      delivery->live++;
    else if (!member->seats && is_in_grace(hub, member))
      delivery->waiting++;
    else
      delivery->away++;
    if (room->is_large || !(view & RELAY__SEES_FOCUS) || !(user->focus == 1 || user->has_filter)) continue;
    if (count < room_for) quiet[count] = user->id;
    count++;
  }
  return count;
}

size_t relay_room_away(const relay_hub_t *hub, relay_id_t id, const char *sender, bool rings,
                       bool is_reported, relay_id_t *users, size_t room_for, bool *needs_wait) {
  const relay_room_t *room = relay__room_find(hub, id);
  *needs_wait = false;
  if (!room || !pushes(hub, room)) return 0;
  size_t count = 0;
  for (uint32_t i = 0; i < room->member_count; i++) {
    const relay_member_t *member = room->members[i];
    if (!strcmp(member->user->named.name, sender)) continue;
    if (is_reported && relay__user_blocks(member->user, sender)) {
      if (count < room_for) users[count] = member->user->id;
      count++;
    } else if (!rings && (i < room->attended || (!member->seats && is_in_grace(hub, member)))) {
      *needs_wait = true;
    } else if (is_reported || member->user->has_devices) {
      if (count < room_for) users[count] = member->user->id;
      count++;
    }
  }
  return count;
}

size_t relay_member_undecided(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                              relay_undecided_t *messages, size_t room_for, relay_member_facts_t *facts) {
  const relay_member_t *member = find(hub, room_id, user_id);
  if (!member) return 0;
  const relay_room_t *room = member->room;
  *facts = (relay_member_facts_t){.read = member->read,
                                  .received = member->received,
                                  .away_since = member->away_since,
                                  .is_clean = member->is_clean};
  for (uint32_t i = 0; i < member->user->sessions.count && facts->sessions < 32; i++) {
    const relay_session_t *session = relay__list_at(&member->user->sessions, i);
    const relay_seat_t *seat = relay__seat_find(session, room);
    if (!seat) continue;
    facts->session[facts->sessions++] =
        (relay_presence_facts_t){session->activity, seat->joined,     seat->given_from, seat->received,
                                 session->acks,     session->drained, session->blocked};
  }
  size_t count = 0;
  for (uint32_t i = first_undecided(member); i < room->entry_count; i++, count++) {
    const relay__entry_t *entry = entry_at(room, i);
    if (count < room_for)
      messages[count] = (relay_undecided_t){entry->seq, entry->time, entry->shown, entry->from,
                                            entry->from == member->user->id};
  }
  return count;
}

void relay_member_decide(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t seq,
                         int64_t delay) {
  relay_member_t *member = find(hub, room_id, user_id);
  if (!member || !member->ask_at) return;
  if (seq > member->decided) {
    member->decided = seq;
    relay__room_arm(hub, member->room, &member->room->flush_at, RELAY__ROOM_FLUSH);
  }
  const bool has_changed = member->has_changed;
  member->is_asked = member->has_changed = false;
  if (first_undecided(member) == member->room->entry_count) {
    stop_waiting(hub, member);
    return;
  }
  ask_at(hub, member, hub->clock + (has_changed ? 0 : delay > 0 ? delay : 1));
}
