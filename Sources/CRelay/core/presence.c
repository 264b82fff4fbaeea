// SPDX-License-Identifier: Apache-2.0
/* Presence and focus, merged over all sessions of a user, and the announcement of changes to others.
 *
 * view.c decides which parts a viewer may see, and watch.c knows the sessions that watch a user. */
#include "core.h"

#include <stdlib.h>

enum { COALESCE = 250 };

bool relay__user_is_online(const relay_user_t *user) {
  return user->sessions.count || user->grace_until;
}

static int activity_of(const relay_user_t *user) {
  /* In the grace the lost sessions still count, so that a reconnect causes no event. */
  int liveliest = user->grace_until ? user->grace_activity : RELAY_BACKGROUND;
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    const relay_session_t *session = relay__list_at(&user->sessions, i);
    if (session->activity > liveliest) liveliest = session->activity;
  }
  return liveliest;
}

void relay__user_put_entry(const relay_user_t *user, relay__view_t view, relay__text_t *text) {
  static const char *const activities[] = {"background", "idle", "active"};
  const bool is_online = view & RELAY__SEES_ONLINE && relay__user_is_online(user);
  const int focus = view & RELAY__SEES_FOCUS ? user->focus : -1;
  relay__puts(text, "\"user\":\"");
  relay__put(text, user->named.name, user->named.length);
  relay__puts(text, "\"");
  if (view & RELAY__SEES_PERSON) relay__put(text, user->profile, user->profile_size);
  relay__puts(text, is_online ? ",\"online\":true" : ",\"online\":false");
  if (is_online) {
    relay__puts(text, ",\"activity\":\"");
    relay__puts(text, activities[activity_of(user)]);
    relay__puts(text, "\"");
  }
  relay__puts(text, focus < 0 ? ",\"isFocused\":null"
                    : focus   ? ",\"isFocused\":true"
                              : ",\"isFocused\":false");
  if (focus == 1) {
    relay__puts(text, ",\"focusSince\":");
    relay__put_integer(text, user->focus_since);
  }
  if (view & RELAY__SEES_ONLINE && user->last_seen) {
    relay__puts(text, ",\"lastSeen\":");
    relay__put_integer(text, user->last_seen / 1000 * 1000);
  }
  if (view & RELAY__SEES_ONLINE && user->status_size) {
    relay__puts(text, ",\"status\":");
    relay__put(text, user->status, user->status_size);
  }
}

relay_frame_t *relay__user_frame(relay_hub_t *hub, const relay_user_t *user, relay__view_t view) {
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"presence\",");
  relay__user_put_entry(user, view, text);
  relay__puts(text, "}");
  return relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
}

static relay__shown_t state_of(const relay_user_t *user) {
  const bool is_online = relay__user_is_online(user);
  return (relay__shown_t){.online = is_online,
                          .activity = (int8_t)(is_online ? activity_of(user) : -1),
                          .focus = user->focus,
                          .focus_since = user->focus == 1 ? user->focus_since : 0,
                          .profile = user->profile_version,
                          .status = user->status_version};
}

/* Returns the parts that differ from the last announcement. */
static relay__view_t changed_parts(const relay_user_t *user, const relay__shown_t *now) {
  const relay__shown_t *shown = &user->shown;
  relay__view_t parts = 0;
  if (shown->online != now->online || shown->activity != now->activity || shown->status != now->status)
    parts |= RELAY__SEES_ONLINE;
  if (shown->focus != now->focus || shown->focus_since != now->focus_since) parts |= RELAY__SEES_FOCUS;
  if (shown->profile != now->profile) parts |= RELAY__SEES_PERSON;
  return parts;
}

/* Queues RELAY_EVENT_PRESENCE. The event has a copy, because the user may be freed before it is delivered. */
static void notify_follower(relay_hub_t *hub, const relay_user_t *user) {
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__put(text, user->named.name, user->named.length + 1u);
  relay__puts(text, "{");
  relay__user_put_entry(user, RELAY__SEES_ALL, text);
  relay__puts(text, "}");
  char *copy = relay__copy_string(text->at, text->size);
  relay_event_t *event = relay__event(hub, RELAY_EVENT_PRESENCE, copy);
  const size_t begin = user->named.length + 1u;
  event->name = copy;
  event->entry = (relay_bytes_t){copy + begin, text->size - begin};
}

/* Sends the pending change of the user to the sessions that may see it: those of the user, of the members of
 * the user's rooms, and of watchers. Each session gets at most one event. If the state is again the one that
 * was announced last (`is_back`), only sessions that got the state in between, in a reply, need an event. */
