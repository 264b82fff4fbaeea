// SPDX-License-Identifier: Apache-2.0
/* core.h -- rooms, users and sessions, and the hub that owns them. Sockets belong to edge/, which the core
 * reaches through link.h. All functions run on the hub's thread.
 *
 * "The loop's clock" is `hub->clock`, in milliseconds from an arbitrary start; other times are since 1970. A
 * stamp is a value of `hub->stamp`, a counter that orders changes of presence, announcements and messages. */
#ifndef RELAY_CORE_H
#define RELAY_CORE_H

#include <pthread.h>
#include <string.h>
#include <uv.h>

#include "../base.h"
#include "relay.h"

typedef struct relay_session relay_session_t;
typedef struct relay_room relay_room_t;
typedef struct relay_user relay_user_t;
typedef struct relay_member relay_member_t;
typedef struct relay_seat relay_seat_t;
typedef struct relay_watch relay_watch_t;
typedef struct relay_receipt relay_receipt_t;
typedef struct relay_frame relay_frame_t;
typedef struct relay__client relay__client_t;

#include "../link.h"

/* timers.c: one heap for all timers */

typedef enum relay__timer_kind {
  RELAY__TIMER_SESSION,
  RELAY__TIMER_USER,
  RELAY__TIMER_MEMBER,
  RELAY__TIMER_ROOM,
  RELAY__TIMER_CONNECTION,
  RELAY__TIMER_DRAIN,
  RELAY__TIMER_ALARM,
  RELAY__TIMER_BATCH,
  RELAY__TIMER_RETURNS,
} relay__timer_kind_t;

void relay__timer_set(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due);
/* Sets the timer, unless it is already due at an earlier time. */
void relay__timer_set_earlier(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due);
void relay__timer_clear(relay_hub_t *hub, relay__timer_t *timer);
/* Removes the first timer that is due, and returns it. Returns NULL if none is due. */
relay__timer_t *relay__timers_take(relay_hub_t *hub);
/* Sets the timer of libuv to the first timer of the heap. */
void relay__timers_arm(relay_hub_t *hub);

/* frames.c: frames and outboxes */

/* A page of the history of a room. On a slow connection pages wait, so the outbox treats them differently. */
typedef enum relay__page {
  RELAY__NO_PAGE,
  RELAY__HISTORY,   /* the reply to `history` */
  RELAY__JOIN_PART, /* an event before the reply to `join` */
  RELAY__JOIN,      /* the reply to `join` */
} relay__page_t;

struct relay_frame {
  uint32_t references;
  uint32_t size;
  relay_id_t room; /* of a page; else 0 */
  uint8_t page;    /* relay__page_t */
  uint8_t bytes[]; /* a WebSocket frame without a mask, with its header */
};

enum { RELAY__TEXT = 1, RELAY__CLOSE = 8, RELAY__PING = 9 };

/* Builds a frame. The caller has the only reference, and releases it. */
relay_frame_t *relay__frame_create(relay_hub_t *hub, int opcode, const void *payload, size_t size);
void relay__frame_release(relay_hub_t *hub, relay_frame_t *frame);
static inline size_t relay__frame_header(size_t payload) {
  return payload < 126 ? 2 : payload < 65536 ? 4 : 10;
}
static inline size_t relay__frame_header_of(const relay_frame_t *frame) {
  return frame->bytes[1] < 126 ? 2 : frame->bytes[1] == 126 ? 4 : 10;
}

typedef struct relay__outbox {
  union { /* pointers to frames; the lowest bit is set for a reply, and clear for an event */
    uintptr_t one;
    uintptr_t *many;
  };
  uint32_t head, count, capacity; /* capacity 0: `one` holds the only frame */
  uint32_t sent;                  /* bytes of the first frame that are written */
  uint32_t event_bytes, reply_bytes;
} relay__outbox_t;

/* Queues a frame, which is written at the end of the iteration. Takes a reference of its own. A
 * queue of events over the limit `outgoing_queue` is dropped, and the session is closed at the end
 * of the iteration. */
void relay__outbox_add(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame, bool is_reply);
/* Queues a reply before the first page that waits. */
void relay__outbox_add_before_pages(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame);
/* Removes the pages of a join of the room that wait and of which no byte is written. The reply becomes the
 * error `superseded` with the same id. Returns true if it has removed one. */
