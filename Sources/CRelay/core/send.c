// SPDX-License-Identifier: Apache-2.0
/* The requests `send` and `signal`: the rights of the sender, the rates of the room, and the message. */
#include "request.h"

static const char room_is_limited[] = "too many messages to the room";

/* Takes a token of the room, or sends `rate_limited` and returns false. All users share this rate, so it
 * never closes a session. */
static bool room_takes_token(const relay__request_t *request, relay_room_t *room) {
  const int64_t delay = relay__room_take_token(request->hub, room, RELAY_RATE_SEND);
  if (delay) relay__request_limit(request, room_is_limited, delay);
  return !delay;
}

/* Takes the tokens of a message, or sends `rate_limited` and returns false. A message costs one more token
 * for each 100 members that it may push to, from the room and from the sender. */
static bool room_takes_message(const relay__request_t *request, relay_room_t *room) {
  const relay_json_node_t *push = relay_json_member(&request->json, "push");
  if (push && push->kind == RELAY_JSON_FALSE) return room_takes_token(request, room);
  const int64_t delay = relay__room_take_send(request->hub, room, request->session->user,
                                              relay__room_recipients(request->hub, room));
  if (delay) relay__request_limit(request, room_is_limited, delay);
  return !delay;
}

bool relay_send_needs_policy(const relay_json_t *json) {
  for (size_t i = 0; relay_send_policy_field(i); i++)
    if (relay_json_member(json, relay_send_policy_field(i))) return true;
  return false;
}

const char *relay_send_policy_field(size_t index) {
  static const char *const fields[] = {"mentions", "replyTo", "push", "report"};
  return index < sizeof fields / sizeof *fields ? fields[index] : NULL;
}

/* True if the session has the right to send, and its user has no restriction. Otherwise sends the error and
 * returns false. */
static bool is_unrestricted(const relay__request_t *request, const relay_seat_t *seat) {
  const relay_member_t *member = seat->member;
  const int64_t until = relay__member_restricted_until(request->hub, member);
  if (!(seat->rights & RELAY_RIGHT_SEND)) {
    relay__request_refuse(request, "forbidden", "sending to this room is not allowed");
    return false;
  }
  if (until) {
    relay__send_error(request->hub, request->session, &request->id, "restricted",
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

static void refuse_read_only(const relay__request_t *request) {
  relay__request_refuse(request, "restricted", "the room is read-only: only moderators and owners send");
}

/* True if the session may send to the room now. Otherwise sends the error and returns false. */
static bool may_send(const relay__request_t *request, const relay_seat_t *seat) {
  if (!is_unrestricted(request, seat)) return false;
  if (is_read_only(seat)) refuse_read_only(request);
  return !is_read_only(seat);
}

void relay__request_send(relay__request_t *request) {
  relay_seat_t *seat = relay__request_seat(request);
  if (!seat || !may_send(request, seat)) return;
  const relay_bytes_t body = relay__request_body(request);
  if (!body.at) {
    relay__request_refuse(request, "bad_request", "body is missing");
    return;
  }
  const relay_json_node_t *key = relay_json_member(&request->json, "key");
  if (key && key->kind != RELAY_JSON_NULL &&
      (key->kind != RELAY_JSON_STRING || key->length < 1 || key->length > 128 ||
       memchr(request->json.text + key->text, 0, key->length))) {
    relay__request_refuse(request, "bad_request", "key must be a string of 1 to 128 bytes without NUL");
    return;
  }
  relay_room_t *room = seat->member->room;
  if (!room_takes_message(request, room)) return;
  if (room->flags & RELAY_ROOM_STORED || (key && key->kind == RELAY_JSON_STRING) ||
      relay_send_needs_policy(&request->json)) {
    relay__request_hand_over(request, RELAY_EVENT_SEND, room);
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

void relay__request_signal(const relay__request_t *request) {
  relay_seat_t *seat = relay__request_seat(request);
  if (!seat || !is_unrestricted(request, seat)) return;
  /* In a room that is read-only, the users of a call exchange the signals of its media. */
  const int64_t call = is_read_only(seat) ? relay__member_call(seat->member) : 0;
  if (is_read_only(seat) && !call) {
    refuse_read_only(request);
    return;
  }
  const relay_json_node_t *name = relay_json_member(&request->json, "name");
  if (!name || name->kind != RELAY_JSON_STRING || name->length < 1 || name->length > 128) {
    relay__request_refuse(request, "bad_request", "name must be a string of 1 to 128 bytes");
    return;
  }
  if (!room_takes_token(request, seat->member->room)) return;
  relay__room_signal(request->hub, seat->member->room, request->session->user->named.name, request->session,
                     call, relay__json_source(&request->json, name), relay__request_body(request));
  relay__request_acknowledge(request);
}
