// SPDX-License-Identifier: Apache-2.0
/* Checks the consistency of all objects of a hub: references, counts, timers and bounds. */
#include "fuzz.h"
#include "stage.h"

typedef struct tally {
  size_t seats, members, watches, timers;
} tally_t;

static void check_timer(const relay_hub_t *hub, const relay__timer_t *timer, tally_t *tally) {
  if (!timer->index) return;
  MUST(timer->index <= hub->timers.count && hub->timers.heap[timer->index - 1].timer == timer);
  if (timer->index > 1)
    MUST(hub->timers.heap[(timer->index - 2) / RELAY__TIMER_CHILDREN].at <= relay__timer_due(hub, timer));
  tally->timers++;
}

static void check_outbox(const relay__outbox_t *outbox) {
  uint32_t events = 0, replies = 0;
  const uintptr_t *entries = outbox->capacity ? outbox->many : &outbox->one;
  for (uint32_t i = 0; i < outbox->count; i++) {
    const uintptr_t entry = entries[outbox->head + i];
    const relay_frame_t *frame = (const relay_frame_t *)(entry & ~(uintptr_t)1);
    MUST(frame->references);
    if (!i) MUST(outbox->sent < frame->size);
    *(entry & 1 ? &replies : &events) += frame->size;
  }
  MUST(events == outbox->event_bytes && replies == outbox->reply_bytes);
}

/* Checks a session, its waiting frames, its seats and its watches. Adds them to the tally. */
static void check_session(const relay_hub_t *hub, const relay_session_t *session, tally_t *tally) {
  check_timer(hub, &session->timer, tally);
  check_outbox(&session->outbox);
  MUST(session->link && session->timer.index); /* a timer checks it or ends it */
  MUST(session->state != RELAY__OPEN || session->user || session->is_over);
  MUST(!session->is_over || (!session->seats.count && !session->watches.count && !session->user));
  uint32_t pending = 0, held_bytes = 0;
  if (session->pending) {
    const relay__pending_t *at = session->pending;
    do pending++, held_bytes += at->size, at = at->next;
    while (at != session->pending);
  }
  MUST(pending == session->pending_count && held_bytes == session->held_bytes);
  MUST(session->open_requests || !session->open_bytes || session->is_over);
  MUST(session->open_requests + pending <= RELAY__OPEN_REQUESTS + 64); /* plus the frames of one read */
  for (uint32_t i = 0; i < session->seats.count; i++) {
    const relay_seat_t *seat = relay__list_at(&session->seats, i);
    const relay_room_t *room = seat->member->room;
    MUST(seat->session == session && seat->member->user == session->user);
    MUST(seat->room_index < room->live_count && room->live[seat->room_index] == seat);
    tally->seats++;
  }
  for (uint32_t i = 0; i < session->watches.count; i++) {
    const relay_watch_t *watch = relay__list_at(&session->watches, i);
    MUST(watch->session == session && watch->user_index < watch->user->watchers.count);
    MUST(relay__list_at(&watch->user->watchers, watch->user_index) == watch);
    tally->watches++;
  }
  if (!session->user) return;
  bool is_listed = false;
  for (uint32_t i = 0; i < session->user->sessions.count; i++)
    is_listed = is_listed || relay__list_at(&session->user->sessions, i) == session;
  MUST(is_listed);
}

