// SPDX-License-Identifier: Apache-2.0
/* room.h -- rooms, their members, and the seats of sessions. */
#ifndef RELAY_ROOM_H
#define RELAY_ROOM_H

#include "frames.h"
#include "rates.h"

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
  uint32_t tail_count, tail_bytes; /* the newest entries, which have a frame */
  relay__bucket_t bucket;          /* of sends */
  uint64_t mark; /* equal to `hub->presence.marks` if mark_rooms() in watch.c has marked it last */
  relay__bucket_t membership_bucket;    /* of joins and leaves */
  int64_t counts_sent_at;               /* on the loop's clock: the last `counts` event */
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

/* seat.c */

/* Moves a member to the part of `members` with, or without, a session that is not in the background. */
void relay__member_attend(relay_member_t *member, bool attends);
void relay__member_activity_changed(relay_hub_t *hub, relay_member_t *member, int before, int after);
/* Ends a session's part in a room. `is_clean` is true if the client has left or closed, and false if the
 * connection was lost. */
void relay__seat_remove(relay_hub_t *hub, relay_seat_t *seat, bool is_clean);
/* True if the session may read the message, see relay_room_may_read(). */
bool relay__seat_may_read(const relay_seat_t *seat, int64_t seq);

/* member.c */

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
/* Removes a member without seats from its room and its user, and frees it. */
void relay__member_drop(relay_hub_t *hub, relay_member_t *member);
/* Ends the membership of a room without a store, unless a session of the member joins. */
void relay__member_leave_after(relay_hub_t *hub, relay_member_t *member, int64_t delay);
void relay__member_timer(relay_hub_t *hub, relay_member_t *member);

/* calls.c */

/* Returns the newest call in which the member takes part; 0: none. */
int64_t relay__member_call(const relay_member_t *member);

/* message.c */

/* Publishes a message as relay_room_publish() does. `sender` replaces `message->sender`; NULL: none. */
int64_t relay__room_publish(relay_hub_t *hub, relay_room_t *room, relay_message_t *message,
                            relay_session_t *sender);
/* Sends a signal as relay_room_signal() does. With a `call`, only to the members who take part in it; 0: to
 * all. */
void relay__room_signal(relay_hub_t *hub, relay_room_t *room, const char *from, relay_session_t *sender,
                        int64_t call, relay_bytes_t name, relay_bytes_t body);

/* recipients.c */

/* True if the room has too many members for pushes to all of them. Only named members are pushed to. */
static inline bool relay__room_is_crowded(const relay_hub_t *hub, const relay_room_t *room) {
  return hub->limits.pushed_members && room->member_count > hub->limits.pushed_members;
}
/* The grace begins when the connection of the member's last session that was not in the background
 * is lost. */
static inline bool relay__member_is_in_grace(const relay_hub_t *hub, const relay_member_t *member) {
  return !member->attending && !member->is_clean &&
         hub->clock.loop < member->away_since_loop + hub->limits.presence_grace;
}
/* Returns the member of a room with the id of a user. NULL: the user is no member. */
relay_member_t *relay__member_of(const relay_hub_t *hub, const relay_room_t *room, relay_id_t user_id);
/* Returns the number of members that a message may push to: they have a device, and no session in the room
 * that is not in the background. */
uint32_t relay__room_recipients(const relay_hub_t *hub, const relay_room_t *room);

/* away.c */

/* Plans the decisions about a new message. With `is_due_now`, each member that was not decided with the
 * message is due at once. A crowded room plans only decisions for members in `named`. */
void relay__away_published(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry,
                           const relay_message_t *message);
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

#endif