bool relay__outbox_supersede(relay_hub_t *hub, relay_session_t *session, relay_id_t room);
/* Queues an event that may wait up to RELAY__BATCH_MS, so that one write contains many events. Used when many
 * members join a large room at the same time. */
void relay__outbox_add_batched(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame);
/* Marks the session for relay__session_flush() at the end of the iteration. */
void relay__outbox_mark_dirty(relay_hub_t *hub, relay_session_t *session);

typedef enum relay__written { RELAY__WRITTEN, RELAY__WRITE_BLOCKED, RELAY__WRITE_FAILED } relay__written_t;

/* Writes the frames of the outbox until the socket blocks. */
relay__written_t relay__outbox_write(relay_hub_t *hub, relay_session_t *session);
/* Drops all frames; with `keeps_begun`, all but a frame whose first bytes are written. */
void relay__outbox_drop(relay_hub_t *hub, relay__outbox_t *outbox, bool keeps_begun);
void relay__send_text(relay_hub_t *hub, relay_session_t *session, const relay__text_t *text, bool is_reply);

/* rates.c: the functions return 0 if a token was available and is taken, else the ms until one
 * is available */

/* Microseconds on the loop's clock at which the bucket is full again. */
typedef int64_t relay__bucket_t;

typedef struct relay__rate {
  double tokens; /* a second; 0: no limit */
  uint32_t burst;
} relay__rate_t;

enum { RELAY__USER_RATES = RELAY_RATE_MEMBERSHIP }; /* the rates before it */

/* Takes a token of an open session and one of its user: a request must be within both rates. If one of them
 * refuses, takes none, and sets `refusal` to the text of the error. */
int64_t relay__session_take_token(relay_hub_t *hub, relay_session_t *session, relay_rate_t kind,
                                  const char **refusal);
int64_t relay__room_take_token(relay_hub_t *hub, relay_room_t *room, relay_rate_t kind);
/* Takes the tokens of a message that may push: one, and one more for each 100 members to push to. The room
 * pays all of them, and the sender (NULL: an API key) all but the first. */
int64_t relay__room_take_send(relay_hub_t *hub, relay_room_t *room, relay_user_t *sender,
                              uint32_t recipients);
/* Returns the time on the loop's clock at which all buckets of the user are full. */
int64_t relay__user_rates_full_at(const relay_user_t *user);

/* service.c */

/* Reads the service from the callback while the loop runs, and returns it. Has no other effect. */
relay_service_t relay__service_read(relay_hub_t *hub);
/* Call this at the begin of an iteration, outside all callbacks of sockets. Returns false if the hub is held.
 * After a hold it resumes the sessions, and at the end of the service it closes all connections. */
bool relay__service_begins(relay_hub_t *hub);

/* session.c */

typedef enum relay__state {
  RELAY__NEW,   /* `hello` is not received */
  RELAY__HELLO, /* `hello` is received, but not answered */
  RELAY__OPEN,
  RELAY__CLOSING, /* the session has released all that it held, and sends `bye` */
} relay__state_t;

/* A received frame that waits until an open request is answered. */
typedef struct relay__pending {
  struct relay__pending *next;
  uint32_t size;
  char bytes[];
} relay__pending_t;

/* The fragments of a message that is not complete. */
typedef struct relay__gathered {
  uint32_t size, capacity;
  char bytes[];
} relay__gathered_t;

/* Requests of a session above its rates. Times are on the loop's clock. */
typedef struct relay__excess {
  int64_t since, last; /* the first and the last of these requests, without a pause of more than a second */
  int64_t window;      /* start of the 10 s in which `count` counts */
  uint32_t count;
} relay__excess_t;

