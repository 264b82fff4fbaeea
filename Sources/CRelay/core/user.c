// SPDX-License-Identifier: Apache-2.0
/* Users: their sessions, and what others and the policy know about them. presence.c announces the changes. */
#include "core.h"

#include <stdlib.h>

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

bool relay_user_set_profile(relay_hub_t *hub, relay_id_t id, relay_bytes_t profile, relay_id_t requester) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  if (user->profile_size == profile.count &&
      (!profile.count || !memcmp(user->profile, profile.at, profile.count)))
    return true;
  free(user->profile);
  user->profile = profile.count ? relay__copy_string(profile.at, profile.count) : NULL;
  user->profile_size = (uint32_t)profile.count;
  user->profile_version++;
  relay__user_changed(hub, user, requester);
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

bool relay_user_set_status(relay_hub_t *hub, relay_id_t id, relay_bytes_t status, relay_id_t requester) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  if (user->status_size == status.count && (!status.count || !memcmp(user->status, status.at, status.count)))
    return true;
  free(user->status);
  user->status = status.count ? relay__copy_string(status.at, status.count) : NULL;
  user->status_size = (uint32_t)status.count;
  user->status_version++;
  relay__user_changed(hub, user, requester);
  return true;
}

bool relay_user_set_focus(relay_hub_t *hub, relay_id_t id, int focus, int64_t since, relay_id_t requester) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  if (user->focus == focus && user->focus_since == since) return true;
  user->focus = (int8_t)focus;
  user->focus_since = since;
  relay__user_changed(hub, user, requester);
  return true;
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
