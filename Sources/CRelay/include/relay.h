// SPDX-License-Identifier: Apache-2.0
/* relay.h -- rooms, fan-out, shared focus and the away queue on one event-loop thread.
 *
 * THREADS   A hub belongs to the thread inside relay_hub_run(). Call every function on that
 *           thread, except those marked [any thread]; before the run, on the creating thread.
 * MEMORY    The hub owns sessions, rooms and users; callers hold ids. A stale id is harmless: the
 *           call does nothing and returns false, 0 or RELAY_GONE. Bytes handed in are copied,
 *           bytes in an event are valid until the callback returns.
 * REENTRY   No function calls an event before it returns. Events queue up and are delivered from
 *           the top of the loop, and what was written to sessions leaves in one write each at the
 *           end of the loop's iteration.
 * TIME      Milliseconds. `now` is since 1970, delays are relative.
 *
 * If it is not in this file, in relay_codes.h, in relay_json.h or in relay_stats.h, it is not published.
 */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay_codes.h"
#include "relay_json.h"
#include "relay_stats.h"

typedef struct relay_hub relay_hub_t;

/* A session, room, user or HTTP exchange. Never given twice. 0: none. */
typedef uint64_t relay_id_t;

typedef struct relay_bytes {
  const void *at;
  size_t count;
} relay_bytes_t;

/* The hub */

typedef struct relay_limits {
  uint32_t frame, nesting;
  uint32_t outgoing_queue;
  uint32_t rooms_per_session, sessions_per_user;
  double send_rate, request_rate, focus_rate; /* a second; 0: no limit */
  uint32_t send_burst, request_burst, focus_burst;
  uint32_t watched;                                /* users that a session may watch */
  uint32_t hello_timeout, heartbeat, pong_timeout; /* milliseconds */
  uint32_t member_list;
  uint32_t pushed_members;
  uint32_t presence_grace;          /* milliseconds */
  uint32_t connections;             /* in all; 0: no limit, see relay_connections_possible() */
  uint32_t connections_per_address; /* an IPv4 address or an IPv6 /64; 0: no limit */
  /* HTTP requests under way, see relay_http_identify(). An address may have 16 times as many, and 16 times
   * the bytes, from callers that are not known yet. 0: no limit. */
  uint32_t requests_per_user;
  /* Bytes that these hold, and all requests together. Callers that are not known may hold a quarter of
   * `unsent`. 0: no limit. */
  uint64_t unsent_per_user, unsent;
} relay_limits_t;

/* The values of Host that the hub answers. A page of a name that its owner points at the relay (DNS
 * rebinding) can send that name alone. */
typedef enum relay_host_rule {
  RELAY_HOSTS_ANY,
  RELAY_HOSTS_ADDRESSES, /* an address, localhost, or a name of `hosts` */
  RELAY_HOSTS_LOOPBACK,  /* a loopback address, localhost, or a name of `hosts` */
} relay_host_rule_t;

typedef enum relay_rate {
  RELAY_RATE_SEND,
  RELAY_RATE_REQUEST,
  RELAY_RATE_FOCUS,
  RELAY_RATE_MEMBERSHIP, /* joins and leaves */
} relay_rate_t;

/* A type of frame that RELAY_EVENT_REQUEST brings, and the rate that each such frame takes a token of: SEND,
 * REQUEST or FOCUS. */
typedef struct relay_request_type {
  const char *name;
  relay_rate_t rate;
} relay_request_type_t;

typedef struct relay_config {
  const char *address; /* an IPv4 or IPv6 address, or a name of an interface */
  uint16_t port;       /* 0: any free one, see relay_hub_port() */
  const char *subprotocol;
  const char *path;    /* where sessions connect */
  const char *origins; /* allowed values of Origin, separated by spaces; "": the server's own */
  const relay_request_type_t *requests; /* beside hello; NULL: all types, at RELAY_RATE_REQUEST */
  size_t request_count;
  const char
      *trusted_proxies; /* networks ("10.0.0.0/8"), separated by spaces, whose X-Forwarded-For counts */
  relay_host_rule_t host_rule;
  const char *hosts; /* further names that Host may have, separated by spaces; NULL or "": none */
  bool logs_debug;   /* call `log` for lines of RELAY_LOG_DEBUG */
  relay_limits_t limits;
} relay_config_t;