struct relay_session {
  relay__link_t *link; /* NULL once the connection is gone */
  relay_id_t id;
  relay_user_t *user;
  relay__outbox_t outbox;
  relay__timer_t timer;
  relay__list_t seats;   /* relay_seat_t: the rooms that it has joined */
  relay__list_t watches; /* relay_watch_t */
  uint8_t state;
  uint8_t activity;
  uint8_t stated; /* while `is_frozen`: the activity that the client has stated */
  bool acks : 1;
  bool is_frozen : 1; /* see frozen.c */
  bool is_dirty : 1, is_blocked : 1, is_paused : 1, is_over : 1, has_overflowed : 1;
  bool needs_ping : 1, ping_is_out : 1, resumes : 1, is_unread : 1;
  bool is_batched : 1;     /* it is in the hub's list of sessions with batched events */
  bool confirms : 1;       /* the next matching pong queues an event, see relay_session_confirm() */
  bool open_are_sends : 1; /* all open requests are stored sends, so that another such send may start */
  bool notifies_end : 1;   /* its end queues an event, see relay_session_notify_end() */
  uint16_t open_requests, pending_count;
  uint32_t open_bytes;       /* estimated memory of the open requests */
  uint32_t held_bytes;       /* of the frames in `pending` */
  uint32_t expires;          /* seconds since 1970 when the token expires; 0: never */
  int32_t expires_moved;     /* seconds by which steps of the wall clock have moved that time, see clock.c */
  uint32_t since;            /* seconds since 1970 when `hello` was accepted */
  relay__pending_t *pending; /* the newest frame that waits for an open request; its `next` is the oldest */
  relay__gathered_t *gathered;
  union {
    char *authorization; /* until `hello` is answered */
    char *device;
  };
  relay__client_t *client; /* NULL: the connection is not counted for an address here */
  uint8_t address[16];     /* of the client, see relay__arrival_t */
  relay__bucket_t send_bucket, request_bucket;
  int64_t received_at, ping_at; /* on the loop's clock: the last sign of life, and the newest ping */
  int64_t progress_at;          /* on the loop's clock: the last time at which a full socket accepted bytes */
  /* On the loop's clock. The first message without `received`, or a later frame of the client; the first pong
   * to a ping after that, 0: none. */
  int64_t unacked_at, proved_at;
  uint32_t unacked;        /* seats with messages without `received` */
  int64_t drained;         /* the last time at which a blocked outbox became empty */
  int64_t blocked;         /* the time since which the outbox is blocked; 0: it is not */
  relay__excess_t *excess; /* NULL: it has never exceeded its rates */
  uint32_t ping_count;
  uint64_t stamp; /* of the last presence announcement that it got or did not need */
  uint64_t given; /* the stamp when a reply last gave it presence entries */
  uint32_t iteration,
      read_bytes; /* bytes read in that iteration of the loop, or since relay__session_read() */
};

void relay__session_timer(relay_hub_t *hub, relay_session_t *session);
/* Sends `bye` and a close frame, and cuts the connection after 5 s at most. `retry_after` is in seconds;
 * below 0: `bye` has no `retryAfter`. */
void relay__session_close(relay_hub_t *hub, relay_session_t *session, uint16_t code, const char *reason,
                          double retry_after);
void relay__session_cut(relay_session_t *session);
void relay__session_ping(relay_hub_t *hub, relay_session_t *session);
/* Handles the frames that wait, until one must wait for an open request. */
void relay__session_resume(relay_hub_t *hub, relay_session_t *session);
/* Handles the frames that wait before the end of this iteration. */
void relay__session_resume_soon(relay_hub_t *hub, relay_session_t *session);
/* Pauses reading if the session has too many unfinished requests or unwritten replies. Resumes reading when
 * they are at most half of the bound. */
void relay__session_regulate(relay_hub_t *hub, relay_session_t *session);
/* Reads on from a session whose last read was full. The session may be gone afterwards. */
void relay__session_read(relay_hub_t *hub, relay_session_t *session);
/* The outbox of the session is empty. */
void relay__session_drained(relay_hub_t *hub, relay_session_t *session);
/* Changes the activity. `cause` is a session that already knows the change, or 0. */
void relay__session_set_activity(relay_hub_t *hub, relay_session_t *session, int after, relay_id_t cause);
/* Returns the time on the wall clock at which a session with a token ends. */
static inline int64_t relay__session_end(const relay_session_t *session) {
  return ((int64_t)session->expires + session->expires_moved) * 1000;
}
static inline bool relay__session_is_live(const relay_session_t *session) {
  return session->state == RELAY__OPEN && !session->is_over;
}

/* frozen.c */

/* A message was sent to the sessions in the room but `sender`. `author` is NULL if the user is not in memory.
 */
