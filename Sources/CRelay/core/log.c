// SPDX-License-Identifier: Apache-2.0
/* Log lines for the operator: refusals at a bounded rate, and sessions at the level debug.
 *
 * No line contains a token or a body. Text of a client is quoted and truncated, so that it cannot forge a
 * line.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core.h"

enum { REFUSAL_WINDOW = 10000, MAX_REFUSALS = 5 };

void relay__log(const relay_hub_t *hub, relay_log_level_t level, const char *format, ...) {
  if (!hub->callbacks.log || (level == RELAY_LOG_DEBUG && !hub->config.logs_debug)) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  hub->callbacks.log(hub->callbacks.context, level, line);
}

const char *relay__session_name(relay_id_t id, char name[static 16]) {
  char digits[16];
  size_t size = 0;
  do digits[size++] = "0123456789abcdefghijklmnopqrstuvwxyz"[id % 36];
  while ((id /= 36) && size < sizeof digits - 1);
  for (size_t i = 0; i < size; i++) name[i] = digits[size - 1 - i];
  name[size] = 0;
  return name;
}

/* True if this refusal is logged. A line before it has the number of the refusals that were not logged.
 * LogBurst.swift has the same rule. */
static bool takes_line(const relay_hub_t *hub, relay__refusals_t *refusals) {
  uint64_t left_out = 0;
  if (!refusals->since || hub->clock.loop >= refusals->since + REFUSAL_WINDOW) {
    if (refusals->count > MAX_REFUSALS) left_out = refusals->count - MAX_REFUSALS;
    refusals->since = hub->clock.loop;
    refusals->count = 0;
  }
  if (left_out) relay__log(hub, RELAY_LOG_INFO, "refused: %llu more", (unsigned long long)left_out);
  return refusals->count++ < MAX_REFUSALS;
}

bool relay__log_takes_refusal(relay_hub_t *hub) {
  return takes_line(hub, &hub->log.connections);
}

void relay__log_refused_request(relay_hub_t *hub, relay_id_t session, const char *code, const char *message) {
  static const char *const refusals[] = {"forbidden", "rate_limited", "too_large"};
  char name[16];
  bool is_refusal = false;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) is_refusal |= !strcmp(code, refusals[i]);
  if (is_refusal && takes_line(hub, &hub->log.requests))
    relay__log(hub, RELAY_LOG_INFO, "a request of session %s was refused: %s: %s",
               relay__session_name(session, name), code, message);
}
