// SPDX-License-Identifier: Apache-2.0
/* relay.h -- the interface of the hub: rooms, fan-out, shared focus and the away queue on one event-loop
 * thread. RelayHub wraps it in Swift.
 *
 * THREADS   A hub belongs to the thread inside relay_hub_run(). Call each function on that thread,
 *           except those marked [any thread]. Before the run, call them on the creating thread.
 * MEMORY    The hub owns sessions, rooms and users; callers hold ids. A call with a stale id does
 *           nothing, and returns false, 0, NULL or RELAY_GONE. The hub copies the bytes that it is
 *           given. Bytes in an event are valid until the callback returns. A returned string or
 *           relay_bytes_t is valid until the next call that changes its owner.
 * REENTRY   No function calls a callback before it returns. The hub queues events and delivers them
 *           from the top of the loop. It writes frames at the end of an iteration of the loop, with
 *           one write for each session.
 * TIME      Milliseconds. A `time` or `now` is since 1970, a delay is relative.
 *
 * Only this file, relay_codes.h, relay_json.h and relay_stats.h are public.
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

/* The id of a session, room, user or HTTP exchange. An id is never used again. 0: none. */
typedef uint64_t relay_id_t;

typedef struct relay_bytes {
  const void *at;
  size_t count;
} relay_bytes_t;

/* The hub */

/* The limits of a hub. Limits.swift has their meaning for clients. */
typedef struct relay_limits {
  uint32_t frame, nesting; /* bytes of a message or a body; depth of its arrays and objects */
  uint32_t outgoing_queue; /* bytes of events that may wait for a session; 0: no limit */
  uint32_t rooms_per_session, sessions_per_user; /* 0: no limit */
  double send_rate, request_rate, focus_rate;    /* tokens a second; 0: no limit */
  uint32_t send_burst, request_burst, focus_burst;
  uint32_t watched;                                /* users that a session may watch; 0: no limit */
  uint32_t hello_timeout, heartbeat, pong_timeout; /* milliseconds */
  uint32_t member_list;             /* members above which a new room is large; 0: it never is */
  uint32_t pushed_members;          /* members of a room that pushes; 0: no limit */
  uint32_t presence_grace;          /* milliseconds */
  uint32_t connections;             /* of the hub; 0: no limit, see relay_connections_possible() */
  uint32_t connections_per_address; /* of an IPv4 address or an IPv6 /64; 0: no limit */
  uint32_t idle_timeout;            /* milliseconds: of an HTTP connection between two requests */
  uint32_t received_timeout;        /* milliseconds, see frozen.c; at least 5,000; 0: no limit */
  /* HTTP requests of a user in progress, see relay_http_identify(); 0: no limit. While their callers are
   * unknown, an address may have 16 times as many requests and bytes. */
  uint32_t requests_per_user;
  /* Bytes that the requests of a user may hold, and all requests together; 0: no limit. Requests of unknown
   * callers may hold a quarter of `unsent`. */
  uint64_t unsent_per_user, unsent;
} relay_limits_t;

/* The values of the header Host that the hub accepts. The rule stops DNS rebinding: a page whose name an
 * attacker points at the relay sends that name as Host. */
typedef enum relay_host_rule {
  RELAY_HOSTS_ANY,
  RELAY_HOSTS_ADDRESSES, /* an IP address, localhost, or a name in `hosts` */
  RELAY_HOSTS_LOOPBACK,  /* a loopback address, localhost, or a name in `hosts` */
} relay_host_rule_t;

typedef enum relay_rate {
  RELAY_RATE_SEND,
  RELAY_RATE_REQUEST,
  RELAY_RATE_FOCUS,      /* of sessions and users only */
  RELAY_RATE_MEMBERSHIP, /* of rooms only: new and ended memberships */
} relay_rate_t;

/* A type of frame that the hub hands over with RELAY_EVENT_REQUEST, and the rate that a frame takes a token
 * of: SEND, REQUEST or FOCUS. */
typedef struct relay_request_type {
  const char *name;
  relay_rate_t rate;
} relay_request_type_t;

typedef struct relay_config {
  const char *address;     /* an IPv4 or IPv6 address, or a host name */
  uint16_t port;           /* 0: any free port, see relay_hub_port() */
  const char *subprotocol; /* of WebSocket handshakes */
  const char *path;        /* of WebSocket handshakes */
  const char *origins;     /* allowed values of Origin, separated by spaces; "": the server's own */
  const relay_request_type_t *requests; /* in addition to hello; NULL: all types, at RELAY_RATE_REQUEST */
  size_t request_count;
  const char
      *trusted_proxies; /* networks ("10.0.0.0/8"), separated by spaces, whose X-Forwarded-For is trusted */
  relay_host_rule_t host_rule;
  const char *hosts; /* names that Host may also have, separated by spaces; NULL or "": none */
  /* Paths of HTTP requests, separated by spaces, for which the hub calls `held`; NULL or "": none */
  const char *held_paths;
  bool logs_debug; /* call `log` for lines of RELAY_LOG_DEBUG */
  bool is_standby; /* no sessions: a valid handshake is an HTTP request that gets RELAY_EVENT_HTTP */
  relay_limits_t limits;
} relay_config_t;

typedef struct relay_event relay_event_t;
typedef struct relay_http relay_http_t;

typedef enum relay_log_level { RELAY_LOG_DEBUG, RELAY_LOG_INFO, RELAY_LOG_ERROR } relay_log_level_t;

typedef enum relay_service {
  RELAY_SERVES,
  /* The hub keeps the frames of clients, and calls neither `woken` nor `happened`. It answers `/live` with
   * 200 itself, calls `held` for the paths in `held_paths`, and answers all other requests and handshakes
   * with 503. */
  RELAY_HELD,
  /* For good: the hub closes its listener, cuts all HTTP connections, and closes all sessions with 4000. It
   * drops their frames, so that `bye` is the only one that they still get. */
  RELAY_ENDED,
} relay_service_t;

