// SPDX-License-Identifier: Apache-2.0
/* log.h -- log lines for the operator. */
#ifndef RELAY_LOG_H
#define RELAY_LOG_H

#include "../base.h"

/* Bounds the number of log lines about refusals. */
typedef struct relay__refusals {
  int64_t since; /* on the loop's clock: the start of the window; 0: there was no refusal */
  uint64_t count;
} relay__refusals_t;

typedef struct relay__log_bounds {
  relay__refusals_t connections, requests;
} relay__log_bounds_t;

/* Logs a line. Does not format lines of RELAY_LOG_DEBUG unless `logs_debug` is set. */
void relay__log(const relay_hub_t *hub, relay_log_level_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* True if a refusal may be logged now: at most 5 lines in 10 s. Logs the number of the refusals that were not
 * logged. */
bool relay__log_takes_refusal(relay_hub_t *hub);
/* Logs a request of a session that was refused with forbidden, rate_limited or too_large, at the
 * same rate. */
void relay__log_refused_request(relay_hub_t *hub, relay_id_t session, const char *code, const char *message);
/* The name of a session in logs and in `welcome`: the id in base 36. Returns `name`. */
const char *relay__session_name(relay_id_t id, char name[static 16]);

#endif
