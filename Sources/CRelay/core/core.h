// SPDX-License-Identifier: Apache-2.0
/* core.h -- rooms, users and sessions, and the hub that has them. No sockets: those are in edge/, behind
 * link.h. Everything belongs to the hub's thread. */
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

/* timers.c: one heap for everything that waits */

typedef enum relay__timer_kind {
  RELAY__TIMER_SESSION,
  RELAY__TIMER_USER,
  RELAY__TIMER_MEMBER,
  RELAY__TIMER_ROOM,
  RELAY__TIMER_CONNECTION,
  RELAY__TIMER_DRAIN,
  RELAY__TIMER_ALARM,
  RELAY__TIMER_BATCH,
} relay__timer_kind_t;

void relay__timer_set(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due);
/* Sets it unless it is due earlier anyway. */
void relay__timer_set_earlier(relay_hub_t *hub, relay__timer_t *timer, relay__timer_kind_t kind, int64_t due);
void relay__timer_clear(relay_hub_t *hub, relay__timer_t *timer);
/* Takes the timer that is due first, or returns NULL. */
relay__timer_t *relay__timers_take(relay_hub_t *hub);
/* Arms the loop for the next. */
void relay__timers_arm(relay_hub_t *hub);

/* frames.c: frames and outboxes */

struct relay_frame {
  uint32_t references;
  uint32_t size;
  uint8_t bytes[]; /* a WebSocket frame as a server writes it, header included */
};

enum { RELAY__TEXT = 1, RELAY__CLOSE = 8, RELAY__PING = 9 };

/* One reference, for the caller. */
relay_frame_t *relay__frame_create(relay_hub_t *hub, int opcode, const void *payload, size_t size);
void relay__frame_release(relay_hub_t *hub, relay_frame_t *frame);
static inline size_t relay__frame_header(size_t payload) {
  return payload < 126 ? 2 : payload < 65536 ? 4 : 10;
}
static inline size_t relay__frame_header_of(const relay_frame_t *frame) {
  return frame->bytes[1] < 126 ? 2 : frame->bytes[1] == 126 ? 4 : 10;
}

typedef struct relay__outbox {
  union { /* frames; the lowest bit marks a reply */
    uintptr_t one;
    uintptr_t *many;
  };
  uint32_t head, count, capacity; /* capacity 0: `one` */
  uint32_t sent;                  /* bytes of the first frame that are out already */
  uint32_t event_bytes, reply_bytes;
} relay__outbox_t;

void relay__outbox_add(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame, bool is_reply);
/* The same for an event that may wait a moment for others, so that one write takes many: members who join a
 * room that fills, and their presence. */
void relay__outbox_add_batched(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame);
/* Has the session flushed at the end of the iteration, with a ping that is needed. */
void relay__outbox_mark_dirty(relay_hub_t *hub, relay_session_t *session);

typedef enum relay__written { RELAY__WRITTEN, RELAY__WRITE_BLOCKED, RELAY__WRITE_FAILED } relay__written_t;

/* Writes the frames of the outbox, as far as the socket takes them. */
relay__written_t relay__outbox_write(relay_hub_t *hub, relay_session_t *session);
void relay__outbox_drop(relay_hub_t *hub, relay__outbox_t *outbox, bool keeps_begun);
void relay__send_text(relay_hub_t *hub, relay_session_t *session, const relay__text_t *text, bool is_reply);

/* rates.c: 0 when a token was there, else the ms until one is */

/* Microseconds on the loop's clock at which the bucket is full again. */
typedef int64_t relay__bucket_t;

typedef struct relay__rate {
  double tokens; /* a second; 0: no limit */
  uint32_t burst;
} relay__rate_t;

enum { RELAY__RATES = 4 };

int64_t relay__session_take_token(relay_hub_t *hub, relay_session_t *session, relay_rate_t kind);
int64_t relay__room_take_token(relay_hub_t *hub, relay_room_t *room, relay_rate_t kind);
/* Takes the tokens of a message that may push: one, and one more for each 100 members to push to. The room
 * pays all of them, and the sender (NULL: an API key) all but the first. */