/* The hub calls these on its thread. */
typedef struct relay_callbacks {
  void *context;
  /* Follows relay_hub_wake(). */
  void (*woken)(void *context);
  /* Delivers events, in their order. */
  void (*happened)(void *context, const relay_event_t *events, size_t count);
  /* Logs a line for the operator. The line has no line feed. */
  void (*log)(void *context, relay_log_level_t level, const char *line);
  /* Returns the service that clients get now. The hub calls this before each iteration, each delivery of
   * events and each answer over HTTP. It must not block, and must not call the hub. After a change, call
   * relay_hub_wake(). NULL: RELAY_SERVES. */
  relay_service_t (*service)(void *context);
  /* A request for a path in `held_paths` has arrived, and the hub is held. It must be answered within the
   * call, with relay_http_respond(). */
  void (*held)(void *context, relay_id_t exchange, const relay_http_t *http);
} relay_callbacks_t;

/* Returns the number of connections that the limit of open files allows. */
uint32_t relay_connections_possible(void);
/* True if the text is a network for `trusted_proxies`. */
bool relay_network_is_valid(const char *network);

/* Sets the destination of the log lines of libwebsockets, for all hubs. A line has no line feed, and there
 * are at most ten a second. NULL: standard error, which blocks the hub's thread if nobody reads it.
 * [any thread] */
void relay_log_library(void (*log)(const char *line));
/* Returns NULL if libwebsockets cannot start. Aborts the process if there is no memory. */
relay_hub_t *relay_hub_create(const relay_config_t *config, const relay_callbacks_t *callbacks);
/* Binds the port. Returns 0 or an errno, for example EADDRINUSE, EACCES or EADDRNOTAVAIL. */
int relay_hub_listen(relay_hub_t *hub);
/* Returns the bound port, after relay_hub_listen(). */
uint16_t relay_hub_port(const relay_hub_t *hub);
/* Runs the loop until relay_hub_stop(), and then ends all sessions and HTTP exchanges. After that, calls
 * still find rooms and users but send nothing, until relay_hub_destroy(). */
void relay_hub_run(relay_hub_t *hub);
/* Begins a graceful shutdown. The hub answers new handshakes with 503, and closes all sessions within some
 * seconds. Each gets `bye` with a random `retryAfter`, so that about 1,000 clients reconnect each second. The
 * hub still answers HTTP requests, and then closes their connections. */
void relay_hub_drain(relay_hub_t *hub, uint16_t code, const char *reason);
/* Accepts no more connections, and frees the port at once. */
void relay_hub_close_listener(relay_hub_t *hub);
/* Queues at once the events of marks and cursors that would follow within a second. Also queues
 * RELAY_EVENT_USER_SEEN for each user who is online, so that `last_seen` can be stored before the
 * hub ends. RELAY_EVENT_FLUSHED follows them. */
void relay_hub_flush(relay_hub_t *hub);
/* Changes all limits except `connections`, `connections_per_address`, `idle_timeout`, `received_timeout`,
 * `requests_per_user`, `unsent_per_user` and `unsent`. A room keeps its `member_list`, see
 * relay_room_configure(). A timeout that has begun keeps its end. */
void relay_hub_set_limits(relay_hub_t *hub, const relay_limits_t *limits);
/* Ends relay_hub_run() after this iteration. Connections that are still open are cut. */
void relay_hub_stop(relay_hub_t *hub);
void relay_hub_destroy(relay_hub_t *hub);
/* Has `woken` called soon on the hub's thread, unless the run is over. Several calls may cause one call of
 * `woken`. [any thread, until relay_hub_destroy()] */
void relay_hub_wake(relay_hub_t *hub);
/* Returns the wall clock of this iteration. */
int64_t relay_hub_now(const relay_hub_t *hub);
/* Returns the loop's clock of this iteration, in ms. Nobody can set this clock, and its origin has no
 * meaning. */
int64_t relay_hub_clock(const relay_hub_t *hub);
/* Queues RELAY_EVENT_ALARM once at this time. Replaces an earlier alarm; 0: no alarm. */
void relay_hub_set_alarm(relay_hub_t *hub, int64_t time);
/* For simulations: sets the wall clock and the clock of timers. After the first call, time passes only with
 * these calls. Make the first call before there are sessions or rooms. `now` must not go back. Timers that
 * are due run in the next iteration or in the one after it, as after a pause of the process. */
void relay_hub_set_clock(relay_hub_t *hub, int64_t now);
/* For simulations, after relay_hub_set_clock(): sets the wall clock, forward or back. Only alarms follow this
 * clock; no other timer moves. */
void relay_hub_set_wall_clock(relay_hub_t *hub, int64_t now);
/* For simulations, after relay_hub_set_clock(): has the effect of a machine that was suspended for some ms.
 */
void relay_hub_suspend(relay_hub_t *hub, int64_t duration);
/* Returns the time of the next timer, on the clock of relay_hub_now(); INT64_MAX: no timer is set. */
int64_t relay_hub_next_due(const relay_hub_t *hub);

/* Current numbers of objects, for metrics and tests. */
typedef struct relay_counts {
  size_t connections, sessions, users, rooms, members, seats, watches, timers, exchanges, events;
  size_t frames, frame_bytes; /* in memory; a frame counts once, even if many sessions wait for it */
  size_t exchange_bytes;      /* bodies and unsent answers of HTTP requests */
} relay_counts_t;
relay_counts_t relay_hub_counts(const relay_hub_t *hub);
relay_stats_t relay_hub_stats(const relay_hub_t *hub);
/* Returns the bytes of the outboxes of all sessions. A shared frame counts once for each session. The time
 * grows with the number of sessions. */
size_t relay_hub_outbox_bytes(const relay_hub_t *hub);

/* Events */

