// SPDX-License-Identifier: Apache-2.0
/* stage.h -- a hub whose loop runs step by step on the thread of the test, with a simulated time. So no input
 * has to wait, and each input has the same result again. The policy is that of the C tests. */
#ifndef STAGE_H
#define STAGE_H

#include "core/core.h"
#include "edge/edge.h"
#include "host.h"

typedef struct stage {
  host_t host;
  relay_hub_t *hub; /* the hub of `host` */
} stage_t;

/* Returns low limits, so that a short input can reach each of them. */
relay_limits_t stage_limits(void);
stage_t *stage_open(const relay_limits_t *limits);
/* Expects that all clients are gone, ends all memberships, and expects that no object is left. */
void stage_close(stage_t *stage);
/* Opens a connection. Returns the client's socket, which does not block. */
int stage_connect(stage_t *stage);
/* Runs one iteration of the loop. */
void stage_step(stage_t *stage);
/* Runs iterations until nothing happens any more. Aborts if this takes too many iterations. */
void stage_settle(stage_t *stage);
/* Moves the simulated time forward, in some steps. */
void stage_pass(stage_t *stage, int64_t milliseconds);
/* Answers the requests that the policy has held. */
void stage_answer_held(stage_t *stage);

/* check.c: expects that all references between objects are mutual, and that each count matches
 * its objects. */
void stage_check(const relay_hub_t *hub);

#endif