void relay__frozen_published(relay_hub_t *hub, const relay_room_t *room, const relay_user_t *author,
                             const relay_session_t *sender, int64_t seq);
/* The session has all messages up to `seq`. */
void relay__frozen_acked(relay_seat_t *seat, int64_t seq);
/* The client has sent a frame. */
void relay__frozen_heard(relay_hub_t *hub, relay_session_t *session);
/* The newest ping is answered. */
void relay__frozen_ponged(const relay_hub_t *hub, relay_session_t *session);
/* Moves a frozen session to the background. Returns the time of the next check; INT64_MAX: none is needed. */
int64_t relay__frozen_check(relay_hub_t *hub, relay_session_t *session);

/* flush.c */

/* Writes the outbox of the session, with a ping behind its frames if one is needed. Closes a session whose
 * queue has overflowed. */
void relay__session_flush(relay_hub_t *hub, relay_session_t *session);
void relay__sessions_flush_batched(relay_hub_t *hub);

/* request.c: handles one frame of a client */

/* Returns false, without an effect, if the frame must wait until `hello` is answered or the open requests are
 * finished. */
bool relay__request(relay_hub_t *hub, relay_session_t *session, const char *frame, size_t size);
/* Counts an error, and returns the text of its frame, which is valid until the next text. `until` is the end
 * of a restriction; 0: none. The other parameters are as for relay__refuse(). */
const relay__text_t *relay__error_text(relay_hub_t *hub, const relay_bytes_t *id, const char *code,
                                       const char *message, double retry_after, int64_t until);
/* Sends an error frame. `id` is the id of the request, or NULL. `retry_after` is in seconds; below 0: the
 * error is not temporary. */
void relay__refuse(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                   const char *message, double retry_after);

/* user.c */

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
  relay_id_t cause;       /* the session that caused the pending change; 0: several, or none */
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
 * announcement. `cause` is a session that already knows the change, or 0. */
void relay__user_changed(relay_hub_t *hub, relay_user_t *user, relay_id_t cause);
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

/* returns.c */

typedef struct relay__returns {
  relay__timer_t timer;
  int64_t until;    /* on the loop's clock; 0: no user is awaited */
  uint32_t awaited; /* users who were awaited */
} relay__returns_t;

void relay__returns_timer(relay_hub_t *hub);

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
  uint64_t stamp;   /* of this announcement; a session that has it gets no second event */
  relay_id_t cause; /* the session that caused the change, and gets no announcement */
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

/* room.c */

typedef struct relay__entry { /* a message that is kept for decisions or for relay_room_tail() */
  int64_t seq, time, shown;   /* `shown` is the time at which it was sent to the sessions in the room */
  relay_id_t from;            /* the user; 0 or stale: not in memory */
  relay_frame_t *frame;       /* NULL: it is kept only for decisions */
} relay__entry_t;

struct relay_seat { /* a session that has joined a room */
  relay_session_t *session;
  relay_member_t *member;
  uint32_t room_index;
  uint64_t stamp; /* the newest stamp when it joined */
  uint8_t rights;
  /* The first three are those of relay_presence_facts_t; the last is the newest message before the
   * last ping. */
  int64_t joined, given_from, received, pinged;
  int64_t acked_at; /* on the loop's clock: the last `received` or `read` without a token */
  int64_t unacked;  /* the newest message of another user without `received`; 0: none. Only with `acks` */
};

typedef struct relay__wait { /* a message that was handed over and is not decided yet */
  int64_t seq, due;          /* due: on the loop's clock */
} relay__wait_t;

struct relay_member { /* a user in a room */
  relay_room_t *room;
  relay_user_t *user;
  uint32_t room_index;       /* in the room's `members`; below `attended` if `attending` is not 0 */
  uint32_t user_index;       /* in the user's `members` */
  uint32_t seats, attending; /* sessions that have joined, and those that are not in the background */
  bool is_clean, has_marks;  /* see relay_member_facts_t; its marks have changed since RELAY_EVENT_MARK */
  bool is_being_decided,
      has_changed; /* true from RELAY_EVENT_DUE to relay_member_decide(); a fact has changed meanwhile */
  uint8_t role;    /* a relay_role_t */
  uint8_t call_count;
  int64_t restricted_until; /* since 1970, see relay_room_restrict() */
  int64_t *calls;           /* see relay_room_set_call(); ascending. NULL: none */
  int64_t read, received;
  int64_t away_since, away_since_loop;
  int64_t leaves_at;    /* when its membership of a room without a store ends; 0: never; -1: it ends now */
  int64_t due_at;       /* on the loop's clock: the earliest due time of its messages; 0: none waits */
  int64_t handed_over;  /* the newest message that was handed over, or needed no decision */
  int64_t fresh_due;    /* on the loop's clock: the due time of newer messages; 0: none waits */
  relay__wait_t *waits; /* by seq */
  uint32_t wait_count, wait_capacity;
  relay_receipt_t *receipt; /* NULL until the first receipt */
  relay__timer_t timer;
};

