// SPDX-License-Identifier: Apache-2.0
/* The recipients of a message: the members that it may push to, and their states that the sender may know. */
#include "core.h"

static bool pushes(const relay_hub_t *hub, const relay_room_t *room) {
  return room->flags & RELAY_ROOM_PUSHES && !relay__room_is_crowded(hub, room);
}

relay_member_t *relay__member_of(const relay_hub_t *hub, const relay_room_t *room, relay_id_t user_id) {
  const relay_user_t *user = relay__user_find(hub, user_id);
  return user ? relay__member_find(user, room) : NULL;
}

uint32_t relay__room_recipients(const relay_hub_t *hub, const relay_room_t *room) {
  uint32_t count = 0;
  if (!pushes(hub, room)) return 0;
  for (uint32_t i = room->attended; i < room->member_count; i++) count += room->members[i]->user->has_devices;
  return count;
}

/* The functions of relay.h */

bool relay_room_pushes(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room && pushes(hub, room);
}

bool relay_room_is_crowded(const relay_hub_t *hub, relay_id_t id) {
  const relay_room_t *room = relay__room_find(hub, id);
  return room && room->flags & RELAY_ROOM_PUSHES && relay__room_is_crowded(hub, room);
}

size_t relay_room_delivery(const relay_hub_t *hub, relay_id_t room_id, relay_id_t sender_id,
                           relay_delivery_t *delivery, relay_id_t *silenced, size_t max) {
  *delivery = (relay_delivery_t){0};
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *sender = relay__user_find(hub, sender_id);
  if (!room || !sender) return 0;
  size_t count = 0;
  for (uint32_t i = 0; i < room->member_count; i++) {
    const relay_member_t *member = room->members[i];
    const relay_user_t *user = member->user;
    if (user == sender) continue;
    const relay__view_t view = relay__view(user, sender, true);
    if (!(view & RELAY__SEES_ONLINE))
      delivery->away++;
    else if (i < room->attended)
      delivery->live++;
    else if (relay__member_is_in_grace(hub, member))
      delivery->waiting++;
    else
      delivery->away++;
    if (room->is_large || !(view & RELAY__SEES_FOCUS) || !(user->focus == 1 || user->has_filter)) continue;
    if (count < max) silenced[count] = user->id;
    count++;
  }
  return count;
}

size_t relay_room_hidden(const relay_hub_t *hub, relay_id_t room_id, relay_id_t sender_id, relay_id_t *users,
                         size_t max) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const relay_user_t *sender = relay__user_find(hub, sender_id);
  if (!room || !sender) return 0;
  size_t count = 0;
  for (uint32_t i = 0; i < room->member_count; i++) {
    const relay_user_t *user = room->members[i]->user;
    if (relay__view(user, sender, true) & RELAY__SEES_ONLINE) continue;
    if (count < max) users[count] = user->id;
    count++;
  }
  return count;
}

/* Returns true if the push to the member is decided together with the message. */
static bool is_away(const relay_hub_t *hub, const relay_member_t *member, const char *sender, bool rings,
                    bool is_reported, bool *needs_wait) {
  if (!strcmp(member->user->named.name, sender)) return false;
  if (is_reported && relay__user_blocks(member->user, sender)) return true;
  if (!rings && (member->attending || relay__member_is_in_grace(hub, member) || member->due_at ||
                 member->user->has_inbox)) {
    /* The decision waits for a session, for the grace, or for an earlier message that is undecided. This
     * message becomes due when it is published, so that the hub hands messages over in their order. */
    *needs_wait = true;
    return false;
  }
  return is_reported || member->user->has_devices;
}

size_t relay_room_away(const relay_hub_t *hub, relay_id_t id, const char *sender, bool rings,
                       bool is_reported, const relay_id_t *named, size_t named_count, relay_id_t *users,
                       size_t max, bool *needs_wait) {
  const relay_room_t *room = relay__room_find(hub, id);
  *needs_wait = false;
  if (!room || !(room->flags & RELAY_ROOM_PUSHES)) return 0;
  const bool takes_named = relay__room_is_crowded(hub, room);
  size_t count = 0;
  for (size_t i = 0; i < (takes_named ? named_count : room->member_count); i++) {
    const relay_member_t *member = takes_named ? relay__member_of(hub, room, named[i]) : room->members[i];
    if (!member || !is_away(hub, member, sender, rings, is_reported, needs_wait)) continue;
    if (count < max) users[count] = member->user->id;
    count++;
  }
  return count;
}

int64_t relay_room_take_send(relay_hub_t *hub, relay_id_t id, relay_id_t sender) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return 0;
  return relay__room_take_send(hub, room, relay__user_find(hub, sender), relay__room_recipients(hub, room));
}
