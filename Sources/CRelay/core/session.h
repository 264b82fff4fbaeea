// SPDX-License-Identifier: Apache-2.0
/* session.h -- sessions, and the requests of their clients. */
#ifndef RELAY_SESSION_H
#define RELAY_SESSION_H

#include "../link.h"
#include "frames.h"
#include "rates.h"

/* The bounds of a session. */
enum {
  RELAY__REPLIES = 262144,
  RELAY__HELD = 262144,
  RELAY__OPEN_REQUESTS = 64,
  /* Anybody can send `hello`, so its bytes and its JSON values have lower limits. */
  RELAY__HELLO_SIZE = 16384,
  RELAY__HELLO_VALUES = 256,
};

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

/* Sends `bye` and a close frame, and cuts the connection after 5 s at most. `retry_after` is in seconds;
 * below 0: `bye` has no `retryAfter`. */
void relay__session_close(relay_hub_t *hub, relay_session_t *session, uint16_t code, const char *reason,
                          double retry_after);
void relay__session_cut(relay_session_t *session);
/* Changes the activity. `requester` is a session that already knows the change, or 0. */
void relay__session_set_activity(relay_hub_t *hub, relay_session_t *session, int after, relay_id_t requester);
/* Returns the time on the wall clock at which a session with a token ends. */
static inline int64_t relay__session_end(const relay_session_t *session) {
  return ((int64_t)session->expires + session->expires_moved) * 1000;
}
static inline bool relay__session_is_live(const relay_session_t *session) {
  return session->state == RELAY__OPEN && !session->is_over;
}

/* heartbeat.c */

void relay__session_ping(relay_hub_t *hub, relay_session_t *session);
void relay__session_ponged(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size);
/* Returns the time of the next ping of a session that stays silent: a heartbeat after its last bytes, or up
 * to a 64th of it earlier. So an iteration of the loop sends many pings, and another one reads their pongs.
 */
int64_t relay__session_ping_due(const relay_hub_t *hub, const relay_session_t *session);
/* Sets the timer to `due`, or to the time at which the token expires if that is earlier. */
void relay__session_set_timer(relay_hub_t *hub, relay_session_t *session, int64_t due);
/* Enforces the timeouts of a session: `hello`, heartbeat, pong, token and close. dispatch() in hub.c calls it
 * when the timer is due. Received bytes do not set the timer again, so this function often finds that nothing
 * is due yet. It sets the timer for the next check. */
void relay__session_timer(relay_hub_t *hub, relay_session_t *session);
/* Makes place for one more session of the user: at the bound, it closes a session that counts as dead.
 * Returns false if there is none. */
bool relay__user_make_place(relay_hub_t *hub, const relay_user_t *user);

/* input.c */

/* Handles a part of a message from the edge: checks its type and size, and gathers fragments until the
 * message is complete. `hello` has a lower limit than `frame`, because anybody can send it. */
void relay__session_received(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size,
                             bool is_first, bool is_final, bool is_binary);
/* Frees the frames that wait, and the fragments of an incomplete message. */
void relay__session_drop_input(relay_session_t *session);
/* Handles the frames that wait, until one must wait for an open request. */
void relay__session_resume(relay_hub_t *hub, relay_session_t *session);
/* Handles the frames that wait before the end of this iteration. */
void relay__session_resume_soon(relay_hub_t *hub, relay_session_t *session);
/* Pauses reading if the session has too many unfinished requests or unwritten replies. Resumes reading when
 * they are at most half of the bound. */
void relay__session_regulate(relay_hub_t *hub, relay_session_t *session);
/* Reads on from a session whose last read was full. The session may be gone afterwards. */
void relay__session_read(relay_hub_t *hub, relay_session_t *session);

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

/* request.c: handles one frame of a client */

/* Returns false, without an effect, if the frame must wait until `hello` is answered or the open requests are
 * finished. */
bool relay__request(relay_hub_t *hub, relay_session_t *session, const char *frame, size_t size);

/* reply.c */

/* Counts an error, and returns the text of its frame, which is valid until the next text. `until` is the end
 * of a restriction; 0: none. The other parameters are as for relay__refuse(). */
const relay__text_t *relay__error_text(relay_hub_t *hub, const relay_bytes_t *id, const char *code,
                                       const char *message, double retry_after, int64_t until);
/* Sends an error frame. `id` is the id of the request, or NULL. `retry_after` is in seconds; below 0: the
 * error is not temporary. */
void relay__refuse(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                   const char *message, double retry_after);

#endif