struct relay_room {
  relay__named_t named;
  relay_id_t id;
  char *epoch;
  int64_t seq, cursor, stored_cursor;
  uint32_t member_list, max_members; /* see relay_room_configure(); 0: no bound */
  uint8_t flags;
  bool is_large, is_read_only;
  relay_seat_t **live;
  relay_member_t **members; /* [0, attended) have a session that is not in the background */
  uint32_t live_count, live_capacity, member_count, member_capacity, attended, online;
  relay__entry_t *entries; /* a ring, oldest at `first` */
  uint32_t first, entry_count, entry_capacity;
  uint32_t tail_count, tail_bytes;   /* the newest entries, which have a frame */
  relay__bucket_t bucket;            /* of sends */
  uint64_t mark;                     /* equal to `hub->marks` if mark_rooms() in watch.c has marked it last */
  relay__bucket_t membership_bucket; /* of joins and leaves */
  int64_t counts_sent_at;            /* on the loop's clock: the last `counts` event */
  int64_t counts_at, flush_at, idle_at; /* on the loop's clock; 0: not set */
  relay__timer_t timer;
};

enum { RELAY__ROOM_FLUSH = 1000, RELAY__ROOM_IDLE = 60000 };

/* Updates `is_large` after the number of members or the bound has changed. */
void relay__room_measure(relay_hub_t *hub, relay_room_t *room);
/* Returns the number of members that frames show: 2 for a room of RELAY_ROOM_PAIR, else `count`. */
uint32_t relay__room_shown(const relay_room_t *room, uint32_t count);
/* Queues the events of changed marks and of the cursor. */
void relay__room_flush(relay_hub_t *hub, relay_room_t *room);
void relay__room_timer(relay_hub_t *hub, relay_room_t *room);
/* Queues an event about a member for one session in the room, batched if the room has many sessions. */
void relay__room_add(relay_hub_t *hub, const relay_room_t *room, relay_session_t *session,
                     relay_frame_t *frame);
/* Sends the user's presence event to each session in the room with RELAY_RIGHT_PRESENCE, as its user may see
 * it. */
void relay__room_show(relay_hub_t *hub, const relay_room_t *room, const relay_user_t *user);
/* Queues a frame for each session in the room but `except`; with `needs_presence`, only for sessions with
 * RELAY_RIGHT_PRESENCE. */
void relay__room_send(relay_hub_t *hub, relay_room_t *room, relay_frame_t *frame,
                      const relay_session_t *except, bool needs_presence);

/* Releases the frame of an entry that relay_room_tail() no longer needs. */
void relay__entry_forget(relay_hub_t *hub, relay__entry_t *entry);

/* later.c */

/* Sets `what`, one of the room's times, to `delay` ms from now, unless it is set already. */
void relay__room_arm(relay_hub_t *hub, relay_room_t *room, int64_t *what, int64_t delay);
/* Sends `counts` soon, at most once a second. */
void relay__room_arm_counts(relay_hub_t *hub, relay_room_t *room);
/* Adds `by` to the number of members that are counted as online. */
void relay__room_online_changed(relay_hub_t *hub, relay_room_t *room, int by);
/* True if the room has so many sessions that events about its members are batched. */
bool relay__room_batches(const relay_room_t *room);

/* member.c */

/* Ends a session's part in a room. `is_clean` is true if the client has left or closed, and false if the
 * connection was lost. */
