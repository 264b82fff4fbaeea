// SPDX-License-Identifier: Apache-2.0
/* Watching: a session gets the presence of users without a shared room, as far as they share it with
 * watchers.
 *
 * view.c decides which parts the watcher may see. user.c announces changes to watchers through this file. */
#include "core.h"

#include <stdlib.h>

static relay_watch_t *find(const relay_session_t *session, const relay_user_t *user) {
  const bool is_shorter = session->watches.count < user->watchers.count;
  const relay__list_t *list = is_shorter ? &session->watches : &user->watchers;
  for (uint32_t i = 0; i < list->count; i++) {
    relay_watch_t *watch = relay__list_at(list, i);
    if (watch->session == session && watch->user == user) return watch;
  }
  return NULL;
}

/* Marks the rooms of the user, and returns the mark. It is valid until the next call. With it, a test for a
 * shared room takes a time that grows with the rooms of the two users, and not with the members of these
 * rooms. */
static uint64_t mark_rooms(relay_hub_t *hub, const relay_user_t *user) {
  const uint64_t mark = ++hub->presence.marks;
  for (uint32_t i = 0; i < user->members.count; i++)
    ((relay_member_t *)relay__list_at(&user->members, i))->room->mark = mark;
  return mark;
}

static bool is_in_marked(const relay_user_t *user, uint64_t mark) {
  for (uint32_t i = 0; i < user->members.count; i++)
    if (((relay_member_t *)relay__list_at(&user->members, i))->room->mark == mark) return true;
  return false;
}

static bool shares_room(relay_hub_t *hub, const relay_user_t *one, const relay_user_t *other) {
  if (!one->members.count || !other->members.count) return false;
  return is_in_marked(other, mark_rooms(hub, one));
}

/* Returns the view of the watch. `mark` is the result of mark_rooms() for the watched user, so that many
 * watchers need only one call of it. */
static relay__view_t view_of(const relay_watch_t *watch, uint64_t mark) {
  const relay_user_t *viewer = watch->session->user;
  const bool is_related = watch->is_related || (!watch->is_evaluated && is_in_marked(viewer, mark));
  return relay__view(watch->user, viewer, is_related);
}

void relay__watch_announce(relay_hub_t *hub, relay_user_t *user, relay__announcement_t *announcement) {
  if (!user->watchers.count) return;
  const uint64_t mark = mark_rooms(hub, user);
  for (uint32_t i = 0; i < user->watchers.count; i++) {
    relay_watch_t *watch = relay__list_at(&user->watchers, i);
    watch->view = view_of(watch, mark);
    relay__announcement_send(hub, announcement, watch->session, watch->view, watch->stamp);
  }
}

void relay__watches_reconsider(relay_hub_t *hub, const relay_user_t *user, uint64_t stamp) {
  if (!user->watchers.count) return;
  relay__views_t views = {.user = user};
  const uint64_t mark = mark_rooms(hub, user);
  for (uint32_t i = 0; i < user->watchers.count; i++) {
    relay_watch_t *watch = relay__list_at(&user->watchers, i);
    const relay__view_t before = watch->view;
    watch->view = view_of(watch, mark);
    if (watch->session->stamp == stamp || !relay__view_differs(user, before, watch->view)) continue;
    relay__outbox_add(hub, watch->session, relay__views_frame(hub, &views, watch->view), false);
    watch->session->given = hub->presence.stamp;
  }
  relay__views_release(hub, &views);
}

static void reconsider(relay_hub_t *hub, relay_watch_t *watch) {
  const relay__view_t before = watch->view;
  watch->view = view_of(watch, mark_rooms(hub, watch->user));
  if (!relay__view_differs(watch->user, before, watch->view)) return;
  relay_frame_t *frame = relay__user_frame(hub, watch->user, watch->view);
  relay__outbox_add(hub, watch->session, frame, false);
  relay__frame_release(hub, frame);
  watch->session->given = hub->presence.stamp;
}

/* Calls `call` for each watch on the user, and each watch of the user's sessions. */
static void each(const relay_user_t *user, void (*call)(relay_hub_t *, relay_watch_t *, const relay_room_t *),
                 relay_hub_t *hub, const relay_room_t *room) {
  for (uint32_t i = 0; i < user->watchers.count; i++) call(hub, relay__list_at(&user->watchers, i), room);
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    const relay_session_t *session = relay__list_at(&user->sessions, i);
    for (uint32_t j = 0; j < session->watches.count; j++)
      call(hub, relay__list_at(&session->watches, j), room);
  }
}

static bool concerns(const relay_watch_t *watch, const relay_room_t *room) {
  return relay__member_find(watch->session->user, room) && relay__member_find(watch->user, room);
}

static void joined(relay_hub_t *hub, relay_watch_t *watch, const relay_room_t *room) {
  if (!concerns(watch, room)) return;
  if (room->flags & RELAY_ROOM_STORED && !watch->is_evaluated)
    watch->is_related = true; /* also after the room has left memory */
  reconsider(hub, watch);
}

static void left(relay_hub_t *hub, relay_watch_t *watch, const relay_room_t *room) {
  /* One of the two has left the room. If the other one is no member, the two have not shared it. */
  if (!relay__member_find(watch->session->user, room) && !relay__member_find(watch->user, room)) return;
  /* The caller sets `is_related` again if the two share another stored room. */
  if (room->flags & RELAY_ROOM_STORED || watch->is_evaluated) watch->is_related = false;
  reconsider(hub, watch);
}

void relay__watch_joined(relay_hub_t *hub, const relay_user_t *user, const relay_room_t *room) {
  each(user, joined, hub, room);
}

void relay__watch_left(relay_hub_t *hub, const relay_user_t *user, const relay_room_t *room) {
  each(user, left, hub, room);
}

