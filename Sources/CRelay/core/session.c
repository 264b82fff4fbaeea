// SPDX-License-Identifier: Apache-2.0
/* A session, from the handshake to the close, and the replies and events that the policy sends to it.
 *
 * The edge calls the functions in `relay__session_calls`. input.c takes the frames, request.c handles them,
 * flush.c writes the outbox, and heartbeat.c enforces the timeouts. */
#include "core.h"

#include <stdlib.h>

enum { CLOSE_DEADLINE = 5000 }; /* ms */

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
  if (hub->config.logs_debug) {
    char name[16];
    relay__log(hub, RELAY_LOG_DEBUG, "session %s begins, from %s", relay__session_name(session->id, name),
               arrival->peer);
  }
  return session;
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
  relay__session_drop_input(session);
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

static void writable(relay_hub_t *hub, relay_session_t *session) {
  session->is_blocked = false;
  session->progress_at = hub->clock.loop;
  if (session->is_paused) session->received_at = hub->clock.loop;
  relay__session_flush(hub, session);
}

void relay__session_set_activity(relay_hub_t *hub, relay_session_t *session, int after,
                                 relay_id_t requester) {
  const int before = session->activity;
  if (before == after) return;
  session->activity = (uint8_t)after;
  for (uint32_t i = 0; i < session->seats.count; i++) {
    relay_seat_t *seat = relay__list_at(&session->seats, i);
    if (after == RELAY_ACTIVE) relay__away_attended(hub, seat);
    relay__member_activity_changed(hub, seat->member, before, after);
  }
  relay__user_changed(hub, session->user, requester);
}

const relay__link_calls_t relay__session_calls = {
    .opened = opened,
    .received = relay__session_received,
    .ponged = relay__session_ponged,
    .writable = writable,
    .peer_closed = peer_closed,
    .disconnected = disconnected,
};

/* The functions of relay.h */

static relay_session_t *find_live(const relay_hub_t *hub, relay_id_t id) {
  relay_session_t *session = relay__session_find(hub, id);
  return session && session->state != RELAY__CLOSING ? session : NULL;
}

relay_status_t relay_session_open(relay_hub_t *hub, relay_id_t id, relay_id_t user_id, const char *device,
                                  bool acks, relay_activity_t activity) {
  relay_session_t *session = find_live(hub, id);
  relay_user_t *user = relay__user_find(hub, user_id);
  if (!session || session->state != RELAY__HELLO || !user) return RELAY_GONE;
  if (!relay__user_make_place(hub, user)) return RELAY_TOO_MANY;
  session->state = RELAY__OPEN;
  session->acks = acks;
  session->activity = (uint8_t)activity;
  session->since = (uint32_t)(hub->clock.now / 1000);
  free(session->authorization);
  session->device = device ? relay__copy_string(device, strlen(device)) : NULL;
  user->last_seen = hub->clock.now;
  relay__user_session_added(hub, user, session);
  relay__timer_set(hub, &session->timer, RELAY__TIMER_SESSION, relay__session_ping_due(hub, session));
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
  if (session->timer.index) relay__session_set_timer(hub, session, relay__timer_due(hub, &session->timer));
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