int64_t relay__room_take_send(relay_hub_t *hub, relay_room_t *room, relay_user_t *sender,
                              uint32_t recipients);
/* When all of the user's buckets are full again, on the loop's clock. */
int64_t relay__user_rates_full_at(const relay_user_t *user);

/* session.c */

typedef enum relay__state {
  RELAY__NEW,   /* `hello` has not come */
  RELAY__HELLO, /* it has, and is not answered */
  RELAY__OPEN,
  RELAY__CLOSING, /* `bye` is on its way; nothing else counts */
} relay__state_t;

typedef struct relay__pending {
  struct relay__pending *next;
  uint32_t size;
  char bytes[];
} relay__pending_t;

typedef struct relay__gathered {
  uint32_t size, capacity;
  char bytes[];
} relay__gathered_t;

/* Of a session that asks for more than its rates allow; times are of the loop's clock. */
typedef struct relay__excess {
  int64_t since, last; /* it has gone on, without a pause of a second */
  int64_t window;      /* when `count` began */
  uint32_t count;
} relay__excess_t;

struct relay_session {
  relay__link_t *link; /* NULL once the connection is gone */
  relay_id_t id;
  relay_user_t *user;
  relay__outbox_t outbox;
  relay__timer_t timer;
  relay__list_t seats;   /* relay_seat_t: the rooms that it hears */
  relay__list_t watches; /* relay_watch_t */
  uint8_t state;
  uint8_t activity;
  bool acks : 1;
  bool is_dirty : 1, is_blocked : 1, is_paused : 1, is_over : 1, has_overflowed : 1;
  bool needs_ping : 1, ping_is_out : 1, resumes : 1;
  bool is_batched : 1;     /* it is in the hub's list of those with batched events */
  bool confirms : 1;       /* somebody waits for a pong, see relay_session_confirm() */
  bool open_are_sends : 1; /* what is open are stored sends, behind which another may start */
  bool tells_end : 1;      /* somebody keeps something of it, see relay_session_tell_end() */
  uint16_t open_requests, pending_count;
  uint32_t open_bytes;       /* about what the open requests take */
  uint32_t held_bytes;       /* of the frames that wait for one */
  uint32_t expires;          /* seconds since 1970, when it is closed; 0: never */
  relay__pending_t *pending; /* the last of the frames that wait for an open request; its next is the first */
  relay__gathered_t *gathered; /* a message that comes in pieces */
  union {
    char *authorization; /* until `hello` is answered */
    char *device;
  };
  relay__client_t *client; /* NULL: not counted here */
  relay__bucket_t send_bucket, request_bucket;
  int64_t heard, ping_at;  /* on the loop's clock */
  int64_t drained;         /* when all that had waited was written last */
  int64_t blocked;         /* since when something waits to be written; 0: nothing does */
  relay__excess_t *excess; /* NULL: it has kept to its rates */
  uint32_t ping_count;
  uint64_t stamp;                 /* the last presence announcement that it was given */
  uint64_t given;                 /* the newest when a reply last told it of people */
  uint32_t iteration, read_bytes; /* what was read in that iteration of the loop */
};

void relay__session_timer(relay_hub_t *hub, relay_session_t *session);
void relay__session_close(relay_hub_t *hub, relay_session_t *session, uint16_t code, const char *reason,
                          double retry_after);
void relay__session_cut(relay_session_t *session);
void relay__session_ping(relay_hub_t *hub, relay_session_t *session);
void relay__session_resume(relay_hub_t *hub, relay_session_t *session);
/* Reads on or pauses, as the unfinished requests and the replies that wait say. */
void relay__session_regulate(relay_hub_t *hub, relay_session_t *session);
void relay__session_drained(relay_hub_t *hub, relay_session_t *session);
static inline bool relay__session_is_live(const relay_session_t *session) {
  return session->state == RELAY__OPEN && !session->is_over;
}

/* flush.c */

/* Writes what waits for the session. Closes a session whose queue has overflowed. */
void relay__session_flush(relay_hub_t *hub, relay_session_t *session);
void relay__sessions_flush_batched(relay_hub_t *hub);

