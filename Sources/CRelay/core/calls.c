// SPDX-License-Identifier: Apache-2.0
/* The calls in which a member of a room takes part. The policy decides about calls; the hub knows their
 * members for the signals of their media. */
#include "core.h"

#include <stdlib.h>

enum { MAX_CALLS = 16 }; /* of a member in a room */

int64_t relay__member_call(const relay_member_t *member) {
  return member->call_count ? member->calls[member->call_count - 1] : 0;
}

/* A member in more than MAX_CALLS calls loses the oldest. */
static void add_call(relay_member_t *member, int64_t call) {
  if (!member->calls) member->calls = relay__allocate(MAX_CALLS * sizeof *member->calls);
  int64_t *calls = member->calls;
  uint32_t at = member->call_count;
  while (at && calls[at - 1] > call) at--;
  if (at && calls[at - 1] == call) return;
  if (member->call_count < MAX_CALLS) {
    memmove(calls + at + 1, calls + at, (member->call_count - at) * sizeof *calls);
    member->call_count++;
  } else {
    if (!at) return;
    at--;
    memmove(calls, calls + 1, at * sizeof *calls);
  }
  calls[at] = call;
}

static void remove_call(relay_member_t *member, int64_t call) {
  int64_t *calls = member->calls;
  uint32_t at = 0;
  while (at < member->call_count && calls[at] != call) at++;
  if (at == member->call_count) return;
  member->call_count--;
  memmove(calls + at, calls + at + 1, (member->call_count - at) * sizeof *calls);
  if (member->call_count) return;
  free(calls);
  member->calls = NULL;
}

relay_status_t relay_room_set_call(relay_hub_t *hub, relay_id_t room_id, relay_id_t user_id, int64_t call,
                                   bool takes_part) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *user = relay__user_find(hub, user_id);
  if (!room || !user) return RELAY_GONE;
  relay_member_t *member = relay__member_find(user, room);
  if (!member) return RELAY_NOT_THERE;
  if (takes_part)
    add_call(member, call);
  else
    remove_call(member, call);
  return RELAY_OK;
}
