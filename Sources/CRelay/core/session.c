// SPDX-License-Identifier: Apache-2.0
/* A session, from the handshake to the last byte: heartbeat, received frames, backpressure and close.
 *
 * The edge calls the functions in `relay__session_calls`. request.c handles the frames, and flush.c writes
 * the outbox. */
#include "core.h"

#include <stdlib.h>

enum { /* milliseconds */
       CLOSE_DEADLINE = 5000,
       PROBE = 5000, /* without an answer to a ping, after which a new session may replace a session */
};

static relay_session_t *opened(relay_hub_t *hub, const relay__arrival_t *arrival) {
  relay_session_t *session = relay__allocate(sizeof *session);
  session->link = arrival->link;
  session->authorization = arrival->authorization;
  session->client = arrival->client;
  memcpy(session->address, arrival->address, sizeof session->address);
  session->id = relay__slots_add(&hub->sessions, session);
  session->received_at = hub->clock.loop;
  session->drained = hub->clock.now;
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION, hub->clock.loop + hub->limits.hello_timeout);
  char name[16];
  relay__log(hub, RELAY_LOG_DEBUG, "session %s begins, from %s", relay__session_name(session->id, name),
             arrival->peer);
  return session;
}

/* Removes the oldest waiting frame from the list and returns it. The caller frees it. */
static relay__pending_t *take_pending(relay_session_t *session) {
  relay__pending_t *first = session->pending->next;
  if (first == session->pending)
    session->pending = NULL;
  else
    session->pending->next = first->next;
  session->pending_count--;
  session->held_bytes -= first->size;
  return first;
}

static void log_end(const relay_hub_t *hub, const relay_session_t *session, const char *how, uint16_t code,
                    const char *reason) {
  char name[16];
  relay__log(hub, RELAY_LOG_DEBUG, "session %s ends, %s with %u%s%s", relay__session_name(session->id, name),
             how, code, *reason ? ": " : "", reason);
}

/* Releases all that the session holds: seats, watches, its user and its frames that wait. The session itself
 * stays until its connection is gone. Only the first call has an effect. */
static void end(relay_hub_t *hub, relay_session_t *session, bool is_clean) {
  if (session->is_over) return;
  session->is_over = true;
  while (session->seats.count)
    relay__seat_remove(hub, relay__list_at(&session->seats, session->seats.count - 1), is_clean);
  relay__list_free(&session->seats);
  relay__watch_end_all(hub, session);
  free(session->excess);
  session->excess = NULL;
  if (session->user) {
    relay_user_t *user = session->user;
    relay__user_session_removed(hub, user, session, is_clean);
    session->user = NULL;
  }
  while (session->pending) free(take_pending(session));
  free(session->gathered);
  session->gathered = NULL;
  free(session->device); /* or the authorization, which shares a union with it */
  session->device = NULL;
}

void relay__session_cut(relay_session_t *session) {
  if (session->link) relay__link_cut(session->link);
}

void relay__session_close(relay_hub_t *hub, relay_session_t *session, uint16_t code, const char *reason,
                          double retry_after) {
  if (session->state == RELAY__CLOSING) return;
  session->state = RELAY__CLOSING;
  relay__count_close(hub, code);
  log_end(hub, session, "closed by the relay", code, reason);
  end(hub, session, false);
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"bye\",\"code\":");
  relay__put_integer(text, code);
  relay__puts(text, ",\"reason\":");
  relay__put_quoted(text, reason, strlen(reason));
  if (code < RELAY_CLOSE_FOR_GOOD) {
    relay__puts(text, ",\"reconnect\":true,\"jitter\":");
    relay__put_decimal(text, relay__drain_jitter(hub));
  } else {
    relay__puts(text, ",\"reconnect\":false");
  }
  if (retry_after >= 0) {
    relay__puts(text, ",\"retryAfter\":");
    relay__put_decimal(text, retry_after);
  }
  relay__puts(text, "}");
  relay__send_text(hub, session, text, true);
  char payload[125] = {(char)(code >> 8), (char)code};
  size_t size = strlen(reason);
  if (size > sizeof payload - 2) size = sizeof payload - 2;
  memcpy(payload + 2, reason, size);
  relay_frame_t *frame = relay__frame_create(hub, RELAY__CLOSE, payload, size + 2);
  relay__outbox_add(hub, session, frame, true);
  relay__frame_release(hub, frame);
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION, hub->clock.loop + CLOSE_DEADLINE);
  relay__session_regulate(hub, session);
}