typedef struct relay_event relay_event_t;

typedef enum relay_log_level { RELAY_LOG_DEBUG, RELAY_LOG_INFO, RELAY_LOG_ERROR } relay_log_level_t;

typedef struct relay_callbacks {
  void *context;
  /* Work waits for this thread, see relay_hub_wake(). */
  void (*woken)(void *context);
  /* What happened, in order. */
  void (*happened)(void *context, const relay_event_t *events, size_t count);
  /* A line for the operator, without a line feed. */
  void (*log)(void *context, relay_log_level_t level, const char *line);
} relay_callbacks_t;

/* How many connections the limit of open files leaves room for. */
uint32_t relay_connections_possible(void);
/* Whether it may be one of `trusted_proxies`. */
bool relay_network_is_valid(const char *network);

/* Sets the destination of libwebsockets' own lines, without a line feed, at most ten a second, for all hubs;
 * NULL: standard error, which blocks the hub's thread if nobody reads it. [any thread] */
void relay_log_library(void (*log)(const char *line));
/* NULL when out of memory. */
relay_hub_t *relay_hub_create(const relay_config_t *config, const relay_callbacks_t *callbacks);
/* Binds the port. 0, or an errno: EADDRINUSE, EACCES, EADDRNOTAVAIL ... */
int relay_hub_listen(relay_hub_t *hub);
uint16_t relay_hub_port(const relay_hub_t *hub);
/* Runs until relay_hub_stop(). Then sessions and HTTP exchanges are gone and nothing is sent any more;
 * other calls still find their rooms and users, until relay_hub_destroy(). */
void relay_hub_run(relay_hub_t *hub);
/* Takes no session any more (503 at the handshake) and closes all there are within some seconds: each gets
 * `bye` with a time to come back, spread so that 1,000 do each second. HTTP goes on, on connections that are
 * closed with the answer. */
void relay_hub_drain(relay_hub_t *hub, uint16_t code, const char *reason);
/* Takes no connection any more. */
void relay_hub_close_listener(relay_hub_t *hub);
/* Queues the events of marks and cursors that would follow within a second, and USER_AWAY for users who are
 * still online: their `last_seen` would be lost with the hub. */
void relay_hub_flush(relay_hub_t *hub);
/* Changes all limits except `connections`, `connections_per_address`, `requests_per_user`, `unsent_per_user`
 * and `unsent`. A room keeps its `member_list`, see relay_room_configure(); a time that is running out keeps
 * its end. */
void relay_hub_set_limits(relay_hub_t *hub, const relay_limits_t *limits);
/* Ends relay_hub_run() after this iteration; sessions that are still there are cut. */
void relay_hub_stop(relay_hub_t *hub);
void relay_hub_destroy(relay_hub_t *hub);
/* [any thread, until relay_hub_destroy()] `woken` is called soon on the hub's thread, unless the run is
 * over; many calls may become one. */
void relay_hub_wake(relay_hub_t *hub);
int64_t relay_hub_now(const relay_hub_t *hub);
/* RELAY_EVENT_ALARM at this time, once; 0: not at all. */
void relay_hub_set_alarm(relay_hub_t *hub, int64_t time);
/* For simulations: from now on time goes by only when this is called, for the wall clock and for timers.
 * The first call comes before there are sessions and rooms. What is due then runs in the next iteration,
 * or the one after it, as after any pause of the process. `now` never goes back. */
void relay_hub_set_clock(relay_hub_t *hub, int64_t now);
/* For simulations, after relay_hub_set_clock(): sets the wall clock, forward or back. No timer is due sooner
 * or later by that but the alarms. */
