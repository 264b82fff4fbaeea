// SPDX-License-Identifier: Apache-2.0
/* Requests of clients: parses a frame once, checks its envelope and its rate, and handles it.
 *
 * A seat is a session in a room (room.h). The policy is the Swift actor Relay. All functions run on the hub's
 * thread.
 *
 * Requests that need neither the store nor the policy are answered here: plain messages of rooms that are not
 * stored (see send.c), signals, marks (except some, see mark()), `activity` and `ping`. The others are
 * handed over: they become events, which the policy answers with relay_session_finish(). */
#include "request.h"

#include <stdio.h>
#include <stdlib.h>

enum { ACK_INTERVAL = 250 }; /* ms */

void relay__request_hand_over(relay__request_t *request, relay_event_kind_t kind, relay_room_t *room) {
  relay_session_t *session = request->session;
  session->open_requests++;
  session->open_are_sends = kind == RELAY_EVENT_SEND;
  relay_json_t *copy = relay_json_copy(&request->json);
  if (!copy) abort();
  session->open_bytes += (uint32_t)(copy->size + copy->count * sizeof *copy->nodes);
  relay_event_t *event = relay__event(request->hub, kind, copy);
  event->session = session->id;
  event->user = session->user ? session->user->id : 0;
  event->room = room ? room->id : 0;
  event->json = copy;
}

/* Handles `read` and `received`. The reply to `read` in a stored room follows when the mark is stored, so
 * that it is true for all later requests: the policy stores the mark and replies. Most clients send no id, so
 * that nothing is handed over. */
static void mark(relay__request_t *request, bool is_read) {
  relay_seat_t *seat = relay__request_seat(request);
  int64_t seq;
  if (!seat || !relay__request_integer(request, "seq", &seq)) return;
  relay_member_t *member = seat->member;
  if (seq > member->room->seq) {
    relay__request_refuse(request, "bad_request", "seq is greater than the newest seq of the room");
    return;
  }
  relay_hub_t *hub = request->hub;
  relay__frozen_acked(seat, seq);
  if (is_read) {
    const int64_t before = member->read;
    relay__member_mark(hub, member, seq, seq);
    if (member->read > before) relay__receipt_read(hub, member, seq, request->session->id);
  } else {
    relay__away_received(hub, seat, seq);
    relay__receipt_received(hub, member, seq, request->session->id);
  }
  if (is_read && request->id.count && member->room->flags & RELAY_ROOM_STORED)
    relay__request_hand_over(request, RELAY_EVENT_READ, member->room);
  else
    relay__request_acknowledge(request);
}

static void activity(const relay__request_t *request) {
  relay_session_t *session = request->session;
  const relay_json_node_t *state = relay_json_member(&request->json, "state");
  int after = -1;
  if (state && state->kind == RELAY_JSON_STRING) {
    const relay_bytes_t text = relay__json_text(&request->json, state);
    if (relay__is_text(text, "active")) after = RELAY_ACTIVE;
    if (relay__is_text(text, "idle")) after = RELAY_IDLE;
    if (relay__is_text(text, "background")) after = RELAY_BACKGROUND;
  }
  if (after < 0) {
    relay__request_refuse(request, "bad_request", "state must be one of active, idle, background");
    return;
  }
  relay__session_set_activity(request->hub, session, after, session->id);
  relay__request_acknowledge(request);
}

static void ping(const relay__request_t *request) {
  char members[40];
  const int size = snprintf(members, sizeof members, ",\"time\":%lld", (long long)request->hub->clock.now);
  const relay__text_t *text = relay__request_reply_text(request, "pong", members, (size_t)size);
  relay_frame_t *frame = relay__frame_create(request->hub, RELAY__TEXT, text->at, text->size);
  relay__outbox_add_before_pages(request->hub, request->session, frame);
  relay__frame_release(request->hub, frame);
}

/* Takes a token of the session and one of its user. Otherwise sends `rate_limited` and returns false. Closes
 * a session that is refused 1,000 times in 10 s, or for 10 s without a pause of more than 1 s. If `marks` is
 * true, one frame of each room is free every ACK_INTERVAL. */
