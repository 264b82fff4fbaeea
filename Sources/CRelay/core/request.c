// SPDX-License-Identifier: Apache-2.0
/* Requests of clients: parses a frame once, checks its envelope and its rate, and handles it.
 *
 * A seat is a session in a room (core.h). The policy is the Swift actor Relay. All functions run on the hub's
 * thread.
 *
 * Requests that need neither the store nor the policy are answered here: plain messages of rooms that are not
 * stored (see send_()), signals, marks (except some, see mark()), `activity` and `ping`. The others are
 * handed over: they become events, which the policy answers with relay_session_finish(). */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>

enum { ACK_INTERVAL = 250 }; /* ms */

typedef struct request {
  relay_hub_t *hub;
  relay_session_t *session;
  relay_json_t json;
  relay_bytes_t id; /* as the client wrote it; at: NULL if there is none */
} request_t;

const relay__text_t *relay__error_text(relay_hub_t *hub, const relay_bytes_t *id, const char *code,
                                       const char *message, double retry_after, int64_t until) {
  relay__count_error(hub, code);
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"error\"");
  if (id && id->count) {
    relay__puts(text, ",\"id\":");
    relay__put(text, id->at, id->count);
  }
  relay__puts(text, ",\"code\":\"");
  relay__puts(text, code);
  relay__puts(text, "\",\"message\":");
  relay__put_quoted(text, message, strlen(message));
  relay__puts(text, retry_after >= 0 ? ",\"temporary\":true" : ",\"temporary\":false");
  if (retry_after >= 0) {
    relay__puts(text, ",\"retryAfter\":");
    relay__put_decimal(text, retry_after);
  }
  if (until) {
    relay__puts(text, ",\"until\":");
    relay__put_integer(text, until);
  }
  relay__puts(text, "}");
  return text;
}

/* Sends an error frame as relay__refuse() does. `until` is the end of a restriction; 0: none. */
static void send_error(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                       const char *message, double retry_after, int64_t until) {
  relay__log_refused_request(hub, session->id, code, message);
  relay__send_text(hub, session, relay__error_text(hub, id, code, message, retry_after, until), true);
}

void relay__refuse(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                   const char *message, double retry_after) {
  send_error(hub, session, id, code, message, retry_after, 0);
}

static void refuse(const request_t *request, const char *code, const char *message) {
  relay__refuse(request->hub, request->session, &request->id, code, message, -1);
}

/* Returns the text of a reply of this type, which is valid until the next text. `members` is empty, or begins
 * with a comma. */
static const relay__text_t *reply_text(const request_t *request, const char *type, const char *members,
                                       size_t size) {
  relay__text_t *text = &request->hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"");
  relay__puts(text, type);
  relay__puts(text, "\"");
  if (request->id.count) {
    relay__puts(text, ",\"id\":");
    relay__put(text, request->id.at, request->id.count);
  }
  relay__put(text, members, size);
  relay__puts(text, "}");
  return text;
}

static void acknowledge(const request_t *request) {
  if (request->id.count)
    relay__send_text(request->hub, request->session, reply_text(request, "ok", "", 0), true);
}

static relay_bytes_t text_of(const relay_json_t *json, const relay_json_node_t *node) {
  return (relay_bytes_t){json->text + node->text, node->length};
}

static relay_bytes_t source_of(const relay_json_t *json, const relay_json_node_t *node) {
  return (relay_bytes_t){json->source + node->start, node->end - node->start};
}

static bool is_text(relay_bytes_t text, const char *string) {
  return text.count == strlen(string) && memcmp(text.at, string, text.count) == 0;
}

