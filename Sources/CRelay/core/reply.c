// SPDX-License-Identifier: Apache-2.0
/* Replies to requests: `ok`, `pong`, and errors. */
#include "request.h"

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

void relay__send_error(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                       const char *message, double retry_after, int64_t until) {
  relay__log_refused_request(hub, session->id, code, message);
  relay__send_text(hub, session, relay__error_text(hub, id, code, message, retry_after, until), true);
}

void relay__refuse(relay_hub_t *hub, relay_session_t *session, const relay_bytes_t *id, const char *code,
                   const char *message, double retry_after) {
  relay__send_error(hub, session, id, code, message, retry_after, 0);
}

void relay__request_refuse(const relay__request_t *request, const char *code, const char *message) {
  relay__refuse(request->hub, request->session, &request->id, code, message, -1);
}

void relay__request_limit(const relay__request_t *request, const char *message, int64_t delay) {
  relay__refuse(request->hub, request->session, &request->id, "rate_limited", message, (double)delay / 1000);
}

const relay__text_t *relay__request_reply_text(const relay__request_t *request, const char *type,
                                               const char *members, size_t size) {
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

void relay__request_acknowledge(const relay__request_t *request) {
  if (request->id.count)
    relay__send_text(request->hub, request->session, relay__request_reply_text(request, "ok", "", 0), true);
}