static bool is_within_rate(relay__request_t *request, relay_rate_t kind, bool marks) {
  relay_hub_t *hub = request->hub;
  relay_session_t *session = request->session;
  if (marks) {
    const relay_json_node_t *name = relay_json_member(&request->json, "room");
    const relay_room_t *room = name && name->kind == RELAY_JSON_STRING
                                   ? relay__room_named(hub, request->json.text + name->text, name->length)
                                   : NULL;
    relay_seat_t *seat = room ? relay__seat_find(session, room) : NULL;
    if (seat && hub->clock.loop >= seat->acked_at + ACK_INTERVAL) {
      seat->acked_at = hub->clock.loop;
      return true;
    }
  }
  const char *refusal = NULL;
  const int64_t delay = relay__session_take_token(hub, session, kind, &refusal);
  if (!delay) return true;
  relay__request_limit(request, refusal, delay);
  if (!session->excess) session->excess = relay__allocate(sizeof *session->excess);
  relay__excess_t *excess = session->excess;
  if (!excess->since || hub->clock.loop - excess->last > 1000) excess->since = hub->clock.loop;
  if (!excess->window || hub->clock.loop - excess->window > 10000) {
    excess->window = hub->clock.loop;
    excess->count = 0;
  }
  excess->last = hub->clock.loop;
  if (++excess->count >= 1000 || hub->clock.loop - excess->since > 10000)
    relay__session_close(hub, session, RELAY_CLOSE_OVER_RATE, "over the rate for too long", -1);
  return false;
}

/* Answers a frame that the parser has rejected. Closes the session if this is the first frame, or if the
 * frame is no JSON object. Other errors, such as a duplicate key, leave the session open. */
static void refuse_broken(relay__request_t *request, relay_json_status_t status, size_t offset) {
  char message[80];
  const bool is_first = request->session->state == RELAY__NEW;
  switch (status) {
  case RELAY_JSON_TOO_DEEP:
    snprintf(message, sizeof message, "more than %u arrays and objects inside each other",
             request->hub->limits.nesting);
    break;
  case RELAY_JSON_TWICE:
    snprintf(message, sizeof message, "an object has a duplicate key, before byte %zu", offset);
    break;
  case RELAY_JSON_TOO_MANY:
    snprintf(message, sizeof message, "an object has more than 1024 keys");
    break;
  case RELAY_JSON_NOT_OBJECT:
    snprintf(message, sizeof message, "a frame must be a JSON object");
    break;
  case RELAY_JSON_SURROGATE:
    snprintf(message, sizeof message, "a string has half of a surrogate pair, at byte %zu", offset);
    break;
  default:
    snprintf(message, sizeof message, "not JSON, at byte %zu", offset);
  }
  relay__request_refuse(request, "bad_request", message);
  if (is_first || status == RELAY_JSON_NOT_OBJECT || status == RELAY_JSON_SYNTAX)
    relay__session_close(request->hub, request->session, RELAY_CLOSE_BAD_REQUEST, message, -1);
}

/* Returns the type with this name if the hub hands it over, or NULL. An unknown type is refused before its
 * frame is copied. If the hub was given no list of types, every type is handed over. */
static const relay_request_type_t *handed_over_type(const relay_hub_t *hub, relay_bytes_t name) {
  static const relay_request_type_t any = {.name = "", .rate = RELAY_RATE_REQUEST};
  if (!hub->config.requests) return &any;
  for (size_t i = 0; i < hub->config.request_count; i++)
    if (relay__is_text(name, hub->config.requests[i].name)) return &hub->config.requests[i];
  return NULL;
}

/* Handles one text frame of a client.
 *
 * Callers: received_whole() in input.c for a new frame, and relay__session_resume() for a waiting frame.
 *
 * - Returns false, without an effect, if the frame must wait until `hello` is answered, the open requests
 *   are finished, or the hub is no longer held. So replies have the order of the requests. The caller keeps
 * the frame and calls again later, and the frame is then parsed a second time.
 * - A stored `send` may start while other stored sends are open, because the store commits them in groups
 *   and keeps their order.
 * - The first frame must be `hello`. It has lower limits (16 KiB, 256 values), because clients without a
 *   valid token can send it too.
 * - In an open session a rejected frame takes a token as well. */