/* A string of 1 to 64 bytes, or an integer within ±(2^53 − 1). */
static bool id_is_valid(const relay_json_t *json, const relay_json_node_t *id) {
  if (id->kind == RELAY_JSON_STRING) return id->length >= 1 && id->length <= 64;
  if (id->kind != RELAY_JSON_NUMBER) return false;
  const char *digits = json->text + id->text;
  const uint32_t skip = digits[0] == '-';
  int64_t value = 0;
  if (id->length - skip > 16) return false;
  for (uint32_t i = skip; i < id->length; i++) {
    if (digits[i] < '0' || digits[i] > '9') return false;
    value = value * 10 + digits[i] - '0';
  }
  return value < 1LL << 53;
}

static bool name_is_valid(relay_bytes_t name, size_t max_length) {
  if (name.count < 1 || name.count > max_length || is_text(name, ".") || is_text(name, "..")) return false;
  const unsigned char *at = name.at;
  for (size_t i = 0; i < name.count; i++) {
    const unsigned char c = at[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
          (c && strchr("-_.:@!|+=~", c))))
      return false;
  }
  return true;
}

/* Returns the seat of the session in the room of the request. Otherwise sends an error, and returns NULL. */
static relay_seat_t *seat_of(const request_t *request) {
  const relay_json_node_t *room = relay_json_member(&request->json, "room");
  if (!room || room->kind == RELAY_JSON_NULL) {
    refuse(request, "bad_request", room ? "room must not be null" : "room is missing");
    return NULL;
  }
  if (room->kind != RELAY_JSON_STRING) {
    refuse(request, "bad_request", "room must be a string");
    return NULL;
  }
  const relay_bytes_t name = text_of(&request->json, room);
  if (!name_is_valid(name, 255)) {
    refuse(request, "bad_request", "room is not a room name: 1 to 255 of A-Z a-z 0-9 and -_.:@!|+=~");
    return NULL;
  }
  const relay_room_t *found = relay__room_named(request->hub, name.at, name.count);
  relay_seat_t *seat = found ? relay__seat_find(request->session, found) : NULL;
  if (!seat) refuse(request, "not_joined", "this session has not joined the room");
  return seat;
}

/* Reads a member that must be an integer from 0 to 2^53 - 1. Otherwise sends an error, and returns false. */
static bool integer_of(const request_t *request, const char *key, int64_t *value) {
  const relay_json_node_t *node = relay_json_member(&request->json, key);
  char message[64];
  if (!node) {
    snprintf(message, sizeof message, "%s is missing", key);
    refuse(request, "bad_request", message);
    return false;
  }
  const char *digits = request->json.text + node->text;
  bool is_valid = node->kind == RELAY_JSON_NUMBER && node->length <= 16;
  *value = 0;
  for (uint32_t i = 0; is_valid && i < node->length; i++) {
    is_valid = digits[i] >= '0' && digits[i] <= '9';
    *value = *value * 10 + digits[i] - '0';
  }
  if (!is_valid || *value >= 1LL << 53) {
    snprintf(message, sizeof message, "%s must be an integer from 0 to 2^53 - 1", key);
    refuse(request, "bad_request", message);
    return false;
  }
  return true;
}

/* Returns `body` as the client wrote it; at: NULL if there is none. */
static relay_bytes_t body_of(const request_t *request) {
  const relay_json_node_t *body = relay_json_member(&request->json, "body");
  return body ? source_of(&request->json, body) : (relay_bytes_t){0};
}

