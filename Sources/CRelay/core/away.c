// SPDX-License-Identifier: Apache-2.0
/* The away queue: the messages that may still have to be pushed to a member, and when each is decided.
 *
 * Terms: a message is fresh until relay_member_undecided() hands it over. The caller decides, and a decision
 * to wait gives the message its own due time (`waits`), so that it need not wait for an earlier message. A
 * member has one timer, for the earliest of these times.
 *
 * The room's cursor is the newest message up to which all messages are decided for all members. The store
 * keeps it, so that the relay can decide the messages above it again after a restart.
 */
#include "core.h"

#include <stdlib.h>

enum { RECEIPT_WAIT = 5000 };

/* Sets the due time of the member. 0 means that nothing waits, so it becomes 1. */
static void set_due(relay_hub_t *hub, relay_member_t *member, int64_t due) {
  member->due_at = due > 0 ? due : 1;
  relay__timer_set_earlier(hub, &member->timer, RELAY__TIMER_MEMBER, member->due_at);
}

/* Makes the fresh messages from `seq` on due at `due` or earlier. If nothing waits yet, all earlier messages
 * count as handed over. While a decision is being made, only `fresh_due` changes: relay_member_decide() calls
 * plan() then. */
static void wait_for(relay_hub_t *hub, relay_member_t *member, int64_t seq, int64_t due) {
  if (due <= 0) due = 1;
  if (!member->due_at) member->handed_over = seq - 1;
  if (!member->fresh_due || due < member->fresh_due) member->fresh_due = due;
  if (member->is_being_decided) return;
  if (!member->due_at || due < member->due_at) set_due(hub, member, due);
}

/* Skips a message that needs no decision for the member. If earlier messages are fresh, it is handed over
 * with them. */
static void pass_over(relay_member_t *member, int64_t seq) {
  if (member->due_at && !member->fresh_due) member->handed_over = seq;
}

/* No message waits for the member any more, so the room's cursor may move. */
static void stop_waiting(relay_hub_t *hub, relay_member_t *member) {
  member->due_at = member->fresh_due = 0;
  free(member->waits);
  member->waits = NULL;
  member->wait_count = member->wait_capacity = 0;
  relay__room_arm(hub, member->room, &member->room->flush_at, RELAY__ROOM_FLUSH);
}

/* Plans the decision about a message that was just sent to the sessions in the room. */
static void plan_published(relay_hub_t *hub, relay_member_t *member, const relay__entry_t *entry,
                           bool is_due_now) {
  const uint64_t stamp = hub->presence.stamp; /* `decided` of the users who were decided with the message */
  if (member->user->id == entry->from || member->user->decided == stamp)
    pass_over(member, entry->seq);
  else if (is_due_now)
    wait_for(hub, member, entry->seq, hub->clock.loop);
  else if (member->attending)
    wait_for(hub, member, entry->seq, hub->clock.loop + RECEIPT_WAIT);
  else if (relay__member_is_in_grace(hub, member))
    wait_for(hub, member, entry->seq, member->away_since_loop + hub->limits.presence_grace);
  else if (member->user->has_devices)
    wait_for(hub, member, entry->seq, hub->clock.loop);
  else
    pass_over(member, entry->seq);
}

void relay__away_published(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry,
                           const relay_message_t *message) {
  if (!(room->flags & RELAY_ROOM_PUSHES)) return;
  if (!relay__room_is_crowded(hub, room)) {
    for (uint32_t i = 0; i < room->member_count; i++)
      plan_published(hub, room->members[i], entry, message->is_due_now);
  } else if (!message->named_count) {
    return;
  }
  for (size_t i = 0; relay__room_is_crowded(hub, room) && i < message->named_count; i++) {
    relay_member_t *member = relay__member_of(hub, room, message->named[i]);
    if (member) plan_published(hub, member, entry, message->is_due_now);
  }
  for (uint32_t i = 0; i < room->live_count; i++)
    if (!room->live[i]->session->acks) room->live[i]->session->needs_ping = true;
}

static const relay__entry_t *entry_at(const relay_room_t *room, uint32_t i) {
  return &room->entries[(room->first + i) % room->entry_capacity];
}

static const relay__entry_t *entry_of(const relay_room_t *room, int64_t seq) {
  return entry_at(room, (uint32_t)(seq - entry_at(room, 0)->seq)); /* seqs are contiguous */
}

