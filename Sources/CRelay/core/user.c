// SPDX-License-Identifier: Apache-2.0
/* Users: presence and focus, merged over all sessions of a user, and the announcement of changes to others.
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
      .views.user = user, .cause = user->cause, .stamp = ++hub->presence.stamp};
  const relay__shown_t now = state_of(user);
  if (now.activity != user->stored_activity) relay__user_seen(hub, user);
  announcement.parts = changed_parts(user, &now);
  announcement.is_back = !announcement.parts;
  if (announcement.is_back) announcement.parts = user->pending_parts;
  user->is_pending = false;
  user->pending_parts = 0;
  user->cause = 0;
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

void relay__user_changed(relay_hub_t *hub, relay_user_t *user, relay_id_t cause) {
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
  user->cause = user->is_pending && user->cause != cause ? 0 : cause;
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

void relay__user_session_added(relay_hub_t *hub, relay_user_t *user, relay_session_t *session) {
  user->grace_until = 0; /* the user has reconnected */
  relay__list_add(&user->sessions, session);
  session->user = user;
  user->is_settled = true;
  relay__user_changed(hub, user, session->id);
  /* Stored now, in case of a crash: otherwise `last_seen` of a user who was online could be before this
   * session, and the next run would not know that the user was online. */
  relay__user_seen(hub, user);
}

void relay__user_session_removed(relay_hub_t *hub, relay_user_t *user, relay_session_t *session,
                                 bool is_clean) {
  if (!is_clean) {
    if (!user->grace_until || user->grace_activity < session->activity)
      user->grace_activity = session->activity;
    user->grace_until = hub->clock.loop + hub->limits.presence_grace;
  }
  for (uint32_t i = 0; i < user->sessions.count; i++)
    if (relay__list_at(&user->sessions, i) == session) {
      relay__list_remove(&user->sessions, i);
      break;
    }
  if (user->grace_until) relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, user->grace_until);
  relay__user_changed(hub, user, 0);
}

void relay__user_release(relay_hub_t *hub, relay_user_t *user) {
  if (user->sessions.count || user->members.count || user->watchers.count || user->grace_until ||
      user->is_pending || user->holds)
    return;
  if (hub->presence.is_followed && (user->focus >= 0 || user->status))
    return; /* the Focus or the status may end by time, see RELAY_EVENT_USER_DUE */
  /* If the user were freed earlier and returned, the buckets would be full. */
  int64_t until = relay__user_rates_full_at(user);
  if (user->is_settled && hub->returns.until > until) until = hub->returns.until; /* see returns.c */
  if (until > hub->clock.loop) {
    relay__timer_set_earlier(hub, &user->timer, RELAY__TIMER_USER, until);
    return;
  }
  relay__event(hub, RELAY_EVENT_USER_GONE, NULL)->user = user->id;
  relay__timer_clear(hub, &user->timer);
  relay__names_remove(&hub->names.users, &user->named);
  relay__slots_remove(&hub->users, user->id);
  free(user->profile);
  free(user->status);
  free(user->buckets);
  relay__unblock_all(user);
  relay__list_free(&user->sessions);
  relay__list_free(&user->members);
  relay__list_free(&user->watchers);
  free(user);
}

/* The functions of relay.h */

relay_id_t relay_user_create(relay_hub_t *hub, const char *name, relay_bytes_t profile, int64_t last_seen) {
  const size_t length = strlen(name);
  relay_user_t *user = relay__names_find(&hub->names.users, name, length);
  if (user) return user->id;
  user = relay__named_allocate(sizeof *user, name, length);
  relay__names_add(&hub->names.users, &user->named);
  user->id = relay__slots_add(&hub->users, user);
  user->profile = profile.count ? relay__copy_string(profile.at, profile.count) : NULL;
  user->profile_size = (uint32_t)profile.count;
  user->focus = user->shown.focus = -1;
  user->sharing = (relay__sharing_t){RELAY_SHARE_ROOMS, RELAY_SHARE_WATCHERS};
  user->shown.activity = user->stored_activity = -1;
  user->last_seen = last_seen;
  return user->id;
}

relay_id_t relay_user_named(const relay_hub_t *hub, const char *name) {
  const relay_user_t *user = relay__names_find(&hub->names.users, name, strlen(name));
  return user ? user->id : 0;
}