/* request.c: what a frame asks for */

/* false when it has to wait for an open request: nothing has happened then. */
bool relay__request(relay_hub_t *hub, relay_session_t *session, const char *frame, size_t size);
/* An error frame; `id` is the request's, or NULL. */
void relay__refuse(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                   const char *message, double retry_after);

/* user.c */

/* With whom, relay_audience_t. */
typedef struct relay__sharing {
  uint8_t focus, online;
} relay__sharing_t;

/* What a viewer sees of a user. Without RELAY__SEES_PERSON it is nothing but the name that was asked for. */
typedef uint8_t relay__view_t;
enum { RELAY__SEES_PERSON = 1, RELAY__SEES_ONLINE = 2, RELAY__SEES_FOCUS = 4, RELAY__SEES_ALL = 7 };

/* What there is to be seen of a user, whoever looks. */
typedef struct relay__shown {
  bool online;
  int8_t activity, focus;
  int64_t focus_since;
  uint32_t profile; /* its version */
} relay__shown_t;

struct relay_user {
  relay__named_t named;
  relay_id_t id;
  char *profile;
  uint32_t profile_size;
  uint32_t holds; /* of callers */
  int8_t focus;
  relay__sharing_t sharing;
  bool has_devices, has_filter;
  bool was_online, is_counted /* as online, in its rooms */;
  bool is_pending;             /* a change waits to be announced */
  relay__view_t pending_parts; /* what was not as the others were told, at some time since */
  int64_t focus_since, last_seen;
  int64_t alarm;            /* since 1970; 0: none */
  int64_t grace_until;      /* on the loop's clock; 0: none */
  uint8_t grace_activity;   /* the liveliest of the sessions that it is for */
  uint64_t changed;         /* the stamp of the last change */
  uint64_t pending_since;   /* and of the first that waits to be announced */
  uint64_t decided;         /* of the last message that was decided with its push to this user */
  int64_t announced_at;     /* on the loop's clock */
  relay_id_t cause;         /* a session that knows of the pending change */
  relay__list_t sessions;   /* relay_session_t */
  relay__list_t members;    /* relay_member_t, of the rooms in memory */
  relay__list_t watchers;   /* relay_watch_t, of sessions of others */
  relay__names_t *blocked;  /* whom the user has blocked; NULL: nobody */
  relay__bucket_t *buckets; /* by relay_rate_t; NULL until one is used */
  relay__timer_t timer;
  relay__shown_t shown; /* what the others were told */
  uint32_t profile_version;
};

bool relay__user_is_online(const relay_user_t *user);
/* Queues the event that says when the user was last seen. */
void relay__user_seen(relay_hub_t *hub, const relay_user_t *user);
void relay__user_session_added(relay_hub_t *hub, relay_user_t *user, relay_session_t *session);
void relay__user_session_removed(relay_hub_t *hub, relay_user_t *user, relay_session_t *session,
                                 bool is_clean);
/* Something that others see may have changed. */
void relay__user_changed(relay_hub_t *hub, relay_user_t *user, relay_id_t cause);
void relay__user_timer(relay_hub_t *hub, relay_user_t *user);
/* Counts in its rooms whether it is to be seen online. */
void relay__user_count(relay_hub_t *hub, relay_user_t *user);
void relay__user_put_entry(const relay_user_t *user, relay__view_t view, relay__text_t *text);
relay_frame_t *relay__user_frame(relay_hub_t *hub, const relay_user_t *user, relay__view_t view);
/* What waits to be announced. */
void relay__user_announce_now(relay_hub_t *hub, relay_user_t *user);
void relay__user_release(relay_hub_t *hub, relay_user_t *user);

/* view.c */

/* `is_related`: they share a room in which the viewer may see who is there. */
relay__view_t relay__view(const relay_user_t *user, const relay_user_t *viewer, bool is_related);
/* The same by id; 0 sees all, and a stale one nothing. */
relay__view_t relay__view_by(const relay_hub_t *hub, const relay_user_t *user, relay_id_t viewer,
                             bool is_related);