static bool peer_closed(relay_hub_t *hub, relay_session_t *session, const uint8_t *at, size_t size) {
  if (session->state == RELAY__CLOSING) return false;
  const bool is_clean = size >= 2 && at[0] == (1000 >> 8) && at[1] == (1000 & 0xff);
  session->state = RELAY__CLOSING;
  const uint16_t code = size >= 2 ? (uint16_t)(at[0] << 8 | at[1]) : 0;
  relay__count_close(hub, code < RELAY_CLOSE_SHUTDOWN ? code : 0);
  log_end(hub, session, "closed by the client", code, "");
  end(hub, session, is_clean);
  relay__outbox_drop(hub, &session->outbox, false);
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION, hub->clock.loop + CLOSE_DEADLINE);
  return true;
}

static void disconnected(relay_hub_t *hub, relay_session_t *session) {
  if (session->notifies_end) relay__event(hub, RELAY_EVENT_SESSION_ENDED, NULL)->session = session->id;
  if (session->state != RELAY__CLOSING) {
    relay__count_close(hub, 1006);
    log_end(hub, session, "lost", 1006, "");
  }
  end(hub, session, false);
  session->link = NULL;
  relay__timer_clear(hub, &session->timer);
  relay__outbox_drop(hub, &session->outbox, false);
  relay__slots_remove(&hub->sessions, session->id);
  relay__drain_ended(hub, &hub->sessions);
  relay__client_release(hub, session->client);
  free(session);
}

void relay__session_ping(relay_hub_t *hub, relay_session_t *session) {
  session->needs_ping = false;
  session->ping_is_out = true;
  session->ping_at = hub->clock.loop;
  session->ping_count++;
  for (uint32_t i = 0; i < session->seats.count; i++) {
    relay_seat_t *seat = relay__list_at(&session->seats, i);
    seat->pinged = seat->member->room->seq;
  }
  relay_frame_t *frame =
      relay__frame_create(hub, RELAY__PING, &session->ping_count, sizeof session->ping_count);
  relay__outbox_add(hub, session, frame, true);
  relay__frame_release(hub, frame);
  relay__timer_set_earlier(hub, &session->timer, RELAY__TIMER_SESSION,
                           hub->clock.loop + hub->limits.pong_timeout);
}

static void ponged(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size) {
  if (session->state == RELAY__CLOSING) return;
  session->received_at = hub->clock.loop;
  /* A late pong counts as well: it has the number of the newest ping, so all frames before that ping have
   * arrived. */
  if (size != sizeof session->ping_count || memcmp(at, &session->ping_count, size)) return;
  session->ping_is_out = false;
  relay__frozen_ponged(hub, session);
  if (!session->acks)
    for (uint32_t i = 0; i < session->seats.count; i++) {
      relay_seat_t *seat = relay__list_at(&session->seats, i);
      relay__away_received(hub, seat, seat->pinged);
    }
  if (session->confirms) {
    relay_event_t *event = relay__event(hub, RELAY_EVENT_CONFIRMED, NULL);
    event->session = session->id;
    event->seq = session->ping_count;
    session->confirms = session->needs_ping;
  }
  if (session->needs_ping) relay__session_ping(hub, session);
}

/* Sets the timer to `due`, or to the time at which the token expires if that is earlier. */
static void set_timer(relay_hub_t *hub, relay_session_t *session, int64_t due) {
  if (session->expires) {
    const int64_t end = hub->clock.loop + relay__session_end(session) - hub->clock.now;
    if (end < due) due = end;
  }
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION,
                   due > hub->clock.loop ? due : hub->clock.loop + 1);
}

