// SPDX-License-Identifier: Apache-2.0
/* stage.h -- a hub whose loop is run step by step on the thread of the test, and whose time passes when it is
 * told to: no input waits, and each is played the same way again. Its policy is that of the C tests. */
#ifndef STAGE_H
#define STAGE_H

#include "edge/edge.h"
#include "host.h"

typedef struct stage {
  host_t host;
  relay_hub_t *hub; /* that of the host */
} stage_t;

/* Small limits, so that a short input comes to all of them. */
relay_limits_t stage_limits(void);
stage_t *stage_open(const relay_limits_t *limits);
/* Expects that nobody is left, ends all memberships, and expects that nothing at all is. */
void stage_close(stage_t *stage);
/* A connection; the client's end of it, which does not block. */
int stage_connect(stage_t *stage);
/* One iteration of the loop. */
void stage_step(stage_t *stage);
/* Iterations until nothing happens any more; ends the run when there always is something. */
void stage_settle(stage_t *stage);
/* So many milliseconds go by, in some steps. */
void stage_pass(stage_t *stage, int64_t milliseconds);
/* Answers what the policy holds back. */
void stage_answer_held(stage_t *stage);

/* check.c: whether all that refers to each other does so both ways, and every count is that of what is there.
 */
void stage_check(const relay_hub_t *hub);

#endif