/* Whether the user's entry looks different. */
bool relay__view_differs(const relay_user_t *user, relay__view_t one, relay__view_t other);

/* Presence events of one user as it is now, for each view one, made when it is needed. */
typedef struct relay__views {
  const relay_user_t *user;
  relay_frame_t *frame[RELAY__SEES_ALL + 1];
} relay__views_t;

relay_frame_t *relay__views_frame(relay_hub_t *hub, relay__views_t *views, relay__view_t view);
void relay__views_release(relay_hub_t *hub, relay__views_t *views);
bool relay__user_blocks(const relay_user_t *user, const char *name);
void relay__unblock_all(relay_user_t *user);

/* What is announced of a user. */
typedef struct relay__news {
  relay__views_t views;
  relay__view_t parts; /* that have changed, or had */
  bool is_batched;     /* it may wait for other events, see relay__outbox_add_batched() */
  bool is_back;     /* it is as it was announced last: news only for whom a reply gave a state in between */
  uint64_t stamp;   /* of the sessions that have been told */
  relay_id_t cause; /* a session that knows */
} relay__news_t;

/* Tells a session that was given the user's state last when the newest stamp was `given`. */
void relay__news_tell(relay_hub_t *hub, relay__news_t *news, relay_session_t *session, relay__view_t view,
                      uint64_t given);

/* watch.c */

struct relay_watch {
  relay_session_t *session;
  relay_user_t *user;
  uint32_t user_index; /* in the user's watchers */
  uint64_t stamp;      /* the newest when it began */
  bool is_related;     /* they share a stored room, which need not be in memory */
  bool is_judged;      /* whether they share a room is the caller's to say alone */
  relay__view_t view;  /* of what the session was told last */
};

/* A presence event for who watches. */
void relay__watch_tell(relay_hub_t *hub, relay_user_t *user, relay__news_t *news);
/* Tells who watches the user and sees something else of them than before; `stamp` marks who has been told. */
void relay__watches_reconsider(relay_hub_t *hub, const relay_user_t *user, uint64_t stamp);
/* The user has become, or ceased to be, a member: who may see whose focus changes. */
void relay__watch_joined(relay_hub_t *hub, const relay_user_t *user, const relay_room_t *room);
void relay__watch_left(relay_hub_t *hub, const relay_user_t *user, const relay_room_t *room);
void relay__watch_end_all(relay_hub_t *hub, relay_session_t *session);

/* room.c */

typedef struct relay__entry { /* a message that may still be decided or replayed */
  int64_t seq, time, shown;
  relay_id_t from;
  relay_frame_t *frame; /* NULL when it is only to be decided */
} relay__entry_t;

struct relay_seat { /* a session in a room */
  relay_session_t *session;
  relay_member_t *member;
  uint32_t room_index;
  uint64_t stamp; /* the newest when it joined */
  uint8_t rights;
  int64_t joined, given_from, received, pinged;
  int64_t acked_at; /* on the loop's clock: the last `received` or `read` that cost no token */
};

typedef struct relay__wait { /* a message that was handed over and is not decided yet */
  int64_t seq, due;          /* due: on the loop's clock */
} relay__wait_t;

struct relay_member { /* a user in a room */
  relay_room_t *room;
  relay_user_t *user;
  uint32_t room_index;       /* in the room's members; below `attended` when somebody may be there */
  uint32_t user_index;       /* in the user's */
  uint32_t seats, attending; /* sessions here, and those that are not in the background */
  bool is_clean, has_marks;
  bool is_being_decided,
      has_changed; /* its undecided messages are being decided; and something changed since */
  int64_t read, received;
  int64_t away_since, away_since_loop;
  int64_t leaves_at;    /* when its membership of a room without a store ends; 0: it does not */
  int64_t due_at;       /* when some of its messages are to be decided; 0: none waits */
  int64_t handed_over;  /* the newest message that was handed over, or needed no decision */
  int64_t fresh_due;    /* when the messages behind that are to be decided; 0: none is */
  relay__wait_t *waits; /* by seq */
  uint32_t wait_count, wait_capacity;
  relay_receipt_t *receipt; /* NULL until there was one to tell */
  relay__timer_t timer;
};