/* Enforces the timeouts of a session: `hello`, heartbeat, pong, token and close. dispatch() in hub.c calls it
 * when the timer is due. Received bytes do not set the timer again, so this function often finds that nothing
 * is due yet. It sets the timer for the next check. */
void relay__session_timer(relay_hub_t *hub, relay_session_t *session) {
  switch ((relay__state_t)session->state) {
  case RELAY__NEW:
    relay__session_close(hub, session, RELAY_CLOSE_NO_HELLO, "no hello in time", -1);
    return;
  case RELAY__HELLO: /* the client waits for our answer, so it need not send anything */
    session->received_at = hub->clock.loop;
    break;
  case RELAY__CLOSING:
    relay__session_cut(session);
    return;
  case RELAY__OPEN:
    if (session->expires && hub->clock.now >= relay__session_end(session)) {
      relay__session_close(hub, session, RELAY_CLOSE_TOKEN_EXPIRED, "the token has expired", -1);
      return;
    }
    if (session->is_paused) { /* its frames are not read, so only a write proves that the client is alive */
      session->ping_is_out = false;
      if (!session->is_blocked) session->received_at = hub->clock.loop;
      const int64_t due = session->received_at + hub->limits.heartbeat, last = due + hub->limits.pong_timeout;
      if (hub->clock.loop >= last)
        relay__session_close(hub, session, RELAY_CLOSE_NO_PONG, "replies were not read in time", -1);
      else
        set_timer(hub, session, hub->clock.loop < due ? due : last);
      return;
    }
    if (session->ping_is_out && hub->clock.loop >= session->ping_at + hub->limits.pong_timeout) {
      if (session->received_at < session->ping_at) {
        relay__session_close(hub, session, RELAY_CLOSE_NO_PONG, "no pong in time", -1);
        return;
      }
      session->ping_is_out = false; /* the client is alive, but does not answer pings */
    }
    /* A client that has sent something after the ping and is silent again gets another ping, even if its pong
     * is missing. */
    if (hub->clock.loop >= session->received_at + hub->limits.heartbeat &&
        (!session->ping_is_out || session->received_at >= session->ping_at))
      relay__session_ping(hub, session);
    break;
  }
  int64_t due = session->received_at + hub->limits.heartbeat;
  if (session->ping_is_out) {
    const int64_t last = session->ping_at + hub->limits.pong_timeout;
    /* Received bytes do not set the timer. If the heartbeat is shorter than the pong timeout, check again
     * before the pong timeout. */
    if (due <= hub->clock.loop) due = session->ping_at + hub->limits.heartbeat;
    if (due <= hub->clock.loop || due > last) due = last;
  }
  const int64_t check = session->state == RELAY__OPEN ? relay__frozen_check(hub, session) : INT64_MAX;
  set_timer(hub, session, check < due ? check : due);
}

void relay__session_regulate(relay_hub_t *hub, relay_session_t *session) {
  (void)hub;
  if (!session->link) return;
  const bool is_closing = session->state == RELAY__CLOSING;
  const bool is_full = session->open_requests + session->pending_count >= RELAY__OPEN_REQUESTS ||
                       session->held_bytes + session->open_bytes > RELAY__HELD ||
                       session->outbox.reply_bytes > RELAY__REPLIES;
  const bool has_room = session->open_requests + session->pending_count <= RELAY__OPEN_REQUESTS / 2 &&
                        session->held_bytes + session->open_bytes <= RELAY__HELD / 2 &&
                        session->outbox.reply_bytes <= RELAY__REPLIES / 2;
  if (!session->is_paused && is_full && !is_closing) {
    session->is_paused = true;
    relay__link_pause(session->link);
  } else if (session->is_paused && (has_room || is_closing)) {
    session->is_paused = false;
    relay__link_resume(session->link);
  }
}

void relay__session_resume_soon(relay_hub_t *hub, relay_session_t *session) {
  if (session->resumes || session->state == RELAY__CLOSING) return;
  session->resumes = true;
  relay__ids_add(&hub->work.resuming, session->id);
}