void relay_hub_set_wall_clock(relay_hub_t *hub, int64_t now);
/* When the next timer is due, on the clock of relay_hub_now(); INT64_MAX: none is set. */
int64_t relay_hub_next_due(const relay_hub_t *hub);

typedef struct relay_counts {
  size_t connections, sessions, users, rooms, members, seats, watches, timers, exchanges, events;
  size_t frames, frame_bytes; /* alive, however many sessions wait for them */
  size_t exchange_bytes;      /* bodies and unsent answers of HTTP requests */
} relay_counts_t;
relay_counts_t relay_hub_counts(const relay_hub_t *hub);
relay_stats_t relay_hub_stats(const relay_hub_t *hub);
/* That sessions wait for; a frame counts once for each of them. Asks every session. */
size_t relay_hub_outbox_bytes(const relay_hub_t *hub);

/* Events */

typedef enum relay_event_kind {
  RELAY_EVENT_REQUEST,       /* session, user, json: a request to answer with relay_session_finish() */
  RELAY_EVENT_SEND,          /* session, user, room, json: a `send` that the hub cannot answer; same */
  RELAY_EVENT_HTTP,          /* exchange, http: answer with relay_http_respond() or relay_http_stream() */
  RELAY_EVENT_HTTP_CLOSED,   /* exchange: a stream that the client left */
  RELAY_EVENT_USER_AWAY,     /* name, time: this user is offline, or the hub ends; last seen at `time` */
  RELAY_EVENT_USER_GONE,     /* user: forgotten, nothing refers to it any more */
  RELAY_EVENT_USER_DUE,      /* user: the time of relay_user_set_alarm() has come */
  RELAY_EVENT_ALARM,         /* the time of relay_hub_set_alarm() has come */
  RELAY_EVENT_CLOCK_SET,     /* time: the wall clock was set forward by so many ms; below 0: back */
  RELAY_EVENT_MARK,          /* room, user, read, received: marks to store */
  RELAY_EVENT_CURSOR,        /* room, seq: all up to it is decided */
  RELAY_EVENT_DUE,           /* room, user: undecided messages, see relay_member_undecided() */
  RELAY_EVENT_SESSION_ENDED, /* session: see relay_session_tell_end() */
  RELAY_EVENT_CONFIRMED,     /* session, seq: see relay_session_confirm() */
  RELAY_EVENT_ROOM_IDLE,     /* room: nobody has been in it for a while */
  RELAY_EVENT_ROOM_GONE,     /* room: forgotten */
  RELAY_EVENT_DRAINED,       /* after relay_hub_drain(): the last session, or the last exchange, has ended */
} relay_event_kind_t;

typedef struct relay_field {
  relay_bytes_t name, value; /* a name is in lower case */
} relay_field_t;

typedef struct relay_http {
  relay_bytes_t method;
  relay_bytes_t path,
      query; /* percent-encoded, as the client wrote them; a query without its question mark */
  relay_bytes_t body;
  const relay_field_t *fields; /* in their order */
  size_t field_count;
} relay_http_t;

struct relay_event {
  relay_event_kind_t kind;
  relay_id_t session, room, user, exchange;
  const relay_json_t *json;
  const relay_http_t *http;
  const char *name;
  int64_t seq, read, received, time;
};

/* Sessions */

typedef enum relay_activity { RELAY_BACKGROUND, RELAY_IDLE, RELAY_ACTIVE } relay_activity_t;

typedef enum relay_status {
  RELAY_OK,
  RELAY_GONE,      /* the session, room or user is no longer there */
  RELAY_TOO_MANY,  /* one past a limit */
  RELAY_NOT_THERE, /* not joined, not a member */
} relay_status_t;

/* Ends the `hello` of a session: it is now one of `user`, on `device` (NULL: it told none).
 * TOO_MANY: past `sessions_per_user`. */
relay_status_t relay_session_open(relay_hub_t *hub, relay_id_t session, relay_id_t user, const char *device,
                                  bool acks, relay_activity_t activity);