struct relay_room {
  relay__named_t named;
  relay_id_t id;
  char *epoch;
  int64_t seq, cursor, stored_cursor;
  uint32_t member_list, most_members; /* 0: no bound */
  uint8_t flags;
  bool is_large;
  relay_seat_t **live;
  relay_member_t **members; /* [0, attended) have a session that is not in the background */
  uint32_t live_count, live_capacity, member_count, member_capacity, attended, online;
  relay__entry_t *entries; /* a ring, oldest at `first` */
  uint32_t first, entry_count, entry_capacity;
  uint32_t tail_count, tail_bytes; /* of the newest entries, those with a frame */
  relay__bucket_t bucket;          /* of sends */
  uint64_t mark; /* the newest mark of the hub if the user who was marked last is a member */
  relay__bucket_t membership_bucket;    /* of new and ended memberships */
  int64_t told_counts;                  /* when `counts` went out last */
  int64_t counts_at, flush_at, idle_at; /* on the loop's clock; 0: not set */
  relay__timer_t timer;
};

enum { RELAY__ROOM_FLUSH = 1000, RELAY__ROOM_IDLE = 60000 };

/* A large room becomes one that lists its members, or the other way. */
void relay__room_measure(relay_hub_t *hub, relay_room_t *room);
/* Tells the marks and the cursor that wait. */
void relay__room_flush(relay_hub_t *hub, relay_room_t *room);
void relay__room_timer(relay_hub_t *hub, relay_room_t *room);
/* An event of a member to one session in the room. */
void relay__room_add(relay_hub_t *hub, const relay_room_t *room, relay_session_t *session,
                     relay_frame_t *frame);
/* Sends the user's presence event to each session in the room, as its user may see it. */
void relay__room_show(relay_hub_t *hub, const relay_room_t *room, const relay_user_t *user);
void relay__room_send(relay_hub_t *hub, relay_room_t *room, relay_frame_t *frame,
                      const relay_session_t *except, bool needs_presence);

/* Drops the frame of an entry that is replayed no more. */
void relay__entry_forget(relay_hub_t *hub, relay__entry_t *entry);

/* later.c */

/* Sets the time `what` of the room to so many ms from now, unless it is set. */
void relay__room_arm(relay_hub_t *hub, relay_room_t *room, int64_t *what, int64_t delay);
/* Sends `counts` soon, at most once a second. */
void relay__room_arm_counts(relay_hub_t *hub, relay_room_t *room);
/* So many more members of the room are seen online. */
void relay__room_online_changed(relay_hub_t *hub, relay_room_t *room, int by);
/* True if so many sessions are in the room that the events of its members are written in batches. */
bool relay__room_batches(const relay_room_t *room);

/* member.c */

void relay__seat_remove(relay_hub_t *hub, relay_seat_t *seat, bool is_clean);
relay_member_t *relay__member_add(relay_hub_t *hub, relay_room_t *room, relay_user_t *user);
/* Ends a membership, of which all are told: `left` or `removed`. */
void relay__member_remove(relay_hub_t *hub, relay_member_t *member, const char *event);
/* Takes a member without a seat out of its room and its user. */
void relay__member_drop(relay_hub_t *hub, relay_member_t *member);
void relay__member_activity_changed(relay_hub_t *hub, relay_member_t *member, int before, int after);
void relay__member_timer(relay_hub_t *hub, relay_member_t *member);

/* message.c */

/* `sender`, and not what the message says, is the session that sent it. */
int64_t relay__room_publish(relay_hub_t *hub, relay_room_t *room, relay_message_t *message,
                            relay_session_t *sender);
void relay__room_signal(relay_hub_t *hub, relay_room_t *room, const char *from, relay_session_t *sender,
                        relay_bytes_t name, relay_bytes_t body);

/* away.c */

/* `is_due_now`: each member that was not decided with the message is due at once. */
void relay__away_published(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry,
                           bool is_due_now);