static void read_soon(relay_hub_t *hub, relay_session_t *session) {
  if (session->is_unread) return;
  session->is_unread = true;
  relay__ids_add(&hub->work.unread, session->id);
}

void relay__session_read(relay_hub_t *hub, relay_session_t *session) {
  const bool has_link = session->link && !session->is_paused && session->state != RELAY__CLOSING;
  const bool was_full =
      session->read_bytes >= RELAY__READ || (has_link && relay__link_is_within_frame(session->link));
  session->is_unread = false;
  session->read_bytes = 0;
  session->iteration = hub->loop.iteration;
  if (!has_link || !was_full) return;
  hub->loop.has_more = true;
  relay__link_read(session->link);
}

static void writable(relay_hub_t *hub, relay_session_t *session) {
  session->is_blocked = false;
  session->progress_at = hub->clock.loop;
  if (session->is_paused) session->received_at = hub->clock.loop;
  relay__session_flush(hub, session);
}

void relay__session_drained(relay_hub_t *hub, relay_session_t *session) {
  session->is_blocked = false;
  if (session->blocked) session->drained = hub->clock.now;
  session->blocked = 0;
  if (session->is_paused) relay__session_regulate(hub, session);
  if (session->pending && !session->open_requests) relay__session_resume_soon(hub, session);
}

static void append_pending(relay_session_t *session, const void *frame, size_t size) {
  relay__pending_t *pending = relay__resize(NULL, sizeof *pending + size);
  pending->size = (uint32_t)size;
  if (size) memcpy(pending->bytes, frame, size);
  pending->next = session->pending ? session->pending->next : pending;
  if (session->pending) session->pending->next = pending;
  session->pending = pending;
  session->pending_count++;
  session->held_bytes += pending->size;
}

void relay__session_resume(relay_hub_t *hub, relay_session_t *session) {
  session->resumes = false;
  while (session->pending && session->state != RELAY__CLOSING &&
         session->outbox.reply_bytes <= RELAY__REPLIES) {
    const relay__pending_t *first = session->pending->next;
    if (!relay__request(hub, session, first->bytes, first->size)) break;
    if (session->state == RELAY__CLOSING) break; /* the close has freed the waiting frames */
    free(take_pending(session));
  }
  relay__session_regulate(hub, session);
}

void relay__session_set_activity(relay_hub_t *hub, relay_session_t *session, int after, relay_id_t cause) {
  const int before = session->activity;
  if (before == after) return;
  session->activity = (uint8_t)after;
  for (uint32_t i = 0; i < session->seats.count; i++) {
    relay_seat_t *seat = relay__list_at(&session->seats, i);
    if (after == RELAY_ACTIVE) relay__away_attended(hub, seat);
    relay__member_activity_changed(hub, seat->member, before, after);
  }
  relay__user_changed(hub, session->user, cause);
}

static void received_whole(relay_hub_t *hub, relay_session_t *session, const char *at, size_t size) {
  relay__frozen_heard(hub, session);
  hub->stats.frames_received++;
  hub->stats.bytes_received += size;
  if (session->pending || !relay__request(hub, session, at, size)) append_pending(session, at, size);
  relay__session_regulate(hub, session);
}

/* Appends a fragment to the message that is being received. */
static void gather(relay_session_t *session, const void *at, size_t size) {
  relay__gathered_t *gathered = session->gathered;
  const uint32_t before = gathered ? gathered->size : 0;
  uint32_t capacity = gathered ? gathered->capacity : 0;
  if (!gathered || before + size > capacity) {
    if (!capacity) capacity = 2048;
    while (capacity < before + size) capacity *= 2;
    gathered = relay__resize(gathered, sizeof *gathered + capacity);
    gathered->capacity = capacity;
    session->gathered = gathered;
  }
  if (size) memcpy(gathered->bytes + before, at, size);
  gathered->size = before + (uint32_t)size;
}