/* The answer to the request of an event; `json` may be empty. Requests that waited go on. */
void relay_session_finish(relay_hub_t *hub, relay_id_t session, relay_bytes_t json);
/* Text that answers no request. */
void relay_session_push(relay_hub_t *hub, relay_id_t session, relay_bytes_t json);
/* `bye`, a close frame, and at most 5 s until the socket is cut. `retry_after` < 0: not told. */
void relay_session_close(relay_hub_t *hub, relay_id_t session, uint16_t code, const char *reason,
                         double retry_after);
relay_id_t relay_session_user(const relay_hub_t *hub, relay_id_t session);
/* NULL when `hello` told none. */
const char *relay_session_device(const relay_hub_t *hub, relay_id_t session);
/* Closes the session with 4002 at this time, to the second; 0: never. */
void relay_session_set_expiry(relay_hub_t *hub, relay_id_t session, int64_t time);
/* RELAY_EVENT_SESSION_ENDED will tell when it is gone. false: it is already. */
bool relay_session_tell_end(relay_hub_t *hub, relay_id_t session);
/* Asks whether all that was pushed until now arrives: RELAY_EVENT_CONFIRMED tells of a pong with its `seq`,
 * and what was asked for under this number or a lower one has arrived. No event comes when the session ends
 * before. 0: it is not open. */
uint32_t relay_session_confirm(relay_hub_t *hub, relay_id_t session);
/* The rooms that it hears; writes at most `room_for`, returns how many there are. */
size_t relay_session_rooms(const relay_hub_t *hub, relay_id_t session, relay_id_t *rooms, size_t room_for);
bool relay_session_is_open(const relay_hub_t *hub, relay_id_t session);
/* The Authorization header of the handshake, until relay_session_open(); at: NULL when absent. */
relay_bytes_t relay_session_authorization(const relay_hub_t *hub, relay_id_t session);

/* Users. A user is kept while a session, a room, a running grace or a caller needs it. */

/* The user of this name: made when there is none. `profile` is JSON members that begin with a comma
 * (`,"name":"Ann"`) or empty, and is part of each of the user's presence entries. */
relay_id_t relay_user_create(relay_hub_t *hub, const char *name, relay_bytes_t profile, int64_t last_seen);
relay_id_t relay_user_named(const relay_hub_t *hub, const char *name);
const char *relay_user_name(const relay_hub_t *hub, relay_id_t user);
/* As it was handed in. */
relay_bytes_t relay_user_profile(const relay_hub_t *hub, relay_id_t user);
/* `cause`, here and below, is a session that is not told. */
bool relay_user_set_profile(relay_hub_t *hub, relay_id_t user, relay_bytes_t profile, relay_id_t cause);
/* focus: -1 unknown, 0, 1. `since` is when it became 1. */
bool relay_user_set_focus(relay_hub_t *hub, relay_id_t user, int focus, int64_t since, relay_id_t cause);
bool relay_user_set_has_devices(relay_hub_t *hub, relay_id_t user, bool has_devices);
/* That some message may be refused by a filter of the user's, see relay_room_delivery(). */
bool relay_user_set_has_filter(relay_hub_t *hub, relay_id_t user, bool has_filter);

/* Who may see something of a user: nobody else; who shares a room; these and who watches. */
typedef enum relay_audience { RELAY_SHARE_NONE, RELAY_SHARE_ROOMS, RELAY_SHARE_WATCHERS } relay_audience_t;
/* With whom the user shares their focus, and whether they are online. Who sees something else from now on is
 * told at once. */
bool relay_user_set_sharing(relay_hub_t *hub, relay_id_t user, relay_audience_t focus,
                            relay_audience_t online);
/* RELAY_EVENT_USER_DUE at this time, once, if the user is in memory then; 0: not at all. */
bool relay_user_set_alarm(relay_hub_t *hub, relay_id_t user, int64_t time);
/* The user of this name, who need not be in memory, sees nothing of the user any more, or does again. */
bool relay_user_set_blocked(relay_hub_t *hub, relay_id_t user, const char *name, bool is_blocked);
/* True if both are members of one room in memory. */
bool relay_user_shares_room(relay_hub_t *hub, relay_id_t a, relay_id_t b);
/* Writes the ids of at most `room_for` rooms in memory that have both as members. Returns the number of all.
 */