typedef enum relay_event_kind {
  RELAY_EVENT_REQUEST,       /* session, user, json: a request; answer with relay_session_finish() */
  RELAY_EVENT_SEND,          /* session, user, room, json: a `send` to a stored room, with a key, or with a
                                field of relay_send_policy_field(); answer with relay_session_finish() */
  RELAY_EVENT_READ,          /* session, user, room, json: a `read` with an id, whose mark is raised but not
                                stored; answer with relay_session_finish() */
  RELAY_EVENT_HTTP,          /* exchange, http: answer with relay_http_respond() or relay_http_stream() */
  RELAY_EVENT_HTTP_CLOSED,   /* exchange: a stream has ended */
  RELAY_EVENT_PRESENCE,      /* name, entry: the user's state has changed, see relay_hub_follow_presence() */
  RELAY_EVENT_USER_SEEN,     /* name, time, activity: the online state to store, last seen at `time` */
  RELAY_EVENT_USER_GONE,     /* user: nothing refers to the user any more, so its memory is freed */
  RELAY_EVENT_USER_DUE,      /* user: the alarm of relay_user_set_alarm() is due */
  RELAY_EVENT_RETURNS_OVER,  /* the time of relay_hub_await_returns() is over */
  RELAY_EVENT_ALARM,         /* the alarm of relay_hub_set_alarm() is due */
  RELAY_EVENT_CLOCK_SET,     /* time, suspended: the wall clock has jumped */
  RELAY_EVENT_MARK,          /* room, user, read, received: marks to store */
  RELAY_EVENT_CURSOR,        /* room, seq: all messages up to seq are decided for all members */
  RELAY_EVENT_DUE,           /* room, user: decisions are due, see relay_member_undecided() */
  RELAY_EVENT_SESSION_ENDED, /* session: see relay_session_notify_end() */
  RELAY_EVENT_CONFIRMED,     /* session, seq: see relay_session_confirm() */
  RELAY_EVENT_ROOM_IDLE,     /* room: a stored room is unused; repeats each minute */
  RELAY_EVENT_ROOM_GONE,     /* room: the room is no longer in memory */
  RELAY_EVENT_DRAINED,       /* after relay_hub_drain(): the last session, or the last exchange, has ended */
  RELAY_EVENT_FLUSHED,       /* all events of relay_hub_flush() were delivered */
} relay_event_kind_t;

typedef struct relay_field {
  relay_bytes_t name, value; /* a name is in lower case */
} relay_field_t;

struct relay_http {
  relay_bytes_t method;
  relay_bytes_t path, query; /* percent-encoded, as the client wrote them; `query` has no question mark */
  relay_bytes_t body;
  const relay_field_t *fields; /* in their order */
  size_t field_count;
  bool is_local;       /* the address of the client is loopback */
  uint8_t address[16]; /* of the client, or of the client behind a trusted proxy; an IPv4 address is
                          IPv4-mapped */
};

enum { RELAY_ADDRESS_TEXT = 46 };
/* Writes an address as text, an IPv4 address with dots. Returns `text`. Any thread. */
char *relay_address_print(const uint8_t bytes[16], char text[RELAY_ADDRESS_TEXT]);

/* relay_event_kind_t lists the members that each kind sets. The others are 0 or NULL. */
struct relay_event {
  relay_event_kind_t kind;
  relay_id_t session, room, user, exchange;
  const relay_json_t *json;
  const relay_http_t *http;
  const char *name;
  relay_bytes_t entry; /* a presence entry with all parts: a JSON object */
  int64_t seq, read, received, time;
  /* RELAY_EVENT_CLOCK_SET has in `time` the jump of the wall clock in ms, against the clock of timers; below
   * 0: back. The machine was suspended for `suspended` ms of it, and the rest is a step: the clock was set.
   */
  int64_t suspended;
  int activity; /* a relay_activity_t; -1: the user is offline */
};

/* Returns the name of a field of `send` that only the receiver of RELAY_EVENT_SEND can handle. Returns NULL
 * after the last one. [any thread] */
const char *relay_send_policy_field(size_t index);
/* True if a `send` has such a field. [any thread] */
bool relay_send_needs_policy(const relay_json_t *json);

/* Sessions */

typedef enum relay_activity { RELAY_BACKGROUND, RELAY_IDLE, RELAY_ACTIVE } relay_activity_t;

typedef enum relay_status {
  RELAY_OK,
  RELAY_GONE,      /* the session, room or user does not exist any more */
  RELAY_TOO_MANY,  /* a limit would be exceeded */
  RELAY_NOT_THERE, /* the session has not joined the room, or the user is no member */
} relay_status_t;

/* Accepts the `hello` of a session: it is now a session of `user`, on `device` (NULL: unknown). With `acks`
 * the client sends `received`; without it the hub uses pings. If the user has `sessions_per_user` sessions,
 * the new one replaces the one that has been silent for longest, which is closed with 4004. That session must
 * have left a ping unanswered for 5 s, see relay_user_probe(). While its socket still accepts waiting frames,
 * it stays. Returns RELAY_TOO_MANY if there is none. */
relay_status_t relay_session_open(relay_hub_t *hub, relay_id_t session, relay_id_t user, const char *device,
                                  bool acks, relay_activity_t activity);
/* Pings the sessions of a user who has `sessions_per_user` sessions. Returns false if the user has fewer. */
bool relay_user_probe(relay_hub_t *hub, relay_id_t user);
/* True while relay_session_open() would refuse a session of the user, and the pong of another session may
 * still be missing: for 5 s after relay_user_probe(), or longer if a slow session accepts its frames. */
bool relay_user_awaits_pongs(const relay_hub_t *hub, relay_id_t user);
/* Sends the answer to the request of RELAY_EVENT_REQUEST, _SEND or _READ, and ends the request; an empty
 * `json` sends nothing. Call it once for each of these events. Frames that waited for the request are handled
 * then. */
void relay_session_finish(relay_hub_t *hub, relay_id_t session, relay_bytes_t json);
/* As relay_session_finish(), for the reply to `history`: the reply to a `ping` may go before it. */
void relay_session_finish_history(relay_hub_t *hub, relay_id_t session, relay_bytes_t json);
/* As relay_session_finish(), for the reply to a `join` of the room. The reply to a `ping` may go before it.
 * If the reply to an earlier `join` of the room waits, and no byte of it is written, that reply becomes the
 * error `superseded`. `parts` are events with the first pages of the reply, which are sent before it. */
void relay_session_finish_join(relay_hub_t *hub, relay_id_t session, relay_id_t room, relay_bytes_t json,
                               const relay_bytes_t *parts, size_t count);
/* Sends an event to the session. */
void relay_session_push(relay_hub_t *hub, relay_id_t session, relay_bytes_t json);
/* Sends an event to several sessions. They share one frame. */
void relay_sessions_push(relay_hub_t *hub, const relay_id_t *sessions, size_t count, relay_bytes_t json);
/* Sends `bye` and a close frame, and cuts the connection after 5 s at most. `retry_after` is in seconds;
 * below 0: `bye` has no `retryAfter`. */
void relay_session_close(relay_hub_t *hub, relay_id_t session, uint16_t code, const char *reason,
                         double retry_after);