/* Handles a part of a message from the edge: checks its type and size, and gathers fragments until the
 * message is complete. `hello` has a lower limit than `frame`, because anybody can send it. */
static void received(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size, bool is_first,
                     bool is_final, bool is_binary) {
  if (session->state == RELAY__CLOSING) return;
  session->received_at = hub->clock.loop;
  /* The library reads at most RELAY__READ bytes at a time, and here they count without a frame that is not
   * whole. So after half of them the read may have been full, which relay__session_read() then checks. */
  if (session->iteration != hub->loop.iteration) session->read_bytes = 0;
  session->iteration = hub->loop.iteration;
  session->read_bytes += (uint32_t)size + 8;
  if (session->read_bytes > RELAY__READ / 2) read_soon(hub, session);
  if (is_binary) {
    relay__refuse(hub, session, NULL, "bad_request", "binary frames are not understood", -1);
    relay__session_close(hub, session, RELAY_CLOSE_BAD_REQUEST, "bad request: binary frame", -1);
    return;
  }
  const size_t gathered = session->gathered ? session->gathered->size : 0;
  const bool is_hello = session->state == RELAY__NEW && hub->limits.frame > RELAY__HELLO_SIZE;
  if (gathered + size > (is_hello ? RELAY__HELLO_SIZE : hub->limits.frame)) {
    relay__refuse(hub, session, NULL, "too_large",
                  is_hello ? "hello is longer than 16384 bytes"
                           : "the message is longer than the limit `limits.frame`",
                  -1);
    relay__session_close(hub, session, RELAY_CLOSE_TOO_LARGE, "message over the limit", -1);
    return;
  }
  if (is_first && is_final) {
    received_whole(hub, session, at, size);
    return;
  }
  gather(session, at, size);
  if (!is_final) return;
  relay__gathered_t *whole = session->gathered;
  session->gathered = NULL;
  received_whole(hub, session, whole->bytes, whole->size);
  free(whole);
}

const relay__link_calls_t relay__session_calls = {
    .opened = opened,
    .received = received,
    .ponged = ponged,
    .writable = writable,
    .peer_closed = peer_closed,
    .disconnected = disconnected,
};

/* The functions of relay.h */

static relay_session_t *find_live(const relay_hub_t *hub, relay_id_t id) {
  relay_session_t *session = relay__session_find(hub, id);
  return session && session->state != RELAY__CLOSING ? session : NULL;
}

/* True if the session has sent nothing since its newest ping. The hub does not read the pong of a session
 * that is paused. */
static bool is_silent(const relay_session_t *session) {
  return session->ping_is_out && session->received_at < session->ping_at && !session->is_paused;
}

static bool is_at_limit(const relay_hub_t *hub, const relay_user_t *user) {
  const uint32_t max = hub->limits.sessions_per_user;
  return max && user->sessions.count >= max;
}

/* Returns the session that has been silent for longest; NULL if none counts as dead. A session counts as dead
 * if its ping has had no answer for PROBE. On a slow connection, other frames may be in front of the ping. So
 * the time begins again whenever the socket has accepted some of them. */
static relay_session_t *find_dead(const relay_hub_t *hub, const relay_user_t *user) {
  relay_session_t *found = NULL;
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    relay_session_t *session = relay__list_at(&user->sessions, i);
    const int64_t since = session->ping_at > session->progress_at ? session->ping_at : session->progress_at;
    if (!is_silent(session) || hub->clock.loop < since + PROBE) continue;
    if (!found || session->received_at < found->received_at) found = session;
  }
  return found;
}

bool relay_user_probe(relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user || !is_at_limit(hub, user)) return false;
  for (uint32_t i = 0; i < user->sessions.count; i++) {
    relay_session_t *session = relay__list_at(&user->sessions, i);
    if (!is_silent(session) && !session->is_paused) relay__session_ping(hub, session);
  }
  return true;
}

