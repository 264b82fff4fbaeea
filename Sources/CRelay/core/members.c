// SPDX-License-Identifier: Apache-2.0
/* Pages of a room's members. The members of a room are not sorted, so each page reads all of them and keeps
 * the first ones after `after`. */
#include "core.h"

#include <stdlib.h>

static int compare(const relay__named_t *name, const char *other, size_t length) {
  const int order = memcmp(name->name, other, name->length < length ? name->length : length);
  return order ? order : (name->length > length) - (name->length < length);
}

/* Returns the number of members in a sorted array with names before the user's name. */
static size_t position_of(relay_member_t *const *members, size_t count, const relay_user_t *user) {
  size_t low = 0;
  while (low < count) {
    const size_t middle = (low + count) / 2;
    if (compare(&members[middle]->user->named, user->named.name, user->named.length) < 0)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

/* Inserts each member that belongs to the page into `page`, which is sorted by name. The time is at most
 * proportional to the number of members multiplied by `limit`. */
char *relay_room_entries_after(const relay_hub_t *hub, relay_id_t room_id, relay_id_t viewer,
                               const char *after, size_t limit, size_t *size, bool *has_more) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  const size_t after_length = after ? strlen(after) : 0;
  relay_member_t **page = relay__allocate((limit + 1) * sizeof(relay_member_t *)); /* sorted */
  size_t count = 0;
  *has_more = false;
  for (uint32_t i = 0; room && i < room->member_count; i++) {
    const relay_user_t *user = room->members[i]->user;
    if (after && compare(&user->named, after, after_length) <= 0) continue;
    const size_t position = position_of(page, count, user);
    if (position < limit) {
      memmove(page + position + 1, page + position, (count - position) * sizeof *page);
      page[position] = room->members[i];
      count++;
    }
    if (position >= limit || count > limit) {
      *has_more = true;
      count = limit;
    }
  }
  relay__text_t text = {0};
  relay__puts(&text, "[");
  for (size_t i = 0; i < count; i++) {
    relay__puts(&text, i ? ",{" : "{");
    relay__user_put_entry(page[i]->user, relay__view_by(hub, page[i]->user, viewer, true), &text);
    relay__member_put_state(hub, page[i], &text);
    relay__puts(&text, "}");
  }
  relay__puts(&text, "]");
  free(page);
  *size = text.size;
  return text.at;
}
