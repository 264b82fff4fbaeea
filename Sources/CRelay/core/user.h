// SPDX-License-Identifier: Apache-2.0
/* user.h -- users, their presence, and the sessions that watch it. */
#ifndef RELAY_USER_H
#define RELAY_USER_H

#include "frames.h"
#include "rates.h"

/* The audiences of a user's focus and online state, as relay_audience_t. */
typedef struct relay__sharing {
  uint8_t focus, online;
} relay__sharing_t;

/* The parts of a user's state that a viewer may see. Without RELAY__SEES_PERSON the viewer sees only the
 * name, as for an unknown user. */
typedef uint8_t relay__view_t;
enum { RELAY__SEES_PERSON = 1, RELAY__SEES_ONLINE = 2, RELAY__SEES_FOCUS = 4, RELAY__SEES_ALL = 7 };

/* The state of a user that others can see, before sharing and blocks restrict it. */
typedef struct relay__shown {
  bool online;
  int8_t activity, focus;
  int64_t focus_since;
  uint32_t profile, status; /* their versions */
} relay__shown_t;

struct relay_user {
  relay__named_t named;
  relay_id_t id;
  char *profile, *status;
  uint32_t profile_size, status_size;
  uint32_t holds; /* calls of relay_user_retain() without a matching release */
  int8_t focus;
  relay__sharing_t sharing;
  bool has_devices, has_filter, has_inbox, pushes_unread;
  bool was_online, is_counted /* as online in its rooms */;
  bool was_attending;     /* online, and not in the background, when an earlier run ended: see returns.c */
  bool is_settled;        /* this run has seen the user online, or awaits the user: see returns.c */
  int8_t stored_activity; /* of the last RELAY_EVENT_USER_SEEN; -1: offline */
  bool is_pending;        /* a change is not announced yet */
  relay__view_t pending_parts; /* the parts that differed from `shown` at any time since that change */
  int64_t focus_since, last_seen;
  int64_t alarm;          /* since 1970; 0: none */
  int64_t grace_until;    /* on the loop's clock; 0: none */
  uint8_t grace_activity; /* the highest relay_activity_t of the sessions that were lost in this grace */
  uint64_t changed;       /* the stamp of the last change */
  uint64_t pending_since; /* the stamp of the first change that is not announced yet */
  uint64_t decided;       /* the stamp of the last message that was published with a decision for this user */
  int64_t announced_at;   /* on the loop's clock; 0: never */
  relay_id_t requester;   /* the session that requested the pending change; 0: several, or none */
  relay__list_t sessions; /* relay_session_t */
  relay__list_t members;  /* relay_member_t, of the rooms in memory */
  relay__list_t watchers; /* relay_watch_t, of sessions that watch this user */
  relay__names_t *blocked;  /* the names of blocked users; NULL: none */
  relay__bucket_t *buckets; /* RELAY__USER_RATES, by relay_rate_t; NULL until one is used */
  relay__timer_t timer;
  relay__shown_t shown; /* the state that was announced last */
  uint32_t profile_version, status_version;
};

bool relay__user_is_online(const relay_user_t *user);
/* Queues RELAY_EVENT_USER_SEEN. */
void relay__user_seen(relay_hub_t *hub, relay_user_t *user);
void relay__user_session_added(relay_hub_t *hub, relay_user_t *user, relay_session_t *session);
void relay__user_session_removed(relay_hub_t *hub, relay_user_t *user, relay_session_t *session,
                                 bool is_clean);
/* Announces the state of the user to others, if it has changed: at once, or 250 ms after the last
 * announcement. `requester` is a session that already knows the change, or 0. */
void relay__user_changed(relay_hub_t *hub, relay_user_t *user, relay_id_t requester);
void relay__user_timer(relay_hub_t *hub, relay_user_t *user);
/* Updates the online counts of the user's rooms. */
void relay__user_count(relay_hub_t *hub, relay_user_t *user);
/* Appends the members of a presence entry that the view allows, without braces. */
void relay__user_put_entry(const relay_user_t *user, relay__view_t view, relay__text_t *text);
relay_frame_t *relay__user_frame(relay_hub_t *hub, const relay_user_t *user, relay__view_t view);
/* Announces a pending change without a delay. */
void relay__user_announce_now(relay_hub_t *hub, relay_user_t *user);
/* Frees the user if nothing refers to it. */
void relay__user_release(relay_hub_t *hub, relay_user_t *user);

/* view.c */

/* Returns the parts of `user` that `viewer` may see. `is_related` is true if both are members of a room in
 * which the viewer may see the members. */
relay__view_t relay__view(const relay_user_t *user, const relay_user_t *viewer, bool is_related);
/* The same for the id of a viewer. The id 0 sees all parts, a stale id none. */
relay__view_t relay__view_by(const relay_hub_t *hub, const relay_user_t *user, relay_id_t viewer,
                             bool is_related);
/* True if the presence entry of the user differs between the two views. */
bool relay__view_differs(const relay_user_t *user, relay__view_t one, relay__view_t other);

/* The presence events of one user, one for each view. relay__views_frame() builds each when it is
 * first needed. */
typedef struct relay__views {
  const relay_user_t *user;
  relay_frame_t *frame[RELAY__SEES_ALL + 1];
} relay__views_t;

relay_frame_t *relay__views_frame(relay_hub_t *hub, relay__views_t *views, relay__view_t view);
void relay__views_release(relay_hub_t *hub, relay__views_t *views);
/* True if `user` has blocked the user `name`. */
bool relay__user_blocks(const relay_user_t *user, const char *name);
void relay__unblock_all(relay_user_t *user);

/* An announcement of a user's state. */
typedef struct relay__announcement {
  relay__views_t views;
  relay__view_t parts; /* that have changed */
  bool is_batched;     /* it may wait for other events, see relay__outbox_add_batched() */
  /* The state has changed and is again the one that was announced last. Only sessions that got the state in
   * between, in a reply, need the announcement. */
  bool is_back;
  uint64_t stamp;       /* of this announcement; a session that has it gets no second event */
  relay_id_t requester; /* the session that requested the change; it gets no announcement */
} relay__announcement_t;

/* Sends the announcement to a session, unless the session already has this state or may not see the change.
 * `given` is the stamp at which the session last got the user's state in a reply. */
void relay__announcement_send(relay_hub_t *hub, relay__announcement_t *announcement, relay_session_t *session,
                              relay__view_t view, uint64_t given);

/* watch.c */

struct relay_watch {
  relay_session_t *session;
  relay_user_t *user;
  uint32_t user_index; /* in the user's watchers */
  uint64_t stamp;      /* the newest stamp when the watch began */
  bool is_related;     /* both users share a stored room, which need not be in memory */
  bool is_evaluated;   /* only the caller sets `is_related`; rooms in memory do not count */
  relay__view_t view;  /* of the presence that the session got last */
};

/* Sends the announcement to the sessions that watch the user. */
void relay__watch_announce(relay_hub_t *hub, relay_user_t *user, relay__announcement_t *announcement);
/* Sends a presence event to each session that watches the user and now has another view. Skips sessions with
 * `stamp`. */
void relay__watches_reconsider(relay_hub_t *hub, const relay_user_t *user, uint64_t stamp);
/* The user has joined or left the room. Updates the views of the watches between the user and
 * other members. */
void relay__watch_joined(relay_hub_t *hub, const relay_user_t *user, const relay_room_t *room);
void relay__watch_left(relay_hub_t *hub, const relay_user_t *user, const relay_room_t *room);
void relay__watch_end_all(relay_hub_t *hub, relay_session_t *session);

#endif