bool relay_user_awaits_pongs(const relay_hub_t *hub, relay_id_t id) {
  const relay_user_t *user = relay__user_find(hub, id);
  if (!user || !is_at_limit(hub, user) || find_dead(hub, user)) return false;
  for (uint32_t i = 0; i < user->sessions.count; i++)
    if (is_silent(relay__list_at(&user->sessions, i))) return true;
  return false;
}

relay_status_t relay_session_open(relay_hub_t *hub, relay_id_t id, relay_id_t user_id, const char *device,
                                  bool acks, relay_activity_t activity) {
  relay_session_t *session = find_live(hub, id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!session || session->state != RELAY__HELLO || !user) return RELAY_GONE;
  if (is_at_limit(hub, user)) {
    relay_session_t *dead = find_dead(hub, user);
    if (!dead) return RELAY_TOO_MANY;
    relay__session_close(hub, dead, RELAY_CLOSE_NO_PONG, "no pong, and a new session needs the place", -1);
  }
  session->state = RELAY__OPEN;
  session->acks = acks;
  session->activity = (uint8_t)activity;
  session->since = (uint32_t)(hub->clock.now / 1000);
  free(session->authorization);
  session->device = device ? relay__copy_string(device, strlen(device)) : NULL;
  user->last_seen = hub->clock.now;
  relay__user_session_added(hub, user, session);
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION, session->received_at + hub->limits.heartbeat);
  return RELAY_OK;
}

void relay_session_push(relay_hub_t *hub, relay_id_t id, relay_bytes_t json) {
  relay_session_t *session = find_live(hub, id);
  if (!session || !json.count) return;
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, json.at, json.count);
  relay__outbox_add(hub, session, frame, false);
  relay__frame_release(hub, frame);
}

void relay_sessions_push(relay_hub_t *hub, const relay_id_t *ids, size_t count, relay_bytes_t json) {
  if (!count || !json.count) return;
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, json.at, json.count);
  for (size_t i = 0; i < count; i++) {
    relay_session_t *session = find_live(hub, ids[i]);
    if (session) relay__outbox_add(hub, session, frame, false);
  }
  relay__frame_release(hub, frame);
}

static void add_reply(relay_hub_t *hub, relay_session_t *session, relay_bytes_t json, relay__page_t page,
                      relay_id_t room) {
  if (!session || !json.count) return;
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, json.at, json.count);
  frame->page = (uint8_t)page;
  frame->room = room;
  relay__outbox_add(hub, session, frame, true);
  relay__frame_release(hub, frame);
}

/* Ends an open request. */
static void finished(relay_hub_t *hub, relay_session_t *session) {
  if (!session || !session->open_requests) return;
  session->open_bytes -= session->open_bytes / session->open_requests; /* the average: sizes are not kept */
  session->open_requests--;
  if (!session->open_requests) session->open_are_sends = false;
  if (session->pending || session->is_paused) relay__session_resume_soon(hub, session);
}

void relay_session_finish(relay_hub_t *hub, relay_id_t id, relay_bytes_t json) {
  relay_session_t *session = find_live(hub, id);
  add_reply(hub, session, json, RELAY__NO_PAGE, 0);
  finished(hub, session);
}

void relay_session_finish_history(relay_hub_t *hub, relay_id_t id, relay_bytes_t json) {
  relay_session_t *session = find_live(hub, id);
  add_reply(hub, session, json, RELAY__HISTORY, 0);
  finished(hub, session);
}

/* The pong to the ping that was sent does not prove any more that the client has the messages before it. */
static void ping_again(relay_session_t *session) {
  session->ping_count++;
  session->ping_is_out = false;
  session->needs_ping = true;
}

void relay_session_finish_join(relay_hub_t *hub, relay_id_t id, relay_id_t room, relay_bytes_t json,
                               const relay_bytes_t *parts, size_t count) {
  relay_session_t *session = find_live(hub, id);
  if (session && relay__outbox_supersede(hub, session, room) && !session->acks) ping_again(session);
  for (size_t i = 0; i < count; i++) add_reply(hub, session, parts[i], RELAY__JOIN_PART, room);
  add_reply(hub, session, json, RELAY__JOIN, room);
  finished(hub, session);
}

