// SPDX-License-Identifier: Apache-2.0
/* Receipts: `receipt` events about the messages that a member has received and read. A member's receipts of
 * one iteration become one event of each kind. */
#include "core.h"

#include <stdlib.h>

struct relay_receipt {
  int64_t read, received; /* the newest messages of the receipts that are sent or queued */
  relay_id_t requester;   /* the session that reported it, which gets no event; 0: several, or none */
  uint32_t queue_index;
  bool is_queued, sends_read, sends_received;
};

static bool has_receipts(const relay_room_t *room) {
  return room->flags & RELAY_ROOM_RECEIPTS && !room->is_large;
}

static relay_receipt_t *receipt_of(relay_member_t *member) {
  if (!member->receipt) member->receipt = relay__allocate(sizeof *member->receipt);
  return member->receipt;
}

static void queue(relay_hub_t *hub, relay_member_t *member, relay_id_t requester) {
  relay_receipt_t *receipt = member->receipt;
  if (receipt->is_queued) {
    if (receipt->requester != requester) receipt->requester = 0;
    return;
  }
  receipt->is_queued = true;
  receipt->requester = requester;
  relay__receipts_t *list = &hub->receipts;
  receipt->queue_index = list->count;
  list->members = relay__grow(list->members, list->count, &list->capacity, sizeof *list->members, 64);
  list->members[list->count++] = member;
}

void relay__receipt_read(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t requester) {
  if (!has_receipts(member->room) && member->user->sessions.count < (requester ? 2 : 1)) return;
  relay_receipt_t *receipt = receipt_of(member);
  if (seq <= receipt->read) return;
  receipt->read = seq;
  receipt->sends_read = true;
  queue(hub, member, requester);
}

void relay__receipt_received(relay_hub_t *hub, relay_member_t *member, int64_t seq, relay_id_t requester) {
  if (!has_receipts(member->room)) return;
  relay_receipt_t *receipt = receipt_of(member);
  if (seq <= receipt->received || seq <= member->read) return; /* a read message counts as received */
  receipt->received = seq;
  receipt->sends_received = true;
  queue(hub, member, requester);
}

static relay_frame_t *frame_of(relay_hub_t *hub, const relay_member_t *member, const char *kind,
                               int64_t seq) {
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"receipt\",\"room\":\"");
  relay__put(text, member->room->named.name, member->room->named.length);
  relay__puts(text, "\",\"user\":\"");
  relay__put(text, member->user->named.name, member->user->named.length);
  relay__puts(text, "\",\"seq\":");
  relay__put_integer(text, seq);
  relay__puts(text, ",\"kind\":\"");
  relay__puts(text, kind);
  relay__puts(text, "\"}");
  return relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
}

static void send_to_others(relay_hub_t *hub, const relay_member_t *member, relay_frame_t *frame) {
  const relay_room_t *room = member->room;
  if (!has_receipts(room)) return;
  for (uint32_t i = 0; i < room->live_count; i++) {
    const relay_seat_t *seat = room->live[i];
    if (seat->member != member && seat->rights & RELAY_RIGHT_PRESENCE &&
        relay__view(member->user, seat->member->user, true) & RELAY__SEES_PERSON)
      relay__outbox_add(hub, seat->session, frame, false);
  }
}

static void send_receipts(relay_hub_t *hub, relay_member_t *member) {
  relay_receipt_t *receipt = member->receipt;
  if (receipt->sends_received && receipt->received > receipt->read) {
    relay_frame_t *frame = frame_of(hub, member, "received", receipt->received);
    send_to_others(hub, member, frame);
    relay__frame_release(hub, frame);
  }
  if (receipt->sends_read) {
    relay_frame_t *frame = frame_of(hub, member, "read", receipt->read);
    send_to_others(hub, member, frame);
    for (uint32_t i = 0; i < member->user->sessions.count; i++) {
      relay_session_t *own = relay__list_at(&member->user->sessions, i);
      if (own->id != receipt->requester) relay__outbox_add(hub, own, frame, false);
    }
    relay__frame_release(hub, frame);
  }
  receipt->is_queued = receipt->sends_read = receipt->sends_received = false;
}

void relay__receipts_send(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->receipts.count; i++)
    if (hub->receipts.members[i]) send_receipts(hub, hub->receipts.members[i]);
  hub->receipts.count = 0;
}

char *relay_room_receipts(const relay_hub_t *hub, relay_id_t room_id, relay_id_t viewer_id, size_t limit,
                          size_t *size) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  if (!room || !has_receipts(room) || room->member_count > limit) return NULL;
  const relay_user_t *viewer = relay__user_find(hub, viewer_id);
  relay__text_t text = {0};
  relay__puts(&text, "[");
  for (uint32_t i = 0; i < room->member_count; i++) {
    const relay_member_t *member = room->members[i];
    if (member->user == viewer) continue;
    if (!(relay__view_by(hub, member->user, viewer_id, true) & RELAY__SEES_PERSON)) continue;
    relay__puts(&text, text.size > 1 ? ",{\"user\":\"" : "{\"user\":\"");
    relay__put(&text, member->user->named.name, member->user->named.length);
    relay__puts(&text, "\",\"read\":");
    relay__put_integer(&text, member->read);
    relay__puts(&text, ",\"received\":");
    relay__put_integer(&text, member->received > member->read ? member->received : member->read);
    relay__puts(&text, "}");
  }
  relay__puts(&text, "]");
  *size = text.size;
  return text.at;
}

void relay__receipt_forget(relay_hub_t *hub, relay_member_t *member) {
  if (!member->receipt) return;
  if (member->receipt->is_queued) hub->receipts.members[member->receipt->queue_index] = NULL;
  free(member->receipt);
  member->receipt = NULL;
}