/* Returns the user of an open session; 0: none. */
relay_id_t relay_session_user(const relay_hub_t *hub, relay_id_t session);
/* Returns the device of an open session; NULL: `hello` had none. */
const char *relay_session_device(const relay_hub_t *hub, relay_id_t session);
typedef struct relay_session_facts {
  const char *device;     /* NULL: `hello` had none; valid until the session ends */
  int64_t since, expires; /* in whole seconds: when `hello` was accepted, and the time that
                             relay_session_set_expiry() has set (0: never) */
  relay_activity_t activity;
  uint32_t rooms; /* the rooms that it has joined */
} relay_session_facts_t;
/* Returns false if the session is not open. */
bool relay_session_facts(const relay_hub_t *hub, relay_id_t session, relay_session_facts_t *facts);
/* Closes the session with 4002 at this time, rounded up to a second; 0: never. If the wall clock is set, the
 * session lasts as long as without that. */
void relay_session_set_expiry(relay_hub_t *hub, relay_id_t session, int64_t time);
/* Queues RELAY_EVENT_SESSION_ENDED when the session has ended. Returns false if it is already closing or
 * gone. */
bool relay_session_notify_end(relay_hub_t *hub, relay_id_t session);
/* Sends a ping, to learn when all frames that were sent until now have arrived. Returns a number, or 0 if the
 * session is not open. When RELAY_EVENT_CONFIRMED has this number or a higher one as its `seq`, the frames
 * have arrived. No event follows if the session ends first. */
uint32_t relay_session_confirm(relay_hub_t *hub, relay_id_t session);
/* Writes at most `max` ids of the rooms that the session has joined. Returns the number of
 * these rooms. */
size_t relay_session_rooms(const relay_hub_t *hub, relay_id_t session, relay_id_t *rooms, size_t max);
bool relay_session_is_open(const relay_hub_t *hub, relay_id_t session);
/* Writes the ids of open sessions, in a stable order, and returns their number. Visits at most `max` sessions
 * behind `position`: the id of a session that may have ended, the result of an earlier call, or 0 for the
 * first sessions. Sets `position` for the next call; 0: there are no more. A session that is open during all
 * calls of a list is in it once. */
size_t relay_sessions_after(const relay_hub_t *hub, relay_id_t *position, relay_id_t *sessions, size_t max);
/* True if this hub has given the id to a session, which may have ended. */
bool relay_session_has_existed(const relay_hub_t *hub, relay_id_t session);
/* Copies the address of the client, or of the client behind a trusted proxy: an IPv4 address as IPv4-mapped,
 * or the /64 of an IPv6 address. Returns false if the session has ended. */
bool relay_session_address(const relay_hub_t *hub, relay_id_t session, uint8_t address[16]);
/* Returns the Authorization header of the handshake, until relay_session_open(); at: NULL if it is absent. */
relay_bytes_t relay_session_authorization(const relay_hub_t *hub, relay_id_t session);

/* Users. A user stays in memory while a session, a room in memory, a watch, a grace, a rate or
 * relay_user_retain() needs it. */

/* Returns the user of this name, and creates it if it is not in memory. `profile` is empty, or JSON members
 * that begin with a comma (`,"name":"Ann"`). It is a part of each of the user's presence entries. A user in
 * memory keeps its profile and its `last_seen`. */
relay_id_t relay_user_create(relay_hub_t *hub, const char *name, relay_bytes_t profile, int64_t last_seen);
/* Returns the user of this name; 0: it is not in memory. */
relay_id_t relay_user_named(const relay_hub_t *hub, const char *name);
const char *relay_user_name(const relay_hub_t *hub, relay_id_t user);
/* Returns the profile as it was set. */
relay_bytes_t relay_user_profile(const relay_hub_t *hub, relay_id_t user);
/* Awaits the return of users who were online when an earlier run ended. The time begins now, and lasts for
 * `duration` ms. Then RELAY_EVENT_RETURNS_OVER follows. Call it at the start, before users are in memory. */
void relay_hub_await_returns(relay_hub_t *hub, int64_t duration);
/* Shows a user as online who was online when an earlier run ended, as in the grace after a lost connection.
 * If no session of the user opens before the end of relay_hub_await_returns(), the user goes offline. Returns
 * false, without an effect, after that end, or if this run has already shown the user as online. */
bool relay_user_await(relay_hub_t *hub, relay_id_t user, relay_activity_t activity);
/* True if the user has a session, is in a grace, or is awaited. */
bool relay_user_is_online(const relay_hub_t *hub, relay_id_t user);
/* Forgets when a user without a session was last seen, and ends the grace: the user is offline at once. */
bool relay_user_forget_seen(relay_hub_t *hub, relay_id_t user);
/* Sets the profile and announces it. `requester`, here and below, is the session that requested the change
 * (0: none). It gets no presence event. */
bool relay_user_set_profile(relay_hub_t *hub, relay_id_t user, relay_bytes_t profile, relay_id_t requester);
/* Sets the status, a JSON object, and announces it. Users who may see whether the user is online see it. An
 * empty one: the user has none. */
bool relay_user_set_status(relay_hub_t *hub, relay_id_t user, relay_bytes_t status, relay_id_t requester);
/* Sets the focus and announces it: -1 is unknown, 0 is off, 1 is on since the time `since`. */
bool relay_user_set_focus(relay_hub_t *hub, relay_id_t user, int focus, int64_t since, relay_id_t requester);
/* Sets the fact that the user has a device that messages can be pushed to. */
bool relay_user_set_has_devices(relay_hub_t *hub, relay_id_t user, bool has_devices);
bool relay_user_has_devices(const relay_hub_t *hub, relay_id_t user);
/* Sets the fact that the user wants pushes of messages that an active session has received, if they stay
 * unread. Then only the read mark ends the wait for a decision. */
bool relay_user_set_pushes_unread(relay_hub_t *hub, relay_id_t user, bool pushes_unread);
/* Sets the fact that the user has a filter that may silence messages, see relay_room_delivery(). */
bool relay_user_set_has_filter(relay_hub_t *hub, relay_id_t user, bool has_filter);
/* Sets the fact that the user has a session with the events of the list of rooms, see relay_room_inbox(). */
bool relay_user_set_has_inbox(relay_hub_t *hub, relay_id_t user, bool has_inbox);

/* The users who may see a part of a user's state: no others, those who share a room with the user, or these
 * and the watchers. */
typedef enum relay_audience { RELAY_SHARE_NONE, RELAY_SHARE_ROOMS, RELAY_SHARE_WATCHERS } relay_audience_t;
/* Sets the audiences of the user's focus and online state. Sessions whose view changes get a presence event
 * at once. */