/* Checks a member of a room, its sessions and its waiting messages. */
static void check_member(const relay_hub_t *hub, const relay_room_t *room, uint32_t at, tally_t *tally) {
  const relay_member_t *member = room->members[at];
  MUST(member->room == room && member->room_index == at);
  MUST(relay__list_at(&member->user->members, member->user_index) == member);
  MUST((at < room->attended) == (member->attending > 0));
  uint32_t seats = 0, attending = 0;
  for (uint32_t i = 0; i < room->live_count; i++) {
    if (room->live[i]->member != member) continue;
    seats++;
    attending += room->live[i]->session->activity != RELAY_BACKGROUND;
  }
  MUST(seats == member->seats && attending == member->attending);
  MUST(member->read <= room->seq && member->received <= room->seq && member->handed_over <= room->seq);
  /* A member with waiting messages is being decided, or a timer will make it due. */
  MUST(!member->due_at || member->is_being_decided || member->timer.index);
  for (uint32_t i = 0; i < member->wait_count; i++) {
    const relay__wait_t *wait = &member->waits[i];
    MUST(!i || wait[-1].seq < wait->seq);
    MUST(wait->seq <= member->handed_over && wait->seq <= room->seq);
    MUST(room->entry_count && wait->seq > room->seq - room->entry_count);
    MUST(member->due_at && (member->is_being_decided || member->due_at <= wait->due));
  }
  MUST(seats || room->flags & RELAY_ROOM_STORED || member->leaves_at > 0);
  check_timer(hub, &member->timer, tally);
  tally->members++;
}

static void check_room(const relay_hub_t *hub, const relay_room_t *room, tally_t *tally) {
  MUST(relay__room_named(hub, room->named.name, room->named.length) == room);
  uint32_t online = 0, tail_bytes = 0;
  for (uint32_t i = 0; i < room->member_count; i++) {
    check_member(hub, room, i, tally);
    online += room->members[i]->user->is_counted;
  }
  MUST(online == room->online && room->attended <= room->member_count);
  for (uint32_t i = 0; i < room->live_count; i++) MUST(room->live[i]->room_index == i);
  for (uint32_t i = 0; i < room->entry_count; i++) {
    const relay__entry_t *entry = &room->entries[(room->first + i) % room->entry_capacity];
    MUST(entry->seq == room->seq - room->entry_count + 1 + i);
    MUST(!entry->frame == (room->entry_count - i > room->tail_count));
    if (entry->frame) tail_bytes += entry->frame->size;
  }
  MUST(tail_bytes == room->tail_bytes && room->cursor <= room->seq);
  /* An empty room has a timer. It frees a room without a store, and causes RELAY_EVENT_ROOM_IDLE for the
   * others. */
  MUST(room->flags & RELAY_ROOM_STORED || room->live_count || room->member_count || room->timer.index);
  check_timer(hub, &room->timer, tally);
}

static void check_user(const relay_hub_t *hub, const relay_user_t *user, tally_t *tally) {
  MUST(relay__names_find(&hub->names.users, user->named.name, user->named.length) == user);
  MUST(user->is_counted == relay__user_is_online(user));
  MUST(!user->is_pending || user->timer.index);
  for (uint32_t i = 0; i < user->members.count; i++)
    MUST(((const relay_member_t *)relay__list_at(&user->members, i))->user_index == i);
  check_timer(hub, &user->timer, tally);
}

void stage_check(const relay_hub_t *hub) {
  tally_t tally = {.timers = hub->drain.timer.index != 0};
  for (uint32_t i = 0; i < hub->sessions.count; i++)
    if (hub->sessions.items[i]) check_session(hub, hub->sessions.items[i], &tally);
  for (uint32_t i = 0; i < hub->rooms.count; i++)
    if (hub->rooms.items[i]) check_room(hub, hub->rooms.items[i], &tally);
  for (uint32_t i = 0; i < hub->users.count; i++)
    if (hub->users.items[i]) check_user(hub, hub->users.items[i], &tally);
  uint32_t connections = 0;
  for (const relay__connection_t *connection = hub->edge->http; connection; connection = connection->next) {
    check_timer(hub, &connection->timer, &tally);
    MUST(connection->state != RELAY__CLOSED &&
         (!connection->next || connection->next->previous == connection));
    MUST(!connection->exchange || connection->exchange->connection == connection);
    MUST(connection->rest_used <= connection->rest.size);
    connections++;
  }
  MUST(connections + hub->sessions.alive <= hub->edge->connections.count);
  MUST(tally.seats == hub->objects.seats && tally.members == hub->objects.members &&
       tally.watches == hub->objects.watches);
  MUST(tally.timers == hub->timers.count);
}