size_t relay_user_shared_rooms(relay_hub_t *hub, relay_id_t a, relay_id_t b, relay_id_t *rooms,
                               size_t room_for);
/* Text that answers no request, to each session of the user. */
void relay_user_push(relay_hub_t *hub, relay_id_t user, relay_bytes_t json);
/* The user's open sessions; writes at most `room_for`, returns how many there are. */
size_t relay_user_sessions(const relay_hub_t *hub, relay_id_t user, relay_id_t *sessions, size_t room_for);
/* Closes all sessions of the user, as relay_session_close() does; returns how many were open. */
size_t relay_user_close_sessions(relay_hub_t *hub, relay_id_t user, uint16_t code, const char *reason);
/* The presence entry as `viewer` (0: who sees all) may see it, as JSON; `is_related`: they share a room.
 * Returns its size, and writes at most `room` bytes. */
size_t relay_user_entry(const relay_hub_t *hub, relay_id_t user, relay_id_t viewer, bool is_related, char *at,
                        size_t room);
/* Takes `count` tokens of a user: returns 0, or the ms until they are available. Sends have twice the rate of
 * a session and count together with those of the user's sessions. Memberships have twice the rate of
 * requests. */
int64_t relay_user_take_tokens(relay_hub_t *hub, relay_id_t user, relay_rate_t kind, uint32_t count);
/* The same for a room, shared by all users: four times the rate of a session's sends, or 20 times the rate of
 * a session's requests for RELAY_RATE_MEMBERSHIP. */
int64_t relay_room_take_token(relay_hub_t *hub, relay_id_t room, relay_rate_t kind);
/* The same for a message that may push. It costs one token, and one more for each 100 members to push to. The
 * room pays all of them. `sender` (0: none) has paid the first with its request and pays the others here. */
int64_t relay_room_take_send(relay_hub_t *hub, relay_id_t room, relay_id_t sender);
/* Keeps a user until the matching release, which forgets one that nothing else needs. */
void relay_user_retain(relay_hub_t *hub, relay_id_t user);
void relay_user_release(relay_hub_t *hub, relay_id_t user);

/* Watching: presence events without a shared room, of what is shared with watchers. */

/* A reply tells the session of people as they are now: it hears of what is undone before the others would
 * hear of it. */
void relay_session_told_presence(relay_hub_t *hub, relay_id_t session);

/* TOO_MANY: with these users the session would watch more than `watched`. */
relay_status_t relay_session_may_watch(const relay_hub_t *hub, relay_id_t session, const relay_id_t *users,
                                       size_t count);
/* The session hears of the user from now on, what it is told in reply included. `is_related`: they share a
 * stored room, as the store says; with `is_judged` any room in which the session may see who is there, and
 * rooms in memory are not looked at. */
relay_status_t relay_session_watch(relay_hub_t *hub, relay_id_t session, relay_id_t user, bool is_related,
                                   bool is_judged);
/* Harmless when it does not watch. */
void relay_session_unwatch(relay_hub_t *hub, relay_id_t session, relay_id_t user);
/* Corrects these. Unless it is judged, `is_related` becomes true with a first shared stored room; it is false
 * when one of the two has left a stored room, or any if it is judged. false: it does not watch. */
bool relay_session_watch_relate(relay_hub_t *hub, relay_id_t session, relay_id_t user, bool is_related,
                                bool is_judged);

typedef struct relay_watching {
  relay_id_t session, viewer, user; /* the session, whose it is, and whom it watches */
} relay_watching_t;
/* Who watches the user, and whom the user's sessions watch; writes at most `room`, returns how many. */
size_t relay_user_watches(const relay_hub_t *hub, relay_id_t user, relay_watching_t *at, size_t room);
/* All of all sessions, in no order. */
size_t relay_watches(const relay_hub_t *hub, relay_watching_t *at, size_t room);

