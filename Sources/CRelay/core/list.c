// SPDX-License-Identifier: Apache-2.0
/* Lists of the open sessions, and of the rooms that store nothing, for operators. A call visits a bounded
 * number of objects, so that a long list does not stop the loop. The order is that of the slots: an object
 * keeps its slot as long as it exists, so the list stays stable while other objects come and go. */
#include "core.h"

/* Returns the id of an object that belongs to the list; 0: it does not. */
typedef relay_id_t (*listed_t)(const void *item);

static relay_id_t open_session(const void *item) {
  const relay_session_t *session = item;
  return session->state == RELAY__OPEN ? session->id : 0;
}

static relay_id_t live_room(const void *item) {
  const relay_room_t *room = item;
  return room->flags & RELAY_ROOM_STORED ? 0 : room->id;
}

/* A position is the id of an object, or of an object that its slot could have. Only the slot counts. */
static size_t list(const relay__slots_t *slots, listed_t listed, relay_id_t *position, relay_id_t *ids,
                   size_t max) {
  const size_t from = *position ? (size_t)(uint32_t)*position + 1 : 0;
  const size_t end = from < slots->count && slots->count - from > max ? from + max : slots->count;
  size_t count = 0;
  for (size_t i = from; i < end; i++) {
    const relay_id_t id = slots->items[i] ? listed(slots->items[i]) : 0;
    if (id) ids[count++] = id;
  }
  *position = end < slots->count ? (relay_id_t)1 << 32 | (end - 1) : 0;
  return count;
}

size_t relay_sessions_after(const relay_hub_t *hub, relay_id_t *position, relay_id_t *sessions, size_t max) {
  relay__expect_thread(hub);
  return list(&hub->sessions, open_session, position, sessions, max);
}

size_t relay_live_rooms_after(const relay_hub_t *hub, relay_id_t *position, relay_id_t *rooms, size_t max) {
  relay__expect_thread(hub);
  return list(&hub->rooms, live_room, position, rooms, max);
}

bool relay_session_has_existed(const relay_hub_t *hub, relay_id_t id) {
  relay__expect_thread(hub);
  const uint32_t index = (uint32_t)id, generation = (uint32_t)(id >> 32);
  if (!generation || index >= hub->sessions.count) return false;
  /* The generation of a free slot is that of its next session. */
  const uint32_t next = hub->sessions.generations[index] + (hub->sessions.items[index] != NULL);
  return generation < next;
}