/* The members that a message may push to: they have a device and no session in the foreground. */
uint32_t relay__away_recipients(const relay_hub_t *hub, const relay_room_t *room);
/* The sessions of a member have changed, or their receipts. Each waiting message may be decided now. */
void relay__away_changed(relay_hub_t *hub, relay_member_t *member);
/* The member's marks have moved. */
void relay__away_marked(relay_hub_t *hub, relay_member_t *member);
void relay__away_timer(relay_hub_t *hub, relay_member_t *member);
/* Up to which seq a member has read or received; a mark on disk may have only one of them. */
int64_t relay__received_by(const relay_member_t *member);
/* A member goes for good: the room's cursor waits for it no longer. */
void relay__away_left(relay_hub_t *hub, relay_member_t *member);
void relay__away_trim(relay_hub_t *hub, relay_room_t *room);
void relay__away_received(relay_hub_t *hub, relay_seat_t *seat, int64_t seq);
/* An active session's receipts count for the member: they are stored, and end waits. */
void relay__away_attended(relay_hub_t *hub, relay_seat_t *seat);
/* The member's marks have reached further: what a session received behind them may count now. */
void relay__away_gap_closed(relay_hub_t *hub, relay_member_t *member);
void relay__member_mark(relay_hub_t *hub, relay_member_t *member, int64_t read, int64_t received);
void relay__room_tell_cursor(relay_hub_t *hub, relay_room_t *room);

/* receipts.c */

/* The member has read, or one of its devices has, up to seq; `cause` is the session that said so, or 0. */
void relay__receipt_read(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t cause);
void relay__receipt_received(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t cause);
void relay__receipts_tell(relay_hub_t *hub);
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

/* Takes an alarm whose time has come; else `due` is its time on the loop's clock, if there is one. */
bool relay__alarm_has_come(const relay_hub_t *hub, int64_t *alarm, int64_t *due);
void relay__alarm_timer(relay_hub_t *hub);
/* Arms all alarms by the wall clock as it is now. */
void relay__alarms_arm(relay_hub_t *hub);

/* drain.c */

typedef struct relay__drain {
  relay__timer_t timer;
  bool is_on;
  uint16_t code;
  char reason[64];
  uint32_t sessions; /* when it began */
  int64_t began;     /* on the loop's clock */
} relay__drain_t;

void relay__drain_timer(relay_hub_t *hub);
/* A session or an exchange has ended and is no longer in `slots`. */
void relay__drain_ended(relay_hub_t *hub, const relay__slots_t *slots);
/* Seconds after which a client that leaves now should come back. */
double relay__drain_retry_after(const relay_hub_t *hub);

/* stats.c */

/* Bounds the lines about refusals. */
typedef struct relay__refusals {
  int64_t since; /* on the loop's clock: when the window began; 0: there was no refusal */
  uint64_t count;
} relay__refusals_t;

/* How a session ended; each is counted once. */
void relay__count_close(relay_hub_t *hub, uint16_t code);
void relay__count_error(relay_hub_t *hub, const char *name);
void relay__count_response(relay_hub_t *hub, int status);
void relay__observe(relay_histogram_t *histogram, uint64_t nanoseconds, uint64_t times);

/* find.c: by id, by name, or in a room; NULL when there is none */

relay_session_t *relay__session_find(const relay_hub_t *hub, relay_id_t id);
relay_user_t *relay__user_find(const relay_hub_t *hub, relay_id_t id);
relay_room_t *relay__room_find(const relay_hub_t *hub, relay_id_t id);
relay_room_t *relay__room_named(const relay_hub_t *hub, const char *name, size_t size);
relay_seat_t *relay__seat_find(const relay_session_t *session, const relay_room_t *room);
relay_member_t *relay__member_find(const relay_user_t *user, const relay_room_t *room);

/* events.c */

/* Moves the events that are queued to `spare_events`, and returns their number. */
uint32_t relay__events_take(relay_hub_t *hub);
/* Frees the memory of so many events that were taken. */
void relay__events_free(relay_hub_t *hub, uint32_t count);

/* hub.c */