/* Rooms */

enum {
  RELAY_ROOM_STORED = 1,   /* messages pass the store before they are shown; members are durable */
  RELAY_ROOM_PUSHES = 2,   /* away members are pushed to */
  RELAY_ROOM_RECEIPTS = 4, /* members hear how far others have received and read, unless it is large */
};

relay_id_t relay_room_create(relay_hub_t *hub, const char *name, const char *epoch, int64_t seq,
                             int64_t cursor, unsigned flags);
/* Changes what it was created with: `flags`, of which RELAY_ROOM_STORED stays as it was; the members above
 * which it is large (0: it never is; a new room has that of the limits); and, in a room that is not stored,
 * how many it takes (0: no bound, as in a new room). */
void relay_room_configure(relay_hub_t *hub, relay_id_t room, unsigned flags, uint32_t member_list,
                          uint32_t most_members);
relay_id_t relay_room_named(const relay_hub_t *hub, const char *name);
const char *relay_room_name(const relay_hub_t *hub, relay_id_t room);
const char *relay_room_epoch(const relay_hub_t *hub, relay_id_t room);
int64_t relay_room_seq(const relay_hub_t *hub, relay_id_t room);
/* Forgets a room without sessions and waits; false when it is needed, or has marks to store first: then
 * it is idle again soon. */
bool relay_room_release(relay_hub_t *hub, relay_id_t room);

/* A durable member of a stored room, from the store: no event. */
relay_status_t relay_room_restore_member(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t read,
                                         int64_t received);
/* A stored message above the cursor that has to be decided again; in their order, before any is shown. */
relay_status_t relay_room_restore_message(relay_hub_t *hub, relay_id_t room, int64_t seq, int64_t time,
                                          relay_id_t from);