bool relay_user_set_sharing(relay_hub_t *hub, relay_id_t user, relay_audience_t focus,
                            relay_audience_t online);
/* Queues RELAY_EVENT_USER_DUE once at this time, if the user is in memory then. Replaces an earlier alarm;
 * 0: no alarm. */
bool relay_user_set_alarm(relay_hub_t *hub, relay_id_t user, int64_t time);
/* Blocks or unblocks the user `name`, in memory or not. A blocked user sees `user` as an unknown user. */
bool relay_user_set_blocked(relay_hub_t *hub, relay_id_t user, const char *name, bool is_blocked);
/* Takes the state of a user as announced, without an announcement: it was loaded, and did not change. */
void relay_user_settle(relay_hub_t *hub, relay_id_t user);
/* Queues RELAY_EVENT_PRESENCE for each change of any user from now on, at most every 250 ms for each user.
 * Meanwhile users with a known Focus or a status stay in memory, so that their end is a change. */
void relay_hub_follow_presence(relay_hub_t *hub, bool is_on);
/* Frees the users that nothing needs any more, after relay_hub_follow_presence() was switched off. Looks at
 * `count` users, and begins at `from`. Returns the next `from`; 0: all users were looked at. */
size_t relay_hub_release_users(relay_hub_t *hub, size_t from, size_t count);
/* True if both users are members of the same room in memory. */
bool relay_user_shares_room(relay_hub_t *hub, relay_id_t a, relay_id_t b);
/* Writes at most `max` ids of the rooms in memory that both users are members of. Returns the number of
 * these rooms. */
size_t relay_user_shared_rooms(relay_hub_t *hub, relay_id_t a, relay_id_t b, relay_id_t *rooms, size_t max);
/* Sends an event to each session of the user. */
void relay_user_push(relay_hub_t *hub, relay_id_t user, relay_bytes_t json);
/* Writes at most `max` ids of the user's open sessions. Returns the number of these sessions. */
size_t relay_user_sessions(const relay_hub_t *hub, relay_id_t user, relay_id_t *sessions, size_t max);
/* Closes all sessions of the user, as relay_session_close() does. Returns the number of sessions that were
 * open. */
size_t relay_user_close_sessions(relay_hub_t *hub, relay_id_t user, uint16_t code, const char *reason);
/* Writes at most `max` bytes of the user's presence entry, a JSON object, as `viewer` (0: sees all) may see
 * it. `is_related` is true if both share a room. Returns the size of the entry. */
size_t relay_user_entry(const relay_hub_t *hub, relay_id_t user, relay_id_t viewer, bool is_related, char *at,
                        size_t max);
/* Takes `count` tokens of a user. Returns 0, or takes none and returns the ms until they are available. Sends
 * and requests have twice the rate of a session. All sessions of the user and the calls of this function
 * count together. */
int64_t relay_user_take_tokens(relay_hub_t *hub, relay_id_t user, relay_rate_t kind, uint32_t count);
/* Returns the text of the error for a request above the rate of a user. */
const char *relay_user_rate_refusal(relay_rate_t kind);
/* Takes a token of a room, as relay_user_take_tokens() does of a user. All users share the rates of a room:
 * four times the rate of a session's sends, or 20 times its rate of requests for RELAY_RATE_MEMBERSHIP. */
int64_t relay_room_take_token(relay_hub_t *hub, relay_id_t room, relay_rate_t kind);
/* Takes the tokens of a message that may push: one, and one more for each 100 members to push to. The room
 * pays all of them. `sender` (0: none) has paid the first token with its request, and pays the others here.
 * Returns 0, or takes none and returns the ms until they are available. */
int64_t relay_room_take_send(relay_hub_t *hub, relay_id_t room, relay_id_t sender);
/* Keeps a user in memory until the matching relay_user_release(), which frees a user that nothing
 * else needs. */
void relay_user_retain(relay_hub_t *hub, relay_id_t user);
void relay_user_release(relay_hub_t *hub, relay_id_t user);

/* Watching. A session that watches a user gets the user's presence events without a shared room, as far as
 * the user shares them with watchers. */

/* Notes that a reply gives the session presence entries as they are now. If a change is reverted before it is
 * announced, this session still gets an event, because the reply may have shown the change. */
void relay_session_note_presence(relay_hub_t *hub, relay_id_t session);

/* Returns RELAY_TOO_MANY if the session would watch more than `watched` users with these. */
relay_status_t relay_session_may_watch(const relay_hub_t *hub, relay_id_t session, const relay_id_t *users,
                                       size_t count);
/* Begins a watch, or updates one. The reply to the client must contain the user's entry as it is now: only
 * later changes cause events.
 *
 * `is_related` is true if the two users share a stored room, according to the store. The hub adds the rooms
 * in memory. With `is_evaluated` the caller alone decides: `is_related` is then true if the two share any
 * room in which the session may see the members. */
relay_status_t relay_session_watch(relay_hub_t *hub, relay_id_t session, relay_id_t user, bool is_related,
                                   bool is_evaluated);
/* Ends a watch. Does nothing if the session does not watch the user. */
void relay_session_unwatch(relay_hub_t *hub, relay_id_t session, relay_id_t user);
/* Sets both values of a watch again. Returns false if the session does not watch the user. The hub itself
 * changes `is_related` in two cases:
 * - It becomes true when the two users begin to share a stored room, unless `is_evaluated` is set.
 * - It becomes false when one of them leaves a stored room of the other; with `is_evaluated`, any room. */
bool relay_session_watch_relate(relay_hub_t *hub, relay_id_t session, relay_id_t user, bool is_related,
                                bool is_evaluated);

/* `session` of the user `viewer` watches `user`. */
typedef struct relay_watching {
  relay_id_t session, viewer, user;
} relay_watching_t;
/* Writes at most `max` watches: those of other users' sessions on the user, and those of the user's
 * sessions. Returns the number of these watches. */
size_t relay_user_watches(const relay_hub_t *hub, relay_id_t user, relay_watching_t *at, size_t max);
/* Writes at most `max` watches of all sessions, in no order. Returns the number of all watches. */
size_t relay_watches(const relay_hub_t *hub, relay_watching_t *at, size_t max);

/* Rooms */

enum {
  RELAY_ROOM_STORED = 1,   /* the store numbers messages before they are shown; members are durable */
  RELAY_ROOM_PUSHES = 2,   /* messages are pushed to away members */
  RELAY_ROOM_RECEIPTS = 4, /* members get `receipt` events about other members, unless the room is large */
  RELAY_ROOM_PAIR = 8,     /* frames show two members, also while one of the two people is no member */
};