void relay__seat_remove(relay_hub_t *hub, relay_seat_t *seat, bool is_clean);
/* True if the session may read the message, see relay_room_may_read(). */
bool relay__seat_may_read(const relay_seat_t *seat, int64_t seq);
relay_member_t *relay__member_add(relay_hub_t *hub, relay_room_t *room, relay_user_t *user);
/* Ends a membership, and sends `member` with the cause (`left`, `removed` or `banned`) to the sessions in the
 * room. NULL: sends nothing, because the whole room is deleted. `by` is the name of the user who caused it;
 * NULL: none. */
void relay__member_remove(relay_hub_t *hub, relay_member_t *member, const char *cause, const char *by);
/* Writes the role and the end of a restriction as JSON members that begin with a comma. Writes nothing for
 * RELAY_ROLE_MEMBER and without a restriction. */
void relay__member_put_state(const relay_hub_t *hub, const relay_member_t *member, relay__text_t *text);
/* Returns the end of the restriction of a member; 0: there is none, or it is over. */
int64_t relay__member_restricted_until(const relay_hub_t *hub, const relay_member_t *member);
/* Returns the newest call in which the member takes part; 0: none. */
int64_t relay__member_call(const relay_member_t *member);
/* Removes a member without seats from its room and its user, and frees it. */
void relay__member_drop(relay_hub_t *hub, relay_member_t *member);
void relay__member_activity_changed(relay_hub_t *hub, relay_member_t *member, int before, int after);
void relay__member_timer(relay_hub_t *hub, relay_member_t *member);

/* message.c */

/* Publishes a message as relay_room_publish() does. `sender` replaces `message->sender`; NULL: none. */
int64_t relay__room_publish(relay_hub_t *hub, relay_room_t *room, relay_message_t *message,
                            relay_session_t *sender);
/* Sends a signal as relay_room_signal() does. With a `call`, only to the members who take part in it; 0: to
 * all. */
void relay__room_signal(relay_hub_t *hub, relay_room_t *room, const char *from, relay_session_t *sender,
                        int64_t call, relay_bytes_t name, relay_bytes_t body);

/* away.c */

/* Plans the decisions about a new message. With `is_due_now`, each member that was not decided with the
 * message is due at once. A crowded room plans only decisions for members in `named`. */
void relay__away_published(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry,
                           const relay_message_t *message);
/* Returns the number of members that a message may push to: they have a device, and no session in the room
 * that is not in the background. */
uint32_t relay__away_recipients(const relay_hub_t *hub, const relay_room_t *room);
/* The sessions of a member, or their receipts, have changed. Each waiting message becomes due now. */
void relay__away_changed(relay_hub_t *hub, relay_member_t *member);
/* The member's marks have moved forward. Ends the waits of the messages up to them. */
void relay__away_marked(relay_hub_t *hub, relay_member_t *member);
void relay__away_timer(relay_hub_t *hub, relay_member_t *member);
/* Returns the highest seq that a member has read or received. A mark on disk may have only one of the two. */
int64_t relay__received_by(const relay_member_t *member);
/* The membership ends. The room's cursor no longer waits for the member. */
void relay__away_left(relay_hub_t *hub, relay_member_t *member);
/* Drops the oldest entries that neither a decision nor relay_room_tail() needs. */
void relay__away_trim(relay_hub_t *hub, relay_room_t *room);
/* The session has received all messages of the room up to seq. */
void relay__away_received(relay_hub_t *hub, relay_seat_t *seat, int64_t seq);
/* Called when an active session has received messages. Raises the member's received mark. If the member lacks
 * earlier messages (client without acks), decides the waiting messages now instead. */
void relay__away_attended(relay_hub_t *hub, relay_seat_t *seat);
/* Call it after the member's mark has moved: receipts that were above a gap may count now. */
void relay__away_gap_closed(relay_hub_t *hub, relay_member_t *member);
void relay__member_mark(relay_hub_t *hub, relay_member_t *member, int64_t read, int64_t received);
/* Moves the room's cursor forward to the last message that is decided for all members, and queues
 * RELAY_EVENT_CURSOR if it has moved. */
void relay__room_send_cursor(relay_hub_t *hub, relay_room_t *room);

/* receipts.c */

/* Queues a receipt: the member has read, or one of its devices has received, all messages up to seq. `cause`
 * is the session that reported it, or 0. */
void relay__receipt_read(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t cause);
void relay__receipt_received(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t cause);
/* Sends the queued receipts, at the end of the iteration. */
void relay__receipts_send(relay_hub_t *hub);
void relay__receipt_forget(relay_hub_t *hub, relay_member_t *member);