/* Starts the waits of what relay_room_restore_message() brought. */
void relay_room_resume(relay_hub_t *hub, relay_id_t room);
/* A new member: `member` and `presence` to the others. TOO_MANY: past what relay_room_configure() said. */
relay_status_t relay_room_add_member(relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* Ends a membership, and what its sessions hear of the room: `member` `left`, or `removed`, to all. */
relay_status_t relay_room_remove_member(relay_hub_t *hub, relay_id_t room, relay_id_t user, bool by_others);
bool relay_room_has_member(const relay_hub_t *hub, relay_id_t room, relay_id_t user);

enum {
  RELAY_RIGHT_SEND = 1,
  RELAY_RIGHT_PRESENCE = 2,
};

/* The session hears the room from now on; its user is a member. The reply to `join` has given it the
 * messages from `given_from` up to the newest (none: the newest seq + 1). */
relay_status_t relay_room_join(relay_hub_t *hub, relay_id_t room, relay_id_t session, unsigned rights,
                               int64_t given_from);
/* Other rights for a session that has joined. */
relay_status_t relay_room_set_rights(relay_hub_t *hub, relay_id_t room, relay_id_t session, unsigned rights);
/* The sessions that hear it; writes at most `room_for`, returns how many there are. */
size_t relay_room_sessions(const relay_hub_t *hub, relay_id_t room, relay_id_t *sessions, size_t room_for);
/* The session no longer hears it. */
relay_status_t relay_room_leave(relay_hub_t *hub, relay_id_t room, relay_id_t session);
bool relay_room_is_joined(const relay_hub_t *hub, relay_id_t room, relay_id_t session);
/* TOO_MANY when one more room would be past `rooms_per_session`. */
relay_status_t relay_session_may_join(const relay_hub_t *hub, relay_id_t session, relay_id_t room);

typedef struct relay_room_facts {
  size_t members, online;
  bool is_large;
  int64_t read, received; /* the user's marks; -1 when not a member */
} relay_room_facts_t;
bool relay_room_is_large(const relay_hub_t *hub, relay_id_t room);
size_t relay_room_member_count(const relay_hub_t *hub, relay_id_t room);
/* A member's marks; false: no member. */
bool relay_room_marks(const relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t *read,
                      int64_t *received);
relay_room_facts_t relay_room_facts(const relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* Presence entries of all members as `viewer` (0: who sees all) may see them, as a JSON array. Freed by the
 * caller. */
char *relay_room_entries(const relay_hub_t *hub, relay_id_t room, relay_id_t viewer, size_t *size);
/* The same of at most `limit` members, in the order of their names' bytes, of those behind `after` (NULL:
 * from the first). `has_more`: there are others behind. Freed by the caller. */
char *relay_room_entries_after(const relay_hub_t *hub, relay_id_t room, relay_id_t viewer, const char *after,
                               size_t limit, size_t *size, bool *has_more);
/* The messages after `after` up to the newest, as JSON objects with commas between, when the hub
 * still has all of them; NULL otherwise. `count` is how many. Freed by the caller. */
char *relay_room_tail(const relay_hub_t *hub, relay_id_t room, int64_t after, size_t *size, size_t *count);
/* relay_room_tail() no longer has the messages before `first`. */
void relay_room_trim(relay_hub_t *hub, relay_id_t room, int64_t first);

typedef struct relay_message {
  const char *from;          /* the user */
  relay_id_t sender;         /* the session, which is not shown it; 0: none */
  relay_bytes_t body;        /* JSON */
  relay_bytes_t more;        /* further members of the event, which begin with a comma, or nothing */
  int64_t seq, time;         /* in a room that is not stored the hub gives both */
  bool is_silent;            /* nobody is pushed to for it */
  bool keeps_marks;          /* who sent it has not read what came before */
  bool is_due_now;           /* RELAY_EVENT_DUE at once for each member that is not in `decided` */
  const relay_id_t *decided; /* members whose push was decided with the message */
  size_t decided_count;
} relay_message_t;

/* Shows a message: a frame to every session in the room but `sender`, and a wait for each member who
 * may have to be pushed to. Returns the seq; 0: gone. */
int64_t relay_room_publish(relay_hub_t *hub, relay_id_t room, relay_message_t *message);
/* An event to every session in the room but `sender`. */
relay_status_t relay_room_tell(relay_hub_t *hub, relay_id_t room, relay_id_t sender, relay_bytes_t json);
/* A signal, to whom a message would go. `body` may be empty. */
relay_status_t relay_room_signal(relay_hub_t *hub, relay_id_t room, const char *from, relay_id_t sender,
                                 relay_bytes_t name, relay_bytes_t body);
/* Raises the user's read mark. */
relay_status_t relay_room_read(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t seq);

/* The away queue: messages for which rules 7 to 9 of the delivery decision say `wait`. */

/* Writes the members whose pushes are decided with the message, `room_for` ids at most, and returns their
 * number; 0 in rooms that push nothing. They have a device, no session in the room that is not in the
 * background, no grace and no earlier message that waits for a decision. With `rings` they are all members
 * with a device. With `is_reported`, members without a device and members who have blocked the sender are
 * among them. `needs_wait` is true if the decision about another member has to wait. */
size_t relay_room_away(const relay_hub_t *hub, relay_id_t room, const char *sender, bool rings,
                       bool is_reported, relay_id_t *users, size_t room_for, bool *needs_wait);

/* Each member but the sender, as the sender may see them: with a session that is not in the background, away
 * within the grace, or else. */
typedef struct relay_delivery {
  size_t live, waiting, away;
} relay_delivery_t;
/* Whom a message to the room would reach now. `quiet`: who lets the sender see their focus, and has it on or
 * a filter; none in large rooms. Writes at most `room_for` ids, returns how many there are. */
size_t relay_room_delivery(const relay_hub_t *hub, relay_id_t room, relay_id_t sender,
                           relay_delivery_t *delivery, relay_id_t *quiet, size_t room_for);
/* Writes at most `max` ids of the members who do not let the sender see whether they are online, and returns
 * the number of such members. */
size_t relay_room_hidden(const relay_hub_t *hub, relay_id_t room, relay_id_t sender, relay_id_t *users,
                         size_t max);
/* Whether messages to the room push at all: it is one that does, and not too many are in it. */
bool relay_room_pushes(const relay_hub_t *hub, relay_id_t room);

typedef struct relay_undecided {
  int64_t seq, time; /* the message's */
  int64_t shown;     /* when it was written to the sessions in the room */
  relay_id_t from;   /* the user; 0 or stale: not in memory when it was shown, or not any more */
  bool is_own;
} relay_undecided_t;

/* A session of the member in the room. */
typedef struct relay_presence_facts {
  relay_activity_t activity;
  int64_t joined;     /* when */
  int64_t given_from; /* from which seq on it was given the messages, in the reply to `join` or live */
  int64_t received;   /* up to which seq; of what it was given, when it does not acknowledge */
  bool acks;
  int64_t drained; /* when all that had waited was written last */
  int64_t blocked; /* since when something waits to be written; 0: nothing does */
} relay_presence_facts_t;

typedef struct relay_member_facts {
  int64_t read, received;
  int64_t away_since; /* when the last session that was not in the background ended; else the hub's start */
  bool is_clean;      /* it ended with a close, or was put into the background */
  size_t sessions;
  relay_presence_facts_t session[32]; /* the first of them */
} relay_member_facts_t;

/* Returns false if the user is no member of the room. */
bool relay_member_get(const relay_hub_t *hub, relay_id_t room, relay_id_t user, relay_member_facts_t *facts);
/* Sends a ping to each session of the member in the room that does not acknowledge and is not in the
 * background. */
void relay_member_ping(relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* Writes the messages that are due to be decided for a member after RELAY_EVENT_DUE, oldest first, and
 * returns their number, at most `max`. The member is not due again until relay_member_decide(). */
size_t relay_member_undecided(relay_hub_t *hub, relay_id_t room, relay_id_t user, relay_undecided_t *messages,
                              size_t max);

/* The decision about one message. */
typedef struct relay_decided {
  int64_t seq;
  int64_t delay; /* ms until it is due again, unless something changes before; below 0: it is decided */
} relay_decided_t;

/* Takes the decisions about what relay_member_undecided() has returned, by seq. A message that is missing is
 * due again at once. */
void relay_member_decide(relay_hub_t *hub, relay_id_t room, relay_id_t user, const relay_decided_t *decided,
                         size_t count);

/* HTTP */

/* Counts the request for this user from now on, no longer for its address; NULL: for an API key, whose
 * requests count only against `unsent`. Returns 0; 429 if the user has too many requests under way, or if
 * these hold too many bytes; 503 if all requests together do. The caller answers with this status. */
int relay_http_identify(relay_hub_t *hub, relay_id_t exchange, const char *user);
/* Sends the answer. `headers` are whole lines ("Name: value\r\n"). The hub adds Content-Length, and for a
 * page of a listed origin the headers that allow it to read the answer (Fetch, "HTTP CORS protocol"). An
 * answer to a GET of more than 4 KiB that exceeds `unsent_per_user` becomes 429, one that exceeds `unsent`
 * becomes 503. Returns the status that was sent. */
int relay_http_respond(relay_hub_t *hub, relay_id_t exchange, int status, const char *headers,
                       relay_bytes_t body);
/* The reason phrase of a status (RFC 9110, section 15), for good. [any thread] */
const char *relay_http_reason(int status);
/* A response without an end (server-sent events); more follows with relay_http_stream_write(). A client
 * that closes is noticed within a second, one that is gone without a word at a comment that it is sent
 * every 15 s. */
void relay_http_stream(relay_hub_t *hub, relay_id_t exchange, const char *headers);
/* false when the client is gone, or was cut because more than 256 KiB, or than `unsent_per_user` or
 * `unsent` permits, waited for it. */
bool relay_http_stream_write(relay_hub_t *hub, relay_id_t exchange, relay_bytes_t bytes);
/* Closes the stream. */
void relay_http_stream_end(relay_hub_t *hub, relay_id_t exchange);

#endif