static void announce(relay_hub_t *hub, relay_user_t *user) {
  relay__announcement_t announcement = {
      .views.user = user, .requester = user->requester, .stamp = ++hub->presence.stamp};
  const relay__shown_t now = state_of(user);
  if (now.activity != user->stored_activity) relay__user_seen(hub, user);
  announcement.parts = changed_parts(user, &now);
  announcement.is_back = !announcement.parts;
  if (announcement.is_back) announcement.parts = user->pending_parts;
  user->is_pending = false;
  user->pending_parts = 0;
  user->requester = 0;
  if (!announcement.parts) return;
  user->shown = now;
  /* Also for a state that is back: a reply may have given a backend the state in between. */
  if (hub->presence.is_followed) notify_follower(hub, user);
  if (!announcement.is_back) hub->stats.announcements++;
  /* A change that nobody else may see does not delay the next announcement. Others could infer the change
   * from the delay. */
  const bool is_private = announcement.parts == RELAY__SEES_FOCUS && user->sharing.focus == RELAY_SHARE_NONE;
  if (!announcement.is_back && !is_private) user->announced_at = hub->clock.loop;
  /* The user's own sessions are first. They see all parts, also in rooms that show fewer. They also get a
   * state that is back, because a reply may have given one of them the state in between. */
  for (uint32_t i = 0; i < user->sessions.count; i++)
    relay__announcement_send(hub, &announcement, relay__list_at(&user->sessions, i), RELAY__SEES_ALL,
                             user->changed - 1);
  for (uint32_t i = 0; i < user->members.count; i++) {
    const relay_room_t *room = ((relay_member_t *)relay__list_at(&user->members, i))->room;
    if (room->is_large) continue;
    announcement.is_batched = relay__room_batches(room);
    for (uint32_t j = 0; j < room->live_count; j++) {
      const relay_seat_t *seat = room->live[j];
      relay_session_t *session = seat->session;
      if (session->stamp == announcement.stamp || !(seat->rights & RELAY_RIGHT_PRESENCE)) continue;
      relay__announcement_send(hub, &announcement, session, relay__view(user, session->user, true),
                               seat->stamp);
    }
  }
  announcement.is_batched = false;
  relay__watch_announce(hub, user, &announcement);
  relay__views_release(hub, &announcement.views);
}

void relay__user_announce_now(relay_hub_t *hub, relay_user_t *user) {
  if (user->is_pending) announce(hub, user);
}

void relay__user_count(relay_hub_t *hub, relay_user_t *user) {
  const bool is_counted = relay__user_is_online(user) && user->sharing.online != RELAY_SHARE_NONE;
  if (is_counted == user->is_counted) return;
  user->is_counted = is_counted;
  for (uint32_t i = 0; i < user->members.count; i++) {
    relay_member_t *member = relay__list_at(&user->members, i);
    relay__room_online_changed(hub, member->room, is_counted ? 1 : -1);
  }
}

void relay__user_seen(relay_hub_t *hub, relay_user_t *user) {
  char *name = relay__copy_string(user->named.name, user->named.length);
  relay_event_t *event = relay__event(hub, RELAY_EVENT_USER_SEEN, name);
  user->stored_activity = state_of(user).activity;
  event->name = name;
  event->time = user->last_seen;
  event->activity = user->stored_activity;
}

void relay__user_changed(relay_hub_t *hub, relay_user_t *user, relay_id_t requester) {
  const bool is_online = relay__user_is_online(user);
  relay__user_count(hub, user);
  if (is_online != user->was_online) {
    user->was_online = is_online;
    if (is_online)
      hub->stats.went_online++;
    else
      hub->stats.went_offline++;
    if (!is_online) relay__user_seen(hub, user);
  }
  user->requester = user->is_pending && user->requester != requester ? 0 : requester;
  user->changed = ++hub->presence.stamp;
  if (!user->is_pending) user->pending_since = user->changed;
  user->is_pending = true;
  const relay__shown_t now = state_of(user);
  user->pending_parts |= changed_parts(user, &now);
  const int64_t due = user->announced_at ? user->announced_at + COALESCE : 0;
  relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER,
                           due > hub->clock.loop ? due : hub->clock.loop);
}

void relay__user_timer(relay_hub_t *hub, relay_user_t *user) {
  /* During a drain no grace ends: the users return to the next run, which shows them as online until then. */
  const bool may_end = !hub->drain.is_on;
  if (may_end && user->grace_until && hub->clock.loop >= user->grace_until) {
    user->grace_until = 0;
    relay__user_changed(hub, user, 0);
  }
  if (user->is_pending && (!user->announced_at || hub->clock.loop >= user->announced_at + COALESCE))
    announce(hub, user);
  if (user->is_pending)
    relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, user->announced_at + COALESCE);
  if (may_end && user->grace_until)
    relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, user->grace_until);
  int64_t due;
  if (relay__alarm_has_come(hub, &user->alarm, &due))
    relay__event(hub, RELAY_EVENT_USER_DUE, NULL)->user = user->id;
  else if (user->alarm)
    relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, due);
  relay__user_release(hub, user);
}

/* The functions of relay.h */

void relay_user_settle(relay_hub_t *hub, relay_id_t id) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return;
  user->shown = state_of(user);
  user->is_pending = false;
  user->pending_parts = 0;
  user->requester = 0;
}

void relay_hub_follow_presence(relay_hub_t *hub, bool is_on) {
  hub->presence.is_followed = is_on;
}

size_t relay_user_entry(const relay_hub_t *hub, relay_id_t id, relay_id_t viewer, bool is_related, char *at,
                        size_t max) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user) return 0;
  relay__text_t text = {0};
  relay__puts(&text, "{");
  relay__user_put_entry(user, relay__view_by(hub, user, viewer, is_related), &text);
  relay__puts(&text, "}");
  if (max) memcpy(at, text.at, text.size < max ? text.size : max);
  free(text.at);
  return text.size;
}
