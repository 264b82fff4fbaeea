// SPDX-License-Identifier: Apache-2.0
/* receipts.h -- `receipt` events. */
#ifndef RELAY_RECEIPTS_H
#define RELAY_RECEIPTS_H

#include "../base.h"

/* The members with queued receipts. */
typedef struct relay__receipts {
  relay_member_t **members; /* NULL: the member was removed */
  uint32_t count, capacity;
} relay__receipts_t;

/* Queues a receipt: the member has read, or one of its devices has received, all messages up to seq.
 * `requester` is the session that reported it, or 0. */
void relay__receipt_read(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t requester);
void relay__receipt_received(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t requester);
/* Sends the queued receipts, at the end of the iteration. */
void relay__receipts_send(relay_hub_t *hub);
void relay__receipt_forget(relay_hub_t *hub, relay_member_t *member);

#endif