/* Returns the room of this name, and creates it if it is not in memory. `seq` is its newest message, and
 * `cursor` the newest message up to which all are decided. */
relay_id_t relay_room_create(relay_hub_t *hub, const char *name, const char *epoch, int64_t seq,
                             int64_t cursor, unsigned flags);
/* Changes the settings of a room.
 * - `flags`, except that RELAY_ROOM_STORED stays as it is.
 * - `member_list`: the room is large when it has more members; 0: never. Default: the limit of the hub.
 * - `max_members`: the maximum number of members of a room that is not stored; 0: no limit, the default. */
void relay_room_configure(relay_hub_t *hub, relay_id_t room, unsigned flags, uint32_t member_list,
                          uint32_t max_members);
/* Returns the room of this name; 0: it is not in memory. */
relay_id_t relay_room_named(const relay_hub_t *hub, const char *name);
const char *relay_room_name(const relay_hub_t *hub, relay_id_t room);
/* As relay_sessions_after(), for the rooms without RELAY_ROOM_STORED. */
size_t relay_live_rooms_after(const relay_hub_t *hub, relay_id_t *position, relay_id_t *rooms, size_t max);
const char *relay_room_epoch(const relay_hub_t *hub, relay_id_t room);
/* Returns the seq of the newest message. */
int64_t relay_room_seq(const relay_hub_t *hub, relay_id_t room);
/* Frees a room that has no sessions and no undecided messages. Returns false if the room is in use. Also
 * returns false if it has marks or a cursor to store: their events are queued, and RELAY_EVENT_ROOM_IDLE
 * follows within about a second. */
bool relay_room_release(relay_hub_t *hub, relay_id_t room);
/* Frees a room that the store has deleted. All memberships end, and the sessions leave, without events for
 * clients. */
void relay_room_delete(relay_hub_t *hub, relay_id_t room);
/* Writes at most `max` ids of the open sessions of all members, also of sessions that have not joined the
 * room. Returns the number of these sessions. */
size_t relay_room_member_sessions(const relay_hub_t *hub, relay_id_t room, relay_id_t *sessions, size_t max);

/* Adds a durable member of a stored room as the store has it. Sends no event to clients. */
relay_status_t relay_room_restore_member(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t read,
                                         int64_t received);
/* Adds a stored message whose push decision is still open (its seq is above the cursor). Add these messages
 * in their order, before a new message is published. Returns RELAY_NOT_THERE for a message out of order. */
relay_status_t relay_room_restore_message(relay_hub_t *hub, relay_id_t room, int64_t seq, int64_t time,
                                          relay_id_t from);
/* Starts the waits for the decisions about the messages of relay_room_restore_message(). */
void relay_room_resume(relay_hub_t *hub, relay_id_t room);
/* The role of a member. The hub shows it, and the policy decides by it. */
typedef enum relay_role { RELAY_ROLE_MEMBER, RELAY_ROLE_MODERATOR, RELAY_ROLE_OWNER } relay_role_t;

/* Adds a new member, and sends `member` with this cause (`joined` or `added`) and `presence` to the sessions
 * in the room. `by` is the name of the user who has added the member; NULL: none. Returns RELAY_TOO_MANY if a
 * room that is not stored would have more than `max_members`. */
relay_status_t relay_room_add_member(relay_hub_t *hub, relay_id_t room, relay_id_t user, relay_role_t role,
                                     const char *cause, const char *by);
/* Ends a membership. Sends `member` with this cause (`left`, `removed` or `banned`) to the sessions in the
 * room. The user's sessions leave the room. `by` is the name of the user who caused it; NULL: none. */
relay_status_t relay_room_remove_member(relay_hub_t *hub, relay_id_t room, relay_id_t user, const char *cause,
                                        const char *by);
/* Changes the role of a member. With `is_announced`, sends the event `role` to the sessions in the room. */
relay_status_t relay_room_set_role(relay_hub_t *hub, relay_id_t room, relay_id_t user, relay_role_t role,
                                   bool is_announced, const char *by);