/* clock.c */

/* Reads both clocks once an iteration: the loop's clock stands still while its callbacks run. */
void relay__clock_read(relay_hub_t *hub);
void relay__clock_start(relay_hub_t *hub);
void relay__clock_stop(relay_hub_t *hub);

/* alarm.c */

typedef struct relay__alarm {
  relay__timer_t timer;
  int64_t time; /* since 1970; 0: none */
} relay__alarm_t;

/* Returns true and clears the alarm if it is due. Otherwise writes its time on the loop's clock to `due`, if
 * the alarm is set. */
bool relay__alarm_has_come(const relay_hub_t *hub, int64_t *alarm, int64_t *due);
void relay__alarm_timer(relay_hub_t *hub);
/* Sets the timers of all alarms again, after the wall clock was set. */
void relay__alarms_arm(relay_hub_t *hub);

/* drain.c */

typedef struct relay__drain {
  relay__timer_t timer;
  bool is_on;
  uint16_t code;
  char reason[64];
  uint32_t sessions; /* open sessions at its start */
  int64_t began;     /* on the loop's clock */
} relay__drain_t;

void relay__drain_timer(relay_hub_t *hub);
/* A session or an exchange has ended and is no longer in `slots`. Queues RELAY_EVENT_DRAINED after
 * the last. */
void relay__drain_ended(relay_hub_t *hub, const relay__slots_t *slots);
/* Returns the range of random times in seconds within which a client should reconnect. While the hub drains,
 * all clients reconnect: then about 1,000 at most do so in each second. The range is a power of two above 0.2
 * s, so that clients do not learn the number of sessions. */
double relay__drain_jitter(const relay_hub_t *hub);
/* Returns a random time within the jitter. */
double relay__drain_retry_after(const relay_hub_t *hub);

/* stats.c */

/* Bounds the number of log lines about refusals. */
typedef struct relay__refusals {
  int64_t since; /* on the loop's clock: the start of the window; 0: there was no refusal */
  uint64_t count;
} relay__refusals_t;

/* Counts the end of a session by its close code. Called once for each session. */
void relay__count_close(relay_hub_t *hub, uint16_t code);
void relay__count_error(relay_hub_t *hub, const char *name);
void relay__count_response(relay_hub_t *hub, int status);
/* Adds the duration to the histogram `times` times. */
void relay__observe(relay_histogram_t *histogram, uint64_t nanoseconds, uint64_t times);

/* find.c: the functions return NULL if the object does not exist */

relay_session_t *relay__session_find(const relay_hub_t *hub, relay_id_t id);
relay_user_t *relay__user_find(const relay_hub_t *hub, relay_id_t id);
relay_room_t *relay__room_find(const relay_hub_t *hub, relay_id_t id);
relay_room_t *relay__room_named(const relay_hub_t *hub, const char *name, size_t size);
relay_seat_t *relay__seat_find(const relay_session_t *session, const relay_room_t *room);
relay_member_t *relay__member_find(const relay_user_t *user, const relay_room_t *room);

/* events.c */

/* Moves the queued events to `spare_events`, and returns their number. */
uint32_t relay__events_take(relay_hub_t *hub);
/* Frees the memory of `count` events that were taken. */
void relay__events_free(relay_hub_t *hub, uint32_t count);

/* hub.c */