static void end(relay_hub_t *hub, relay_session_t *session, uint32_t index) {
  relay_watch_t *watch = relay__list_at(&session->watches, index);
  relay_user_t *user = watch->user;
  relay_watch_t *last = relay__list_at(&user->watchers, user->watchers.count - 1);
  last->user_index = watch->user_index;
  relay__list_remove(&user->watchers, watch->user_index);
  relay__list_remove(&session->watches, index);
  free(watch);
  hub->objects.watches--;
  relay__user_release(hub, user);
}

void relay__watch_end_all(relay_hub_t *hub, relay_session_t *session) {
  while (session->watches.count) end(hub, session, session->watches.count - 1);
  relay__list_free(&session->watches);
}

/* The functions of relay.h */

void relay_session_note_presence(relay_hub_t *hub, relay_id_t id) {
  relay_session_t *session = relay__session_find(hub, id);
  if (session) session->given = hub->presence.stamp;
}

static relay_session_t *find_live(const relay_hub_t *hub, relay_id_t id) {
  relay_session_t *session = relay__session_find(hub, id);
  return session && relay__session_is_live(session) ? session : NULL;
}

relay_status_t relay_session_may_watch(const relay_hub_t *hub, relay_id_t id, const relay_id_t *users,
                                       size_t count) {
  const relay_session_t *session = find_live(hub, id);
  if (!session) return RELAY_GONE;
  size_t total = session->watches.count;
  for (size_t i = 0; i < count; i++) {
    const relay_user_t *user = relay__user_find(hub, users[i]);
    if (user && !find(session, user)) total++;
  }
  return hub->limits.watched && total > hub->limits.watched ? RELAY_TOO_MANY : RELAY_OK;
}

relay_status_t relay_session_watch(relay_hub_t *hub, relay_id_t id, relay_id_t user_id, bool is_related,
                                   bool is_evaluated) {
  relay_session_t *session = find_live(hub, id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!session || !user) return RELAY_GONE;
  relay_watch_t *watch = find(session, user);
  if (!watch) {
    if (hub->limits.watched && session->watches.count >= hub->limits.watched) return RELAY_TOO_MANY;
    watch = relay__allocate(sizeof *watch);
    watch->session = session;
    watch->user = user;
    watch->user_index = user->watchers.count;
    relay__list_add(&session->watches, watch);
    relay__list_add(&user->watchers, watch);
    hub->objects.watches++;
  }
  watch->is_related = is_related;
  watch->is_evaluated = is_evaluated;
  watch->view = view_of(watch, mark_rooms(hub, watch->user));
  watch->stamp = watch->session->given = hub->presence.stamp;
  return RELAY_OK;
}

bool relay_session_watch_relate(relay_hub_t *hub, relay_id_t id, relay_id_t user_id, bool is_related,
                                bool is_evaluated) {
  const relay_session_t *session = find_live(hub, id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  relay_watch_t *watch = session && user ? find(session, user) : NULL;
  if (!watch) return false;
  watch->is_related = is_related;
  watch->is_evaluated = is_evaluated;
  reconsider(hub, watch);
  return true;
}

void relay_session_unwatch(relay_hub_t *hub, relay_id_t id, relay_id_t user_id) {
  relay_session_t *session = find_live(hub, id);
  for (uint32_t i = 0; session && i < session->watches.count; i++)
    if (((relay_watch_t *)relay__list_at(&session->watches, i))->user->id == user_id) {
      end(hub, session, i);
      return;
    }
}

/* Appends the watches of the session to the `count` watches in `at`, which has space for `max`. Returns the
 * new count, which may exceed `max`. */
static size_t list(const relay_session_t *session, relay_watching_t *at, size_t max, size_t count) {
  for (uint32_t i = 0; i < session->watches.count; i++, count++) {
    const relay_watch_t *watch = relay__list_at(&session->watches, i);
    if (count < max) at[count] = (relay_watching_t){session->id, session->user->id, watch->user->id};
  }
  return count;
}

size_t relay_user_watches(const relay_hub_t *hub, relay_id_t id, relay_watching_t *at, size_t max) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user) return 0;
  size_t count = 0;
  for (uint32_t i = 0; i < user->watchers.count; i++, count++) {
    const relay_watch_t *watch = relay__list_at(&user->watchers, i);
    if (count < max) at[count] = (relay_watching_t){watch->session->id, watch->session->user->id, id};
  }
  for (uint32_t i = 0; i < user->sessions.count; i++)
    count = list(relay__list_at(&user->sessions, i), at, max, count);
  return count;
}

size_t relay_watches(const relay_hub_t *hub, relay_watching_t *at, size_t max) {
  size_t count = 0;
  for (uint32_t i = 0; i < hub->sessions.count; i++)
    if (hub->sessions.items[i]) count = list(hub->sessions.items[i], at, max, count);
  return count;
}

size_t relay_user_shared_rooms(relay_hub_t *hub, relay_id_t a, relay_id_t b, relay_id_t *rooms, size_t max) {
  const relay_user_t *one = relay__user_find(hub, a), *other = relay__user_find(hub, b);
  if (!one || !other) return 0;
  const uint64_t mark = mark_rooms(hub, other);
  size_t count = 0;
  for (uint32_t i = 0; i < one->members.count; i++) {
    const relay_member_t *member = relay__list_at(&one->members, i);
    if (member->room->mark != mark) continue;
    if (count < max) rooms[count] = member->room->id;
    count++;
  }
  return count;
}

bool relay_user_shares_room(relay_hub_t *hub, relay_id_t a, relay_id_t b) {
  const relay_user_t *one = relay__user_find(hub, a), *other = relay__user_find(hub, b);
  return one && other && shares_room(hub, one, other);
}
