// SPDX-License-Identifier: Apache-2.0
/* The fields of a request: reads and checks them, or refuses the request. */
#include "request.h"

#include <stdio.h>

bool relay__request_id_is_valid(const relay_json_t *json, const relay_json_node_t *id) {
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
  if (name.count < 1 || name.count > max_length || relay__is_text(name, ".") || relay__is_text(name, ".."))
    return false;
  const unsigned char *at = name.at;
  for (size_t i = 0; i < name.count; i++) {
    const unsigned char c = at[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
          (c && strchr("-_.:@!|+=~", c))))
      return false;
  }
  return true;
}

relay_seat_t *relay__request_seat(const relay__request_t *request) {
  const relay_json_node_t *room = relay_json_member(&request->json, "room");
  if (!room || room->kind == RELAY_JSON_NULL) {
    relay__request_refuse(request, "bad_request", room ? "room must not be null" : "room is missing");
    return NULL;
  }
  if (room->kind != RELAY_JSON_STRING) {
    relay__request_refuse(request, "bad_request", "room must be a string");
    return NULL;
  }
  const relay_bytes_t name = relay__json_text(&request->json, room);
  if (!name_is_valid(name, 255)) {
    relay__request_refuse(request, "bad_request",
                          "room is not a room name: 1 to 255 of A-Z a-z 0-9 and -_.:@!|+=~");
    return NULL;
  }
  const relay_room_t *found = relay__room_named(request->hub, name.at, name.count);
  relay_seat_t *seat = found ? relay__seat_find(request->session, found) : NULL;
  if (!seat) relay__request_refuse(request, "not_joined", "this session has not joined the room");
  return seat;
}

bool relay__request_integer(const relay__request_t *request, const char *key, int64_t *value) {
  const relay_json_node_t *node = relay_json_member(&request->json, key);
  char message[64];
  if (!node) {
    snprintf(message, sizeof message, "%s is missing", key);
    relay__request_refuse(request, "bad_request", message);
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
    relay__request_refuse(request, "bad_request", message);
    return false;
  }
  return true;
}

relay_bytes_t relay__request_body(const relay__request_t *request) {
  const relay_json_node_t *body = relay_json_member(&request->json, "body");
  return body ? relay__json_source(&request->json, body) : (relay_bytes_t){0};
}