struct relay_hub {
  relay_config_t config; /* `limits` below are newer; `trusted_proxies` are the caller's */
  relay_callbacks_t callbacks;
  relay_limits_t limits;
  uv_loop_t loop;
  uv_prepare_t prepare;
  uv_async_t wake;
  uv_timer_t timer;
  uv_idle_t again; /* while it runs, the loop polls without a wait */
  uv_timer_t look; /* wakes the loop each second, so that it notices a wall clock that was set */
  relay__edge_t *edge;
  bool stops, is_over;
  bool is_running;   /* relay_hub_run() has not returned */
  pthread_t thread;  /* the thread of relay_hub_run() */
  bool is_simulated; /* see relay_hub_set_clock() */
  relay_json_parser_t *parser;
  relay__slots_t sessions, rooms, users;
  relay__names_t room_names, user_names;
  relay__timer_t **heap;
  int64_t armed_for;
  uint32_t heap_count, heap_capacity;
  relay_id_t *dirty, *resuming, *unread;
  uint32_t dirty_count, dirty_capacity, resuming_count, resuming_capacity;
  uint32_t unread_count, unread_capacity; /* sessions whose last read was full */
  relay_id_t *batched;                    /* sessions with batched events */
  uint32_t batched_count, batched_capacity;
  relay__timer_t batch_timer;
  int64_t batch_due;         /* on the loop's clock: the earliest time of the next batch */
  relay_member_t **receipts; /* members with queued receipts; NULL: the member was removed */
  uint32_t receipt_count, receipt_capacity;
  relay_event_t *events, *spare_events;
  void **owned, **spare_owned;
  uint32_t event_count, event_capacity, owned_capacity, spare_event_capacity, spare_owned_capacity;
  relay__text_t text;
  uint8_t *join;                  /* a buffer for the frames of one write */
  int64_t now, clock;             /* the wall clock and the loop's clock of this iteration */
  int64_t started, started_clock; /* the same at the start */
  int64_t offset;                 /* wall clock minus loop's clock, since the wall clock was set last */
  int64_t suspended;              /* time for which the machine was suspended, up to then */
  bool has_jumped;                /* a RELAY_EVENT_CLOCK_SET is not delivered yet */
  uint64_t stamp;
  uint64_t marks;        /* see the `mark` of a room */
  bool follows_presence; /* see relay_hub_follow_presence() */
  uint32_t iteration;
  bool was_late;            /* the last iteration has postponed its timers, see relay__tick() */
  bool has_more;            /* a session had more behind a full read */
  uint32_t postponed;       /* iterations since the last write */
  relay_service_t service;  /* as the callback returned it last */
  bool was_held, has_ended; /* see relay__service_begins() */
  size_t frames, frame_bytes, members, seats, watches;
  relay_stats_t stats;
  relay__drain_t drain;
  relay__alarm_t alarm;
  relay__returns_t returns;
  relay__refusals_t refusals, refused_requests; /* see log.c */
  uint64_t round_began; /* ns: the publication of the first message that is not written yet; 0: none */
  uint32_t round_messages;
};

enum {
  RELAY__BATCH_MS = 20,    /* the interval between two writes of batched events */
  RELAY__BATCH_SEATS = 32, /* sessions in a room; with this many or more, events about members are batched */
  RELAY__READ = 256,
  RELAY__WRITE = 65536,
  RELAY__REPLIES = 262144,
  RELAY__HELD = 262144,
  RELAY__OPEN_REQUESTS = 64,
  /* Anybody can send `hello`, so its bytes and its JSON values have lower limits. */
  RELAY__HELLO_SIZE = 16384,
  RELAY__HELLO_VALUES = 256,
};

/* Debug builds: aborts if a running hub is called on another thread. */
static inline void relay__expect_thread(const relay_hub_t *hub) {
#ifdef DEBUG
  if (hub->is_running && !pthread_equal(hub->thread, pthread_self()))
    relay__abort("a hub is called on another thread");
#else
  (void)hub;
#endif
}

/* Queues an event; `owned` is freed after its delivery. */
relay_event_t *relay__event(relay_hub_t *hub, relay_event_kind_t kind, void *owned);
void relay__tick(relay_hub_t *hub);
/* Prepares the first iteration of `loop`. relay_hub_run() calls it, and the fuzzers, which run the loop step
 * by step. */
void relay__hub_begin(relay_hub_t *hub);

/* log.c */

/* Logs a line. Does not format lines of RELAY_LOG_DEBUG unless `logs_debug` is set. */
void relay__log(const relay_hub_t *hub, relay_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* True if a refusal may be logged now: at most 5 lines in 10 s. Logs the number of the refusals that were not
 * logged. */
bool relay__log_takes_refusal(relay_hub_t *hub);
/* Logs a request of a session that was refused with forbidden, rate_limited or too_large, at the
 * same rate. */
void relay__log_refused_request(relay_hub_t *hub, relay_id_t session, const char *code, const char *message);
/* The name of a session in logs and in `welcome`: the id in base 36. Returns `name`. */
const char *relay__session_name(relay_id_t id, char name[static 16]);

#endif
