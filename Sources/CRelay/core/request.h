// SPDX-License-Identifier: Apache-2.0
/* request.h -- a request of a client, while it is handled. */
#ifndef RELAY_REQUEST_H
#define RELAY_REQUEST_H

#include "core.h"

typedef struct relay__request {
  relay_hub_t *hub;
  relay_session_t *session;
  relay_json_t json;
  relay_bytes_t id; /* as the client wrote it; at: NULL if there is none */
} relay__request_t;

static inline relay_bytes_t relay__json_text(const relay_json_t *json, const relay_json_node_t *node) {
  return (relay_bytes_t){json->text + node->text, node->length};
}

static inline relay_bytes_t relay__json_source(const relay_json_t *json, const relay_json_node_t *node) {
  return (relay_bytes_t){json->source + node->start, node->end - node->start};
}

static inline bool relay__is_text(relay_bytes_t text, const char *string) {
  return text.count == strlen(string) && memcmp(text.at, string, text.count) == 0;
}

/* Queues an event for the request, which stays open until relay_session_finish(). */
void relay__request_hand_over(relay__request_t *request, relay_event_kind_t kind, relay_room_t *room);

/* reply.c */

/* Sends an error frame as relay__refuse() does. `until` is the end of a restriction; 0: none. */
void relay__send_error(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                       const char *message, double retry_after, int64_t until);
/* Sends an error that is not temporary. */
void relay__request_refuse(const relay__request_t *request, const char *code, const char *message);
/* Sends `rate_limited`; `delay` is in ms. */
void relay__request_limit(const relay__request_t *request, const char *message, int64_t delay);
/* Returns the text of a reply of this type, which is valid until the next text. `members` is empty, or begins
 * with a comma. */
const relay__text_t *relay__request_reply_text(const relay__request_t *request, const char *type,
                                               const char *members, size_t size);
/* Sends `ok`, if the request has an id. */
void relay__request_acknowledge(const relay__request_t *request);

/* fields.c */

/* A string of 1 to 64 bytes, or an integer within ±(2^53 − 1). */
bool relay__request_id_is_valid(const relay_json_t *json, const relay_json_node_t *id);
/* Returns the seat of the session in the room of the request. Otherwise sends an error, and returns NULL. */
relay_seat_t *relay__request_seat(const relay__request_t *request);
/* Reads a member that must be an integer from 0 to 2^53 - 1. Otherwise sends an error, and returns false. */
bool relay__request_integer(const relay__request_t *request, const char *key, int64_t *value);
/* Returns `body` as the client wrote it; at: NULL if there is none. */
relay_bytes_t relay__request_body(const relay__request_t *request);

/* send.c */

/* Handles `send`. Publishes the message here if the room is not stored and the frame has neither an
 * idempotency key nor other fields for the policy. Otherwise hands it over with RELAY_EVENT_SEND. */
void relay__request_send(relay__request_t *request);
void relay__request_signal(const relay__request_t *request);

#endif