struct relay_hub {
  relay_config_t config;
  char *address, *subprotocol, *path, *origins, *hosts;
  relay_request_type_t *requests; /* NULL: all types; the names are in the same block */
  size_t request_count;
  relay_callbacks_t callbacks;
  relay_limits_t limits;
  uv_loop_t loop;
  uv_prepare_t prepare;
  uv_async_t wake;
  uv_timer_t timer;
  uv_idle_t again; /* while it runs, the loop polls without waiting */
  uv_timer_t look; /* wakes the loop, which then notices that the wall clock was set */
  relay__edge_t *edge;
  bool stops, is_over;
  bool is_running;   /* in relay_hub_run(), */
  pthread_t thread;  /* on this thread */
  bool is_simulated; /* see relay_hub_set_clock() */
  relay_json_parser_t *parser;
  relay__slots_t sessions, rooms, users;
  relay__names_t room_names, user_names;
  relay__timer_t **heap;
  int64_t armed_for;
  uint32_t heap_count, heap_capacity;
  relay_id_t *dirty, *resuming;
  uint32_t dirty_count, dirty_capacity, resuming_count, resuming_capacity;
  relay_id_t *batched; /* sessions with events that may wait for others */
  uint32_t batched_count, batched_capacity;
  relay__timer_t batch_timer;
  int64_t batch_due;         /* on the loop's clock: when the next batch may be written */
  relay_member_t **receipts; /* members with some to tell; NULL: it is gone */
  uint32_t receipt_count, receipt_capacity;
  relay_event_t *events, *spare_events;
  void **owned, **spare_owned;
  uint32_t event_count, event_capacity, owned_capacity, spare_event_capacity, spare_owned_capacity;
  relay__text_t text;
  uint8_t *join;                  /* the frames of one write, one behind another */
  int64_t now, clock;             /* wall clock and the loop's clock of this iteration */
  int64_t started, started_clock; /* the same, of the start */
  int64_t offset;                 /* how far the wall clock was ahead of the loop's when it was set last */
  uint64_t stamp;
  uint64_t marks; /* see the `mark` of a room */
  uint32_t iteration;
  bool was_late;      /* timers were left to this iteration, see relay__tick() */
  bool has_more;      /* some session probably has more to be read, see relay__session_received() */
  uint32_t postponed; /* iterations since the last write */
  size_t frames, frame_bytes, members, seats, watches;
  relay_stats_t stats;
  relay__drain_t drain;
  relay__alarm_t alarm;
  relay__refusals_t refusals, refused_requests; /* see log.c */
  uint64_t round_began; /* ns: when the first message that is not written yet was shown; 0: there is none */
  uint32_t round_messages;
};

enum {
  RELAY__BATCH_MS = 20,    /* between two writes of batched events */
  RELAY__BATCH_SEATS = 32, /* sessions in a room from which on its members' events are batched */
  RELAY__READ = 512,
  RELAY__WRITE = 65536,
  RELAY__REPLIES = 262144,
  RELAY__HELD = 262144,
  RELAY__OPEN_REQUESTS = 64,
  /* The first frame comes from anybody, so it may cost little: bytes, and values in it. */
  RELAY__HELLO_SIZE = 16384,
  RELAY__HELLO_VALUES = 256,
};

/* Ends a debug build that calls a running hub on a thread other than the hub's. */
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
/* Before the first iteration of `loop`, which others than relay_hub_run() may run step by step. */
void relay__hub_begin(relay_hub_t *hub);
/* log.c. A line of RELAY_LOG_DEBUG is formatted only if the configuration asks for it. */
void relay__log(const relay_hub_t *hub, relay_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* True if a refusal may be logged now: at most 5 lines in 10 s. Logs the number of the others. */
bool relay__log_takes_refusal(relay_hub_t *hub);
/* The same for a request of a session that ends with forbidden, rate_limited or too_large. */
void relay__log_refused_request(relay_hub_t *hub, relay_id_t session, const char *code, const char *message);
/* The name of a session in logs and in `welcome`: the id in base 36. Returns `name`. */
const char *relay__session_name(relay_id_t id, char name[static 16]);

#endif
