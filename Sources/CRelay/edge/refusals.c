// SPDX-License-Identifier: Apache-2.0
/* Log lines about refused connections and requests. core/log.c bounds their rate. */
#include <stdio.h>

#include "edge.h"

enum { MAX_QUOTED = 128 };

/* Replaces bytes that a log cannot show, and the quotation mark. */
static void make_printable(char *text) {
  for (; *text; text++)
    if (*text < 0x20 || *text > 0x7e || *text == '"') *text = '?';
}

/* Writes the header that caused a refusal, as `: Origin "..."`. Writes an empty text if the request
 * lacks it. */
static void describe(relay_bytes_t field, const char *name, char *at, size_t size) {
  char value[MAX_QUOTED + 1];
  *at = 0;
  if (!field.count) return;
  if (field.count > MAX_QUOTED)
    snprintf(value, sizeof value, "(%zu bytes)", field.count);
  else
    snprintf(value, sizeof value, "%.*s", (int)field.count, (const char *)field.at);
  make_printable(value);
  snprintf(at, size, ": %s \"%s\"", name, value);
}

void relay__log_refusal(relay_hub_t *hub, const relay__connection_t *connection, relay__refusal_t refusal) {
  if (!relay__log_takes_refusal(hub)) return;
  char header[MAX_QUOTED + 32] = "", peer[RELAY__ADDRESS_TEXT] = "";
  const char *hint = "";
  if (connection) relay__address_print(connection->address, peer);
  if (connection && refusal.detail == relay__origin_refused) {
    describe(relay__head_field(&connection->head, "origin"), "Origin", header, sizeof header);
    hint = " (--origins, STILLWIRE_ORIGINS)";
  } else if (connection && refusal.status == 403) {
    describe(connection->head.host, "Host", header, sizeof header);
  }
  relay__log(hub, RELAY_LOG_INFO, "refused with %d%s%s: %s%s%s", refusal.status, *peer ? " from " : "", peer,
             refusal.detail, header, hint);
}