int64_t relay__received_by(const relay_member_t *member) {
  return member->read > member->received ? member->read : member->received;
}

/* Returns the seq up to which no decision about a push is needed any more. */
static int64_t settled_by(const relay_member_t *member) {
  return member->user->pushes_unread ? member->read : relay__received_by(member);
}

/* Returns the index of the first fresh message; `entry_count` if there is none. */
static uint32_t first_fresh(const relay_member_t *member) {
  const relay_room_t *room = member->room;
  const int64_t received = settled_by(member);
  uint32_t i = 0;
  if (room->entry_count) { /* seqs are contiguous */
    const int64_t skip =
        (received > member->handed_over ? received : member->handed_over) + 1 - entry_at(room, 0)->seq;
    if (skip > 0) i = skip < room->entry_count ? (uint32_t)skip : room->entry_count;
  }
  while (i < room->entry_count && entry_at(room, i)->from == member->user->id) i++;
  return i;
}

/* Drops the waits up to the member's marks. Returns false if no message waits any more. The cursor may then
 * pass these messages: the marks are stored before it. */
static bool still_waits(relay_member_t *member) {
  const int64_t received = settled_by(member);
  uint32_t done = 0;
  while (done < member->wait_count && member->waits[done].seq <= received) done++;
  if (done) {
    member->wait_count -= done;
    memmove(member->waits, member->waits + done, member->wait_count * sizeof *member->waits);
  }
  if (member->fresh_due && first_fresh(member) == member->room->entry_count) member->fresh_due = 0;
  return member->wait_count || member->fresh_due;
}

/* Returns the highest seq up to which no message waits for the member. */
static int64_t done_by(relay_member_t *member) {
  still_waits(member);
  if (member->wait_count) return member->waits[0].seq - 1;
  return settled_by(member) > member->handed_over ? settled_by(member) : member->handed_over;
}

/* Sets the next due time of the member. Returns false if no message waits any more. */
static bool plan(relay_hub_t *hub, relay_member_t *member) {
  if (!still_waits(member)) {
    stop_waiting(hub, member);
    return false;
  }
  int64_t next = member->fresh_due ? member->fresh_due : INT64_MAX;
  for (uint32_t i = 0; i < member->wait_count; i++)
    if (member->waits[i].due < next) next = member->waits[i].due;
  set_due(hub, member, next);
  return true;
}

/* Makes all waiting messages due now, because a fact other than a mark has changed. */
static void hasten(relay_hub_t *hub, relay_member_t *member) {
  for (uint32_t i = 0; i < member->wait_count; i++) member->waits[i].due = hub->clock.loop;
  if (member->fresh_due) member->fresh_due = hub->clock.loop;
}

void relay__away_changed(relay_hub_t *hub, relay_member_t *member) {
  if (!member->due_at) return;
  if (member->is_being_decided) {
    member->has_changed = true;
    return;
  }
  hasten(hub, member);
  plan(hub, member);
}

void relay__away_marked(relay_hub_t *hub, relay_member_t *member) {
  /* Marks end the waits up to them. No other decision depends on marks. */
  if (member->due_at && !member->is_being_decided && !still_waits(member)) stop_waiting(hub, member);
}

void relay__away_left(relay_hub_t *hub, relay_member_t *member) {
  if (member->due_at) stop_waiting(hub, member);
}

void relay__away_timer(relay_hub_t *hub, relay_member_t *member) {
  if (!plan(hub, member) || member->due_at > hub->clock.loop) return;
  member->is_being_decided = true;
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
  /* A pong confirms only messages that were sent to this session. If the member lacks earlier messages, a
   * mark would confirm them too. So the waiting messages are decided now, while the session is connected. */
  if (!seat->session->acks && seat->given_from > relay__received_by(seat->member) + 1)
    relay__away_changed(hub, seat->member);
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

/* Returns the highest seq up to which no message waits for any member. */
static int64_t decided_by_all(const relay_room_t *room) {
  int64_t decided = room->seq;
  for (uint32_t i = 0; i < room->member_count; i++) {
    if (!room->members[i]->due_at) continue;
    const int64_t done = done_by(room->members[i]);
    if (done < decided) decided = done;
  }
  return decided;
}

void relay__away_trim(relay_hub_t *hub, relay_room_t *room) {
  (void)hub;
  while (room->entry_count > room->tail_count && entry_at(room, 0)->seq <= room->cursor) {
    room->first = (room->first + 1) % room->entry_capacity;
    room->entry_count--;
  }
}

void relay__room_send_cursor(relay_hub_t *hub, relay_room_t *room) {
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

/* The functions of relay.h */

static relay_member_t *find(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  return room && user ? relay__member_find(user, room) : NULL;
}

void relay_room_resume(relay_hub_t *hub, relay_id_t id) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room || !room->entry_count) return;
  for (uint32_t i = 0; i < room->member_count; i++)
    wait_for(hub, room->members[i], entry_at(room, 0)->seq,
             hub->clock.started_loop + hub->limits.presence_grace);
}