bool relay__request(relay_hub_t *hub, relay_session_t *session, const char *frame, size_t size) {
  if (session->state == RELAY__HELLO || hub->service.state != RELAY_SERVES) return false;
  relay__request_t request = {.hub = hub, .session = session};
  size_t offset;
  const relay_json_status_t status =
      relay_json_parse(hub->scratch.parser, frame, size, hub->limits.nesting, &request.json, &offset);
  const bool is_readable = status != RELAY_JSON_SYNTAX && status != RELAY_JSON_NOT_OBJECT;
  const relay_json_node_t *id = is_readable ? relay_json_member(&request.json, "id") : NULL;
  const bool has_bad_id = id && !relay__request_id_is_valid(&request.json, id);
  if (id && !has_bad_id) request.id = relay__json_source(&request.json, id);
  /* An id with an escape may contain the half of a surrogate pair, so the reply does not repeat it. */
  if (status == RELAY_JSON_SURROGATE && request.id.count && memchr(request.id.at, '\\', request.id.count))
    request.id = (relay_bytes_t){0};
  const relay_json_node_t *type = is_readable ? relay_json_member(&request.json, "type") : NULL;
  const relay_bytes_t name =
      type && type->kind == RELAY_JSON_STRING ? relay__json_text(&request.json, type) : (relay_bytes_t){0};
  bool is_stored_send = false;
  if (session->open_requests && session->open_are_sends && status == RELAY_JSON_OK &&
      relay__is_text(name, "send")) {
    const relay_json_node_t *room = relay_json_member(&request.json, "room");
    const relay_room_t *found = room && room->kind == RELAY_JSON_STRING
                                    ? relay__room_named(hub, request.json.text + room->text, room->length)
                                    : NULL;
    is_stored_send = found && found->flags & RELAY_ROOM_STORED && relay__seat_find(session, found);
  }
  if (session->open_requests && !is_stored_send) return false;

  if (session->user) session->user->last_seen = hub->clock.now;
  if (status != RELAY_JSON_OK) {
    if (session->state == RELAY__NEW || is_within_rate(&request, RELAY_RATE_REQUEST, false))
      refuse_broken(&request, status, offset);
    return true;
  }
  const bool is_hello = relay__is_text(name, "hello");
  const char *wrong = has_bad_id ? "id must be a string of 1 to 64 bytes, or an integer from "
                                   "-(2^53 - 1) to 2^53 - 1"
                      : !type    ? "type is missing"
                      : !name.at ? "type must be a string"
                                 : NULL;
  if (session->state == RELAY__NEW && (wrong || !is_hello)) {
    relay__request_refuse(&request, "bad_request", wrong ? wrong : "the first request must be hello");
    relay__session_close(hub, session, RELAY_CLOSE_BAD_REQUEST,
                         "bad request: the first frame must be a valid hello", -1);
    return true;
  }
  if (session->state == RELAY__NEW && request.json.count > RELAY__HELLO_VALUES) {
    relay__request_refuse(&request, "too_large", "hello has more than 256 values");
    relay__session_close(hub, session, RELAY_CLOSE_TOO_LARGE, "hello has more than 256 values", -1);
    return true;
  }
  if (session->state == RELAY__NEW) {
    session->state = RELAY__HELLO;
    relay__request_hand_over(&request, RELAY_EVENT_REQUEST, NULL);
    return true;
  }
  const bool sends = relay__is_text(name, "send") || relay__is_text(name, "signal");
  const bool reads = relay__is_text(name, "read");
  const relay_request_type_t *handed_over = sends ? NULL : handed_over_type(hub, name);
  const relay_rate_t rate = sends ? RELAY_RATE_SEND : handed_over ? handed_over->rate : RELAY_RATE_REQUEST;
  if (!is_within_rate(&request, rate, reads || relay__is_text(name, "received"))) return true;
  if (wrong)
    relay__request_refuse(&request, "bad_request", wrong);
  else if (relay__is_text(name, "send"))
    relay__request_send(&request);
  else if (sends)
    relay__request_signal(&request);
  else if (reads || relay__is_text(name, "received"))
    mark(&request, reads);
  else if (relay__is_text(name, "ping"))
    ping(&request);
  else if (relay__is_text(name, "activity"))
    activity(&request);
  else if (is_hello)
    relay__request_refuse(&request, "conflict", "hello was already sent");
  else if (handed_over)
    relay__request_hand_over(&request, RELAY_EVENT_REQUEST, NULL);
  else
    relay__request_refuse(&request, "unsupported", "the type is not known");
  return true;
}