const char *relay_user_name(const relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  return user ? user->named.name : NULL;
}

bool relay_user_is_online(const relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  return user && relay__user_is_online(user);
}

relay_bytes_t relay_user_profile(const relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  return user ? (relay_bytes_t){user->profile, user->profile_size} : (relay_bytes_t){0};
}

bool relay_user_set_profile(relay_hub_t *hub, relay_id_t id, relay_bytes_t profile, relay_id_t cause) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  if (user->profile_size == profile.count &&
      (!profile.count || !memcmp(user->profile, profile.at, profile.count)))
    return true;
  free(user->profile);
  user->profile = profile.count ? relay__copy_string(profile.at, profile.count) : NULL;
  user->profile_size = (uint32_t)profile.count;
  user->profile_version++;
  relay__user_changed(hub, user, cause);
  return true;
}

bool relay_user_forget_seen(relay_hub_t *hub, relay_id_t id) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  user->last_seen = 0;
  user->grace_until = 0;
  relay__user_changed(hub, user, 0);
  return true;
}

bool relay_user_set_status(relay_hub_t *hub, relay_id_t id, relay_bytes_t status, relay_id_t cause) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  if (user->status_size == status.count && (!status.count || !memcmp(user->status, status.at, status.count)))
    return true;
  free(user->status);
  user->status = status.count ? relay__copy_string(status.at, status.count) : NULL;
  user->status_size = (uint32_t)status.count;
  user->status_version++;
  relay__user_changed(hub, user, cause);
  return true;
}

bool relay_user_set_focus(relay_hub_t *hub, relay_id_t id, int focus, int64_t since, relay_id_t cause) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  if (user->focus == focus && user->focus_since == since) return true;
  user->focus = (int8_t)focus;
  user->focus_since = since;
  relay__user_changed(hub, user, cause);
  return true;
}

void relay_user_settle(relay_hub_t *hub, relay_id_t id) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return;
  user->shown = state_of(user);
  user->is_pending = false;
  user->pending_parts = 0;
  user->cause = 0;
}

void relay_hub_follow_presence(relay_hub_t *hub, bool is_on) {
  hub->presence.is_followed = is_on;
}

size_t relay_hub_release_users(relay_hub_t *hub, size_t from, size_t count) {
  size_t at = from;
  for (; at < hub->users.count && at < from + count; at++)
    if (hub->users.items[at]) relay__user_release(hub, hub->users.items[at]);
  return at < hub->users.count ? at : 0;
}

bool relay_user_set_has_devices(relay_hub_t *hub, relay_id_t id, bool has_devices) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  user->has_devices = has_devices;
  return true;
}

bool relay_user_has_devices(const relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  return user && user->has_devices;
}

bool relay_user_set_pushes_unread(relay_hub_t *hub, relay_id_t id, bool pushes_unread) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  user->pushes_unread = pushes_unread;
  return true;
}

bool relay_user_set_has_filter(relay_hub_t *hub, relay_id_t id, bool has_filter) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  user->has_filter = has_filter;
  return true;
}

bool relay_user_set_has_inbox(relay_hub_t *hub, relay_id_t id, bool has_inbox) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  user->has_inbox = has_inbox;
  return true;
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

void relay_user_push(relay_hub_t *hub, relay_id_t id, relay_bytes_t json) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user || !user->sessions.count) return;
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, json.at, json.count);
  for (uint32_t i = 0; i < user->sessions.count; i++)
    relay__outbox_add(hub, relay__list_at(&user->sessions, i), frame, false);
  relay__frame_release(hub, frame);
}

size_t relay_user_sessions(const relay_hub_t *hub, relay_id_t id, relay_id_t *sessions, size_t max) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user) return 0;
  for (uint32_t i = 0; i < user->sessions.count && i < max; i++)
    sessions[i] = ((relay_session_t *)relay__list_at(&user->sessions, i))->id;
  return user->sessions.count;
}

void relay_user_retain(relay_hub_t *hub, relay_id_t id) {
  relay_user_t *user = relay__user_find(hub, id);
  if (user) user->holds++;
}

void relay_user_release(relay_hub_t *hub, relay_id_t id) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return;
  if (user->holds) user->holds--;
  relay__user_release(hub, user);
}