bool relay_member_get(const relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                      relay_member_facts_t *facts) {
  const relay_member_t *member = find(hub, room_id, user_id);
  if (!member) return false;
  *facts = (relay_member_facts_t){.read = member->read,
                                  .received = member->received,
                                  .away_since = member->away_since,
                                  .is_clean = member->is_clean};
  for (uint32_t i = 0; i < member->user->sessions.count && facts->sessions < 32; i++) {
    const relay_session_t *session = relay__list_at(&member->user->sessions, i);
    const relay_seat_t *seat = relay__seat_find(session, member->room);
    if (!seat) continue;
    facts->session[facts->sessions++] =
        (relay_presence_facts_t){session->activity, seat->joined,     seat->given_from, seat->received,
                                 session->acks,     session->drained, session->blocked};
  }
  return true;
}

void relay_member_ping(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id) {
  const relay_member_t *member = find(hub, room_id, user_id);
  for (uint32_t i = 0; member && i < member->user->sessions.count; i++) {
    relay_session_t *session = relay__list_at(&member->user->sessions, i);
    if (session->acks || session->activity == RELAY_BACKGROUND || !relay__seat_find(session, member->room))
      continue;
    session->needs_ping = true;
    relay__outbox_mark_dirty(hub, session);
  }
}

static relay_undecided_t described(const relay_member_t *member, const relay__entry_t *entry) {
  return (relay_undecided_t){entry->seq, entry->time, entry->shown, entry->from,
                             entry->from == member->user->id};
}

size_t relay_member_undecided(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                              relay_undecided_t *messages, size_t max) {
  relay_member_t *member = find(hub, room_id, user_id);
  if (!member || !member->is_being_decided || !still_waits(member)) return 0;
  const relay_room_t *room = member->room;
  size_t count = 0;
  for (uint32_t i = 0; i < member->wait_count && count < max; i++)
    if (member->waits[i].due <= hub->clock.loop)
      messages[count++] = described(member, entry_of(room, member->waits[i].seq));
  if (!member->fresh_due) return count;
  uint32_t i = first_fresh(member);
  for (; i < room->entry_count && count < max; i++) {
    const relay__entry_t *entry = entry_at(room, i);
    member->waits =
        relay__grow(member->waits, member->wait_count, &member->wait_capacity, sizeof *member->waits, 4);
    member->waits[member->wait_count++] = (relay__wait_t){entry->seq, hub->clock.loop};
    member->handed_over = entry->seq;
    messages[count++] = described(member, entry);
  }
  member->fresh_due = i < room->entry_count ? hub->clock.loop : 0;
  return count;
}

void relay_member_decide(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id,
                         const relay_decided_t *decided, size_t count) {
  relay_member_t *member = find(hub, room_id, user_id);
  if (!member || !member->is_being_decided) return;
  member->is_being_decided = false;
  uint32_t kept = 0;
  size_t next = 0;
  for (uint32_t i = 0; i < member->wait_count; i++) {
    relay__wait_t wait = member->waits[i];
    while (next < count && decided[next].seq < wait.seq) next++;
    if (next < count && decided[next].seq == wait.seq) {
      if (decided[next].delay < 0) continue;
      wait.due = hub->clock.loop + (decided[next].delay ? decided[next].delay : 1);
    }
    member->waits[kept++] = wait;
  }
  if (kept < member->wait_count)
    relay__room_arm(hub, member->room, &member->room->flush_at, RELAY__ROOM_FLUSH);
  member->wait_count = kept;
  if (member->has_changed) hasten(hub, member);
  member->has_changed = false;
  plan(hub, member);
}