/* Queues an event for the request, which stays open until relay_session_finish(). */
static void hand_over(request_t *request, relay_event_kind_t kind, relay_room_t *room) {
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

static void limit(const request_t *request, const char *message, int64_t delay) {
  relay__refuse(request->hub, request->session, &request->id, "rate_limited", message, (double)delay / 1000);
}

static const char room_is_limited[] = "too many messages to the room";

/* Takes a token of the room, or sends `rate_limited` and returns false. All users share this rate, so it
 * never closes a session. */
static bool room_takes_token(const request_t *request, relay_room_t *room) {
  const int64_t delay = relay__room_take_token(request->hub, room, RELAY_RATE_SEND);
  if (delay) limit(request, room_is_limited, delay);
  return !delay;
}

/* Takes the tokens of a message, or sends `rate_limited` and returns false. A message costs one more token
 * for each 100 members that it may push to, from the room and from the sender. */
static bool room_takes_message(const request_t *request, relay_room_t *room) {
  const relay_json_node_t *push = relay_json_member(&request->json, "push");
  if (push && push->kind == RELAY_JSON_FALSE) return room_takes_token(request, room);
  const int64_t delay = relay__room_take_send(request->hub, room, request->session->user,
                                              relay__away_recipients(request->hub, room));
  if (delay) limit(request, room_is_limited, delay);
  return !delay;
}

/* True if a `send` has fields that only the policy can handle. */
static bool has_policy_fields(const relay_json_t *json) {
  static const char *const fields[] = {"mentions", "replyTo", "push", "report"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (relay_json_member(json, fields[i])) return true;
  return false;
}

/* True if the session has the right to send, and its user has no restriction. Otherwise sends the error and
 * returns false. */
static bool is_unrestricted(const request_t *request, const relay_seat_t *seat) {
  const relay_member_t *member = seat->member;
  const int64_t until = relay__member_restricted_until(request->hub, member);
  if (!(seat->rights & RELAY_RIGHT_SEND)) {
    refuse(request, "forbidden", "sending to this room is not allowed");
    return false;
  }
  if (until) {
    send_error(request->hub, request->session, &request->id, "restricted",
               "a moderator has restricted you in this room, see `until`", -1, until);
    return false;
  }
  return true;
}

/* True if the room is read-only for the session. */
static bool is_read_only(const relay_seat_t *seat) {
  const relay_member_t *member = seat->member;
  return member->room->is_read_only && member->role == RELAY_ROLE_MEMBER &&
         !(seat->rights & RELAY_RIGHT_MODERATE);
}

static void refuse_read_only(const request_t *request) {
  refuse(request, "restricted", "the room is read-only: only moderators and owners send");
}

/* True if the session may send to the room now. Otherwise sends the error and returns false. */
static bool may_send(const request_t *request, const relay_seat_t *seat) {
  if (!is_unrestricted(request, seat)) return false;
  if (is_read_only(seat)) refuse_read_only(request);
  return !is_read_only(seat);
}

/* Handles `send`. Publishes the message here if the room is not stored and the frame has neither an
 * idempotency key nor other fields for the policy. Otherwise hands it over with RELAY_EVENT_SEND. */
static void send_(request_t *request) {
  relay_seat_t *seat = seat_of(request);
  if (!seat || !may_send(request, seat)) return;
  const relay_bytes_t body = body_of(request);
  if (!body.at) {
    refuse(request, "bad_request", "body is missing");
    return;
  }
  const relay_json_node_t *key = relay_json_member(&request->json, "key");
  if (key && key->kind != RELAY_JSON_NULL &&
      (key->kind != RELAY_JSON_STRING || key->length < 1 || key->length > 128 ||
       memchr(request->json.text + key->text, 0, key->length))) {
    refuse(request, "bad_request", "key must be a string of 1 to 128 bytes without NUL");
    return;
  }
  relay_room_t *room = seat->member->room;
  if (!room_takes_message(request, room)) return;
  if (room->flags & RELAY_ROOM_STORED || (key && key->kind == RELAY_JSON_STRING) ||
      has_policy_fields(&request->json)) {
    hand_over(request, RELAY_EVENT_SEND, room);
    return;
  }
  relay_hub_t *hub = request->hub;
  relay_message_t message = {.from = request->session->user->named.name, .body = body};
  const int64_t seq = relay__room_publish(hub, room, &message, request->session);
  if (!request->id.count) return;
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"ok\",\"id\":");
  relay__put(text, request->id.at, request->id.count);
  relay__puts(text, ",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"seq\":");
  relay__put_integer(text, seq);
  relay__puts(text, ",\"time\":");
  relay__put_integer(text, hub->clock.now);
  relay__puts(text, "}");
  relay__send_text(hub, request->session, text, true);
}

static void signal_(const request_t *request) {
  relay_seat_t *seat = seat_of(request);
  if (!seat || !is_unrestricted(request, seat)) return;
  /* In a room that is read-only, the users of a call exchange the signals of its media. */
  const int64_t call = is_read_only(seat) ? relay__member_call(seat->member) : 0;
  if (is_read_only(seat) && !call) {
    refuse_read_only(request);
    return;
  }
  const relay_json_node_t *name = relay_json_member(&request->json, "name");
  if (!name || name->kind != RELAY_JSON_STRING || name->length < 1 || name->length > 128) {
    refuse(request, "bad_request", "name must be a string of 1 to 128 bytes");
    return;
  }
  if (!room_takes_token(request, seat->member->room)) return;
  relay__room_signal(request->hub, seat->member->room, request->session->user->named.name, request->session,
                     call, source_of(&request->json, name), body_of(request));
  acknowledge(request);
}

/* Handles `read` and `received`. The reply to `read` in a stored room follows when the mark is stored, so
 * that it is true for all later requests: the policy stores the mark and replies. Most clients send no id, so
 * that nothing is handed over. */
static void mark(request_t *request, bool is_read) {
  relay_seat_t *seat = seat_of(request);
  int64_t seq;
  if (!seat || !integer_of(request, "seq", &seq)) return;
  relay_member_t *member = seat->member;
  if (seq > member->room->seq) {
    refuse(request, "bad_request", "seq is greater than the newest seq of the room");
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
    hand_over(request, RELAY_EVENT_READ, member->room);
  else
    acknowledge(request);
}

static void activity(const request_t *request) {
  relay_session_t *session = request->session;
  const relay_json_node_t *state = relay_json_member(&request->json, "state");
  int after = -1;
  if (state && state->kind == RELAY_JSON_STRING) {
    const relay_bytes_t text = text_of(&request->json, state);
    if (is_text(text, "active")) after = RELAY_ACTIVE;
    if (is_text(text, "idle")) after = RELAY_IDLE;
    if (is_text(text, "background")) after = RELAY_BACKGROUND;
  }
  if (after < 0) {
    refuse(request, "bad_request", "state must be one of active, idle, background");
    return;
  }
  relay__session_set_activity(request->hub, session, after, session->id);
  acknowledge(request);
}

static void ping(const request_t *request) {
  char members[40];
  const int size = snprintf(members, sizeof members, ",\"time\":%lld", (long long)request->hub->clock.now);
  const relay__text_t *text = reply_text(request, "pong", members, (size_t)size);
  relay_frame_t *frame = relay__frame_create(request->hub, RELAY__TEXT, text->at, text->size);
  relay__outbox_add_before_pages(request->hub, request->session, frame);
  relay__frame_release(request->hub, frame);
}

/* Takes a token of the session and one of its user. Otherwise sends `rate_limited` and returns false. Closes
 * a session that is refused 1,000 times in 10 s, or for 10 s without a pause of more than 1 s. If `marks` is
 * true, one frame of each room is free every ACK_INTERVAL. */
static bool is_within_rate(request_t *request, relay_rate_t kind, bool marks) {
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
  limit(request, refusal, delay);
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
static void refuse_broken(request_t *request, relay_json_status_t status, size_t offset) {
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
  refuse(request, "bad_request", message);
  if (is_first || status == RELAY_JSON_NOT_OBJECT || status == RELAY_JSON_SYNTAX)
    relay__session_close(request->hub, request->session, RELAY_CLOSE_BAD_REQUEST, message, -1);
}

/* Returns the type with this name if the hub hands it over, or NULL. An unknown type is refused before its
 * frame is copied. If the hub was given no list of types, every type is handed over. */
static const relay_request_type_t *handed_over_type(const relay_hub_t *hub, relay_bytes_t name) {
  static const relay_request_type_t any = {.name = "", .rate = RELAY_RATE_REQUEST};
  if (!hub->config.requests) return &any;
  for (size_t i = 0; i < hub->config.request_count; i++)
    if (is_text(name, hub->config.requests[i].name)) return &hub->config.requests[i];
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
  request_t request = {.hub = hub, .session = session};
  size_t offset;
  const relay_json_status_t status =
      relay_json_parse(hub->scratch.parser, frame, size, hub->limits.nesting, &request.json, &offset);
  const bool is_readable = status != RELAY_JSON_SYNTAX && status != RELAY_JSON_NOT_OBJECT;
  const relay_json_node_t *id = is_readable ? relay_json_member(&request.json, "id") : NULL;
  const bool has_bad_id = id && !id_is_valid(&request.json, id);
  if (id && !has_bad_id) request.id = source_of(&request.json, id);
  /* An id with an escape may contain the half of a surrogate pair, so the reply does not repeat it. */
  if (status == RELAY_JSON_SURROGATE && request.id.count && memchr(request.id.at, '\\', request.id.count))
    request.id = (relay_bytes_t){0};
  const relay_json_node_t *type = is_readable ? relay_json_member(&request.json, "type") : NULL;
  const relay_bytes_t name =
      type && type->kind == RELAY_JSON_STRING ? text_of(&request.json, type) : (relay_bytes_t){0};
  bool is_stored_send = false;
  if (session->open_requests && session->open_are_sends && status == RELAY_JSON_OK && is_text(name, "send")) {
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
  const bool is_hello = is_text(name, "hello");
  const char *wrong = has_bad_id ? "id must be a string of 1 to 64 bytes, or an integer from "
                                   "-(2^53 - 1) to 2^53 - 1"
                      : !type    ? "type is missing"
                      : !name.at ? "type must be a string"
                                 : NULL;
  if (session->state == RELAY__NEW && (wrong || !is_hello)) {
    refuse(&request, "bad_request", wrong ? wrong : "the first request must be hello");
    relay__session_close(hub, session, RELAY_CLOSE_BAD_REQUEST,
                         "bad request: the first frame must be a valid hello", -1);
    return true;
  }
  if (session->state == RELAY__NEW && request.json.count > RELAY__HELLO_VALUES) {
    refuse(&request, "too_large", "hello has more than 256 values");
    relay__session_close(hub, session, RELAY_CLOSE_TOO_LARGE, "hello has more than 256 values", -1);
    return true;
  }
  if (session->state == RELAY__NEW) {
    session->state = RELAY__HELLO;
    hand_over(&request, RELAY_EVENT_REQUEST, NULL);
    return true;
  }
  const bool sends = is_text(name, "send") || is_text(name, "signal");
  const bool reads = is_text(name, "read");
  const relay_request_type_t *handed_over = sends ? NULL : handed_over_type(hub, name);
  const relay_rate_t rate = sends ? RELAY_RATE_SEND : handed_over ? handed_over->rate : RELAY_RATE_REQUEST;
  if (!is_within_rate(&request, rate, reads || is_text(name, "received"))) return true;
  if (wrong)
    refuse(&request, "bad_request", wrong);
  else if (is_text(name, "send"))
    send_(&request);
  else if (sends)
    signal_(&request);
  else if (reads || is_text(name, "received"))
    mark(&request, reads);
  else if (is_text(name, "ping"))
    ping(&request);
  else if (is_text(name, "activity"))
    activity(&request);
  else if (is_hello)
    refuse(&request, "conflict", "hello was already sent");
  else if (handed_over)
    hand_over(&request, RELAY_EVENT_REQUEST, NULL);
  else
    refuse(&request, "unsupported", "the type is not known");
  return true;
}