void relay_session_set_expiry(relay_hub_t *hub, relay_id_t id, int64_t time) {
  relay_session_t *session = find_live(hub, id);
  if (!session || session->state != RELAY__OPEN) return;
  const int64_t seconds = (time + 999) / 1000;
  session->expires = !time ? 0 : seconds < 1 ? 1 : seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
  session->expires_moved = 0;
  if (session->timer.index) set_timer(hub, session, session->timer.due);
}

bool relay_session_notify_end(relay_hub_t *hub, relay_id_t id) {
  relay_session_t *session = find_live(hub, id);
  if (session) session->notifies_end = true;
  return session;
}

uint32_t relay_session_confirm(relay_hub_t *hub, relay_id_t id) {
  relay_session_t *session = find_live(hub, id);
  if (!session || session->state != RELAY__OPEN) return 0;
  session->needs_ping = session->confirms = true;
  relay__outbox_mark_dirty(hub, session); /* the outbox may be empty, and the ping must still be written */
  return session->ping_count + 1;
}

size_t relay_session_rooms(const relay_hub_t *hub, relay_id_t id, relay_id_t *rooms, size_t max) {
  const relay_session_t *session = find_live(hub, id);
  if (!session) return 0;
  for (uint32_t i = 0; i < session->seats.count && i < max; i++)
    rooms[i] = ((relay_seat_t *)relay__list_at(&session->seats, i))->member->room->id;
  return session->seats.count;
}

void relay_session_close(relay_hub_t *hub, relay_id_t id, uint16_t code, const char *reason,
                         double retry_after) {
  relay_session_t *session = relay__session_find(hub, id);
  if (session) relay__session_close(hub, session, code, reason, retry_after);
}

size_t relay_user_close_sessions(relay_hub_t *hub, relay_id_t id, uint16_t code, const char *reason) {
  const relay_user_t *user = relay__user_find(hub, id);
  size_t count = 0;
  /* Backwards, because relay__session_close() removes the session from the list. */
  for (uint32_t i = user ? user->sessions.count : 0; i-- > 0;) {
    relay_session_t *session = relay__list_at(&user->sessions, i);
    if (!relay__session_is_live(session)) continue;
    relay__session_close(hub, session, code, reason, -1);
    count++;
  }
  return count;
}

relay_id_t relay_session_user(const relay_hub_t *hub, relay_id_t id) {
  const relay_session_t *session = find_live(hub, id);
  return session && session->user ? session->user->id : 0;
}

bool relay_session_is_open(const relay_hub_t *hub, relay_id_t id) {
  const relay_session_t *session = find_live(hub, id);
  return session && session->state == RELAY__OPEN;
}

bool relay_session_facts(const relay_hub_t *hub, relay_id_t id, relay_session_facts_t *facts) {
  const relay_session_t *session = relay__session_find(hub, id);
  if (!session || session->state != RELAY__OPEN) return false;
  *facts = (relay_session_facts_t){.device = session->device,
                                   .since = (int64_t)session->since * 1000,
                                   .expires = (int64_t)session->expires * 1000,
                                   .activity = (relay_activity_t)session->activity,
                                   .rooms = session->seats.count};
  return true;
}

const char *relay_session_device(const relay_hub_t *hub, relay_id_t id) {
  const relay_session_t *session = relay__session_find(hub, id);
  return session && session->state == RELAY__OPEN ? session->device : NULL;
}

bool relay_session_address(const relay_hub_t *hub, relay_id_t id, uint8_t address[16]) {
  const relay_session_t *session = find_live(hub, id);
  if (session) memcpy(address, session->address, sizeof session->address);
  return session;
}

relay_bytes_t relay_session_authorization(const relay_hub_t *hub, relay_id_t id) {
  const relay_session_t *session = relay__session_find(hub, id);
  if (!session || session->state >= RELAY__OPEN || !session->authorization) return (relay_bytes_t){0};
  return (relay_bytes_t){session->authorization, strlen(session->authorization)};
}
