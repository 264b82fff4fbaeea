// SPDX-License-Identifier: Apache-2.0
/* Finds sessions, users, rooms, seats and members. Nearly all functions of relay.h call this file first, so
 * it checks the thread in debug builds. */
#include "core.h"

relay_session_t *relay__session_find(const relay_hub_t *hub, relay_id_t id) {
  relay__expect_thread(hub);
  return relay__slots_find(&hub->sessions, id);
}

relay_user_t *relay__user_find(const relay_hub_t *hub, relay_id_t id) {
  relay__expect_thread(hub);
  return relay__slots_find(&hub->users, id);
}

relay_room_t *relay__room_find(const relay_hub_t *hub, relay_id_t id) {
  relay__expect_thread(hub);
  return relay__slots_find(&hub->rooms, id);
}

relay_room_t *relay__room_named(const relay_hub_t *hub, const char *name, size_t size) {
  return relay__names_find(&hub->names.rooms, name, size);
}

relay_seat_t *relay__seat_find(const relay_session_t *session, const relay_room_t *room) {
  for (uint32_t i = 0; i < session->seats.count; i++) {
    relay_seat_t *seat = relay__list_at(&session->seats, i);
    if (seat->member->room == room) return seat;
  }
  return NULL;
}

relay_member_t *relay__member_find(const relay_user_t *user, const relay_room_t *room) {
  /* Searches the shorter list: most rooms have few members, and most users are in few rooms. */
  for (uint32_t i = 0; i < room->member_count && room->member_count < user->members.count; i++)
    if (room->members[i]->user == user) return room->members[i];
  if (room->member_count < user->members.count) return NULL;
  for (uint32_t i = 0; i < user->members.count; i++) {
    relay_member_t *member = relay__list_at(&user->members, i);
    if (member->room == room) return member;
  }
  return NULL;
}