/* Returns RELAY_ROLE_MEMBER also for a user who is no member. */
relay_role_t relay_room_role(const relay_hub_t *hub, relay_id_t room, relay_id_t user);
bool relay_room_has_member(const relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* Refuses `send` and `signal` of a member with `restricted`, until the wall clock reaches `until`; 0: ends
 * the restriction. With `is_announced`, sends `member` with the event `restricted` or `unrestricted` to the
 * sessions in the room. `by` is the name of the user who caused it; NULL: none. */
relay_status_t relay_room_restrict(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t until,
                                   bool is_announced, const char *by);
/* Sets the marks of a new member to an earlier message than the newest. No push of these messages follows. */
relay_status_t relay_room_set_marks(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t seq);
/* Returns the end of the restriction of a member; 0: there is none, or it is over. */
int64_t relay_room_restricted_until(const relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* The member takes part in a call from now on, or no more. `call` is the seq of the message that rings. The
 * hub knows the 16 newest calls of each member. The newest one decides about the member's signals. */
relay_status_t relay_room_set_call(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t call,
                                   bool takes_part);
/* In a room that is read-only, the hub refuses `send` and `signal` with `restricted`, except those of members
 * with a higher role than RELAY_ROLE_MEMBER and of sessions with RELAY_RIGHT_MODERATE. It accepts a `signal`
 * of a member who takes part in a call, and sends it only to the members who take part in the same call. */
void relay_room_set_read_only(relay_hub_t *hub, relay_id_t room, bool is_read_only);
bool relay_room_is_read_only(const relay_hub_t *hub, relay_id_t room);

/* The rights of a session in a room. */
enum {
  RELAY_RIGHT_SEND = 1,
  RELAY_RIGHT_PRESENCE = 2, /* the session sees the members, their presence and their receipts */
  RELAY_RIGHT_MODERATE = 4, /* the session sends like a moderator, see relay_room_set_read_only() */
  RELAY_RIGHT_HISTORY = 8,  /* the session reads all messages, see relay_room_may_read() */
};

/* The session joins the room: it gets the room's events from now on. Its user must be a member. The reply to
 * `join` must contain the messages from `given_from` to the newest; if it has none, `given_from` is the
 * newest seq + 1. A second call updates the rights and `given_from`. */
relay_status_t relay_room_join(relay_hub_t *hub, relay_id_t room, relay_id_t session, unsigned rights,
                               int64_t given_from);
/* Changes the rights of a session that has joined. */
relay_status_t relay_room_set_rights(relay_hub_t *hub, relay_id_t room, relay_id_t session, unsigned rights);
/* Writes at most `max` ids of the sessions that have joined the room. Returns the number of these
 * sessions. */
size_t relay_room_sessions(const relay_hub_t *hub, relay_id_t room, relay_id_t *sessions, size_t max);
/* True if the session may read the message: it has RELAY_RIGHT_HISTORY, or the message was sent to it since
 * it joined the room. */
bool relay_room_may_read(const relay_hub_t *hub, relay_id_t room, relay_id_t session, int64_t seq);
/* The session leaves the room. Its user stays a member of a stored room. In another room the membership ends
 * with the last session. */
relay_status_t relay_room_leave(relay_hub_t *hub, relay_id_t room, relay_id_t session);
bool relay_room_is_joined(const relay_hub_t *hub, relay_id_t room, relay_id_t session);
/* Returns RELAY_TOO_MANY if the session would have joined more than `rooms_per_session`. */
relay_status_t relay_session_may_join(const relay_hub_t *hub, relay_id_t session, relay_id_t room);

typedef struct relay_room_facts {
  size_t members, online; /* as frames show them: `online` counts the members whom the user may see online */
  bool is_large;
  int64_t read, received; /* the user's marks; -1: the user is no member */
} relay_room_facts_t;
/* True if the room sends `counts` in place of events about its members. */
bool relay_room_is_large(const relay_hub_t *hub, relay_id_t room);
size_t relay_room_member_count(const relay_hub_t *hub, relay_id_t room);
/* Returns true if the member's marks are not stored. The caller stores them at once, and no RELAY_EVENT_MARK
 * follows. */
bool relay_room_take_marks(relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* Writes a member's marks. Returns false if the user is no member. */
bool relay_room_marks(const relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t *read,
                      int64_t *received);
/* Returns the marks of the other members that `viewer` may see, as a JSON array of {user, read, received}.
 * The caller frees it. Returns NULL if the room sends no receipts, is large, or has more than `limit`
 * members. */
char *relay_room_receipts(const relay_hub_t *hub, relay_id_t room, relay_id_t viewer, size_t limit,
                          size_t *size);
relay_room_facts_t relay_room_facts(const relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* Returns the presence entries of all members as `viewer` (0: sees all) may see them, as a JSON array. The
 * caller frees it. */
char *relay_room_entries(const relay_hub_t *hub, relay_id_t room, relay_id_t viewer, size_t *size);
/* Returns one page of these entries: at most `limit` members after the name `after` (NULL: from the first),
 * in the order of the bytes of their names. `has_more` is true if more members follow. The caller frees the
 * result. */
char *relay_room_entries_after(const relay_hub_t *hub, relay_id_t room, relay_id_t viewer, const char *after,
                               size_t limit, size_t *size, bool *has_more);
/* Returns the messages after the seq `after`, as JSON objects with commas between them, and writes their
 * number to `count`. Returns NULL if the hub does not have all of them in memory. The caller frees the
 * result. */
char *relay_room_tail(const relay_hub_t *hub, relay_id_t room, int64_t after, size_t *size, size_t *count);
/* Removes the messages before `first` from the messages of relay_room_tail(). */
void relay_room_trim(relay_hub_t *hub, relay_id_t room, int64_t first);

typedef struct relay_message {
  const char *from;          /* the name of the user */
  relay_id_t sender;         /* the session that sent it, which gets no frame; 0: none */
  relay_bytes_t body;        /* JSON */
  relay_bytes_t more;        /* empty, or further JSON members of the event that begin with a comma */
  relay_bytes_t quote;       /* the same, only for sessions that may read the message `quoted` */
  int64_t quoted;            /* 0 without a quote */
  int64_t seq, time;         /* from the store; in a room that is not stored the hub sets both */
  bool is_silent;            /* it is pushed to nobody */
  bool keeps_marks;          /* it does not raise the marks of its user */
  bool is_due_now;           /* RELAY_EVENT_DUE at once for each member that is not in `decided` */
  const relay_id_t *decided; /* members whose push was decided with the message */
  size_t decided_count;
  const relay_id_t *named; /* the only users to push to in a room that relay_room_is_crowded() */
  size_t named_count;
} relay_message_t;

/* Sends a message to each session in the room but `sender`. Plans a decision for each member that it may have
 * to be pushed to. Returns the seq; 0: the room is gone. */
int64_t relay_room_publish(relay_hub_t *hub, relay_id_t room, relay_message_t *message);
/* Sends an event to each session in the room but `sender`. `seq` is the message of which the event has a
 * text: only sessions that may read this message get the event. 0: all sessions get it. */
relay_status_t relay_room_send_event(relay_hub_t *hub, relay_id_t room, relay_id_t sender, int64_t seq,
                                     relay_bytes_t json);
/* Sends a signal to each session in the room but `sender`. `name` is a JSON string with its quotes, and
 * `body` is JSON; at: NULL if there is none. */
relay_status_t relay_room_signal(relay_hub_t *hub, relay_id_t room, const char *from, relay_id_t sender,
                                 relay_bytes_t name, relay_bytes_t body);
/* Raises the user's read mark, and queues a receipt if the mark was lower. */
relay_status_t relay_room_read(relay_hub_t *hub, relay_id_t room, relay_id_t user, int64_t seq);

/* Writes at most `max` ids of the members with relay_user_set_has_inbox(). Returns the number of these
 * members. The time is proportional to the number of all members. */
size_t relay_room_inbox(const relay_hub_t *hub, relay_id_t room, relay_id_t *users, size_t max);
/* Writes at most `max` members to `users`, in no order. Returns the number of all members. */
size_t relay_room_members(const relay_hub_t *hub, relay_id_t room, relay_id_t *users, size_t max);

/* The away queue: messages for which the delivery decision returns `wait` (Delivery.md). */

/* Writes at most `max` ids of the members whose pushes are decided with the message. Returns the number
 * of these members; 0 in a room that does not push.
 *
 * They have a device, no session in the room that is not in the background, no session with the events of the
 * list of rooms, no grace, and no earlier message that waits for a decision. In a room that
 * relay_room_is_crowded(), only members in `named` are considered. With `rings` they are all members with a
 * device. With `is_reported`, members without a device and members who have blocked the sender are included.
 * `needs_wait` is true if the decision about another member has to wait. */
size_t relay_room_away(const relay_hub_t *hub, relay_id_t room, const char *sender, bool rings,
                       bool is_reported, const relay_id_t *named, size_t named_count, relay_id_t *users,
                       size_t max, bool *needs_wait);

/* The numbers of members except the sender, as the sender may see them: members with a session in the room
 * that is not in the background, members in the grace, and all others. */
typedef struct relay_delivery {
  size_t live, waiting, away;
} relay_delivery_t;
/* Counts the members that a message to the room would reach now. Also writes at most `max` ids to
 * `silenced`: the members with a Focus that is on, or with a filter, if the sender may see their focus.
 * Returns the number of these members; 0 in a large room. */
size_t relay_room_delivery(const relay_hub_t *hub, relay_id_t room, relay_id_t sender,
                           relay_delivery_t *delivery, relay_id_t *silenced, size_t max);
/* Writes at most `max` ids of the members who do not let the sender see whether they are online, and returns
 * the number of such members. */
size_t relay_room_hidden(const relay_hub_t *hub, relay_id_t room, relay_id_t sender, relay_id_t *users,
                         size_t max);
/* True if messages to the room are pushed to all members: it has RELAY_ROOM_PUSHES, and at most
 * `pushed_members` members. */
bool relay_room_pushes(const relay_hub_t *hub, relay_id_t room);
/* True if the room has RELAY_ROOM_PUSHES, and more than `pushed_members` members. */
bool relay_room_is_crowded(const relay_hub_t *hub, relay_id_t room);

/* A message whose push to a member is not decided yet. */
typedef struct relay_undecided {
  int64_t seq, time; /* of the message */
  int64_t shown;     /* the time at which it was sent to the sessions in the room */
  relay_id_t from;   /* the user; 0 or stale: the user was not, or is no longer, in memory */
  bool is_own;       /* the member is the sender */
} relay_undecided_t;

/* A session of the member in the room. */
typedef struct relay_presence_facts {
  relay_activity_t activity;
  int64_t joined;     /* the time of the newest `join` */
  int64_t given_from; /* the first message that was sent to it, in the reply to `join` or live */
  int64_t received;   /* the newest message that it has received; without `acks`, according to its pongs */
  bool acks;          /* it sends `received` */
  int64_t drained;    /* the last time at which a blocked outbox became empty, else the session's start */
  int64_t blocked;    /* the time since which its outbox is blocked; 0: it is not */
} relay_presence_facts_t;

typedef struct relay_member_facts {
  int64_t read, received;
  int64_t away_since; /* the end of the last session that was not in the background, or the hub's start */
  bool is_clean;      /* that session was closed by the client or put into the background, and not lost; after
                         the hub's start: the user is not awaited with another activity than background */
  size_t sessions;    /* at most 32 */
  relay_presence_facts_t session[32];
} relay_member_facts_t;

/* Returns false if the user is no member of the room. */
bool relay_member_get(const relay_hub_t *hub, relay_id_t room, relay_id_t user, relay_member_facts_t *facts);
/* Sends a ping to each session of the member in the room that does not acknowledge and is not in the
 * background. */
void relay_member_ping(relay_hub_t *hub, relay_id_t room, relay_id_t user);
/* After RELAY_EVENT_DUE: writes at most `max` messages that are due to be decided for the member, oldest
 * first. Returns the number of messages written. The member is not due again until relay_member_decide(). */
size_t relay_member_undecided(relay_hub_t *hub, relay_id_t room, relay_id_t user, relay_undecided_t *messages,
                              size_t max);

/* The decision about one message. */
typedef struct relay_decided {
  int64_t seq;
  int64_t delay; /* ms until it is due again, or earlier if a fact changes; below 0: it is decided */
} relay_decided_t;

/* Stores the decisions about the messages of relay_member_undecided(), sorted by seq. A message that is
 * missing is due again at once. */
void relay_member_decide(relay_hub_t *hub, relay_id_t room, relay_id_t user, const relay_decided_t *decided,
                         size_t count);

/* HTTP */

/* Counts the request for its user, and no longer for its address. `user` is NULL for an API key, whose
 * requests count only against `unsent`. Returns 0, or a status that the caller must answer with: 429 if the
 * user has too many requests in progress or they hold too many bytes, 503 if all requests together hold too
 * many. */
int relay_http_identify(relay_hub_t *hub, relay_id_t exchange, const char *user);
/* Sends the answer. `headers` are whole lines ("Name: value\r\n"). The hub adds Content-Length. For a page of
 * a listed origin it also adds the headers that allow the page to read the answer (Fetch, "HTTP CORS
 * protocol"). If an answer of more than 4 KiB to a GET exceeds `unsent_per_user`, the hub sends 429; if it
 * exceeds `unsent`, 503. Returns the status that was sent. */
int relay_http_respond(relay_hub_t *hub, relay_id_t exchange, int status, const char *headers,
                       relay_bytes_t body);
/* Returns the reason phrase of a status (RFC 9110, section 15), a constant string. [any thread] */
const char *relay_http_reason(int status);
/* Begins an answer without an end (server-sent events), with status 200; relay_http_stream_write() adds to
 * it. The hub sends 400 instead if the client has sent bytes behind the request. It notices at once when the
 * client closes the connection. It sends a comment every 15 s, so that it also notices a lost connection. */
void relay_http_stream(relay_hub_t *hub, relay_id_t exchange, const char *headers);
/* Sends bytes of a stream. Returns false if the client is gone. If more than 256 KiB would wait for
 * the client, or more than `unsent_per_user` or `unsent` permits, the hub cuts the connection and
 * returns false. */
bool relay_http_stream_write(relay_hub_t *hub, relay_id_t exchange, relay_bytes_t bytes);
/* Returns the bytes of a stream that wait for the client. */
size_t relay_http_stream_unsent(const relay_hub_t *hub, relay_id_t exchange);
/* Closes the stream when its bytes are sent. It accepts no more bytes. */
void relay_http_stream_finish(relay_hub_t *hub, relay_id_t exchange);
/* Closes the stream at once. Bytes that wait for the client are lost. */
void relay_http_stream_end(relay_hub_t *hub, relay_id_t exchange);

#endif
