// SPDX-License-Identifier: Apache-2.0
/* Decides which parts of a user's state another user may see: those that the user shares with the viewer. A
 * blocked viewer sees none. */
#include "core.h"

#include <stdlib.h>

static bool includes(uint8_t audience, bool is_related) {
  return audience == RELAY_SHARE_WATCHERS || (audience == RELAY_SHARE_ROOMS && is_related);
}

bool relay__user_blocks(const relay_user_t *user, const char *name) {
  return user->blocked && relay__names_find(user->blocked, name, strlen(name));
}

static bool blocks(const relay_user_t *user, const relay_user_t *viewer) {
  return user->blocked && relay__names_find(user->blocked, viewer->named.name, viewer->named.length);
}

static relay__view_t view_with(const relay_user_t *user, const relay_user_t *viewer, bool is_related,
                               relay__sharing_t sharing, bool is_blocked) {
  if (viewer == user) return RELAY__SEES_ALL;
  if (is_blocked) return 0;
  return (relay__view_t)(RELAY__SEES_PERSON |
                         (includes(sharing.online, is_related) ? RELAY__SEES_ONLINE : 0) |
                         (includes(sharing.focus, is_related) ? RELAY__SEES_FOCUS : 0));
}

relay__view_t relay__view(const relay_user_t *user, const relay_user_t *viewer, bool is_related) {
  return view_with(user, viewer, is_related, user->sharing, blocks(user, viewer));
}

relay__view_t relay__view_by(const relay_hub_t *hub, const relay_user_t *user, relay_id_t viewer,
                             bool is_related) {
  if (!viewer) return RELAY__SEES_ALL;
  const relay_user_t *found = relay__user_find(hub, viewer);
  return found ? relay__view(user, found, is_related) : 0;
}

bool relay__view_differs(const relay_user_t *user, relay__view_t one, relay__view_t other) {
  const unsigned between = one ^ other;
  return (between & RELAY__SEES_PERSON && user->profile_size) ||
         (between & RELAY__SEES_ONLINE &&
          (user->last_seen || user->status_size || relay__user_is_online(user))) ||
         (between & RELAY__SEES_FOCUS && user->focus >= 0);
}

relay_frame_t *relay__views_frame(relay_hub_t *hub, relay__views_t *views, relay__view_t view) {
  if (!views->frame[view]) views->frame[view] = relay__user_frame(hub, views->user, view);
  return views->frame[view];
}

void relay__views_release(relay_hub_t *hub, relay__views_t *views) {
  for (int i = 0; i <= RELAY__SEES_ALL; i++)
    if (views->frame[i]) relay__frame_release(hub, views->frame[i]);
}

/* user.c calls this for the sessions in rooms, and watch.c for watchers. The checks keep an event from a
 * session that knows the state already, and from one that could infer a state that is not shared with it. */
void relay__announcement_send(relay_hub_t *hub, relay__announcement_t *announcement, relay_session_t *session,
                              relay__view_t view, uint64_t given) {
  const relay_user_t *user = announcement->views.user;
  if (session->stamp == announcement->stamp || session->id == announcement->requester) return;
  if (given >= user->changed) return; /* a reply has given it this state */
  /* An event without a visible change would show that a hidden part has changed. */
  if (!(announcement->parts & view)) return;
  /* The session may have got the state in between through another room that both have left since, so its own
   * stamp decides, and not that of the seat. */
  if (announcement->is_back && session->user != user && session->given < user->pending_since) return;
  session->stamp = announcement->stamp;
  relay_frame_t *frame = relay__views_frame(hub, &announcement->views, view);
  if (announcement->is_batched)
    relay__outbox_add_batched(hub, session, frame);
  else
    relay__outbox_add(hub, session, frame, false);
}

/* A change of what others may see: of the user's sharing, or of a block. */
typedef struct change {
  relay__sharing_t before;
  const relay_user_t *other; /* the user whose block has changed; NULL: the change affects all viewers */
  bool was_blocked;
} change_t;

/* Sends a presence event to each session whose view of the user has changed. */
static void show_change(relay_hub_t *hub, relay_user_t *user, const change_t *change) {
  relay__views_t views = {.user = user};
  const uint64_t stamp = ++hub->presence.stamp;
  for (uint32_t i = 0; i < user->members.count; i++) {
    const relay_room_t *room = ((relay_member_t *)relay__list_at(&user->members, i))->room;
    for (uint32_t j = 0; j < room->live_count && !room->is_large; j++) {
      const relay_seat_t *seat = room->live[j];
      relay_session_t *session = seat->session;
      const relay_user_t *viewer = session->user;
      if (session->stamp == stamp || !(seat->rights & RELAY_RIGHT_PRESENCE)) continue;
      if (change->other && change->other != viewer) continue;
      const bool was_blocked = change->other ? change->was_blocked : blocks(user, viewer);
      const relay__view_t before = view_with(user, viewer, true, change->before, was_blocked);
      const relay__view_t after = relay__view(user, viewer, true);
      session->stamp = stamp;
      if (relay__view_differs(user, before, after))
        relay__outbox_add(hub, session, relay__views_frame(hub, &views, after), false);
    }
  }
  relay__watches_reconsider(hub, user, stamp);
  relay__views_release(hub, &views);
}

void relay__unblock_all(relay_user_t *user) {
  if (!user->blocked) return;
  for (uint32_t i = 0; i < user->blocked->capacity; i++)
    while (user->blocked->buckets[i]) {
      relay__named_t *name = user->blocked->buckets[i];
      relay__names_remove(user->blocked, name);
      free(name);
    }
  relay__names_free(user->blocked);
  free(user->blocked);
  user->blocked = NULL;
}

/* The functions of relay.h */

bool relay_user_set_sharing(relay_hub_t *hub, relay_id_t id, relay_audience_t focus,
                            relay_audience_t online) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  const relay__sharing_t before = user->sharing;
  if (before.focus == focus && before.online == online) return true;
  relay__user_announce_now(hub, user); /* to the old audience */
  user->sharing = (relay__sharing_t){(uint8_t)focus, (uint8_t)online};
  relay__user_count(hub, user);
  show_change(hub, user, &(change_t){.before = before});
  return true;
}

bool relay_user_set_blocked(relay_hub_t *hub, relay_id_t id, const char *name, bool is_blocked) {
  relay_user_t *user = relay__user_find(hub, id);
  if (!user) return false;
  const size_t length = strlen(name);
  relay__named_t *found = user->blocked ? relay__names_find(user->blocked, name, length) : NULL;
  if (is_blocked == (found != NULL)) return true;
  relay__user_announce_now(hub, user); /* with the old view */
  if (is_blocked) {
    if (!user->blocked) user->blocked = relay__allocate(sizeof *user->blocked);
    relay__names_add(user->blocked, relay__named_allocate(sizeof *found, name, length));
  } else {
    relay__names_remove(user->blocked, found);
    free(found);
    if (!user->blocked->count) relay__unblock_all(user);
  }
  const relay_user_t *other = relay__names_find(&hub->names.users, name, length);
  if (other) show_change(hub, user, &(change_t){user->sharing, other, !is_blocked});
  return true;
}
