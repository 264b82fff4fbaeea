// SPDX-License-Identifier: Apache-2.0
/* Messages and signals: builds one frame for all sessions in a room, and keeps the newest messages.
 *
 * A message is kept as an entry in the ring `entries` of the room: for decisions about pushes (away.c), and
 * its frame for sessions that join while the message is on its way (relay_room_tail()). */
#include "core.h"

#include <stdlib.h>

enum { TAIL_COUNT = 64, TAIL_BYTES = 65536 };

/* The size of the part of a message frame before `"seq"`, which relay_room_tail() leaves out. */
static size_t prefix_size(const relay_room_t *room) {
  return strlen("{\"type\":\"message\",\"room\":\"") + room->named.length + strlen("\",");
}

static void forget_oldest_frame(relay_hub_t *hub, relay_room_t *room) {
  relay__entry_t *oldest =
      &room->entries[(room->first + room->entry_count - room->tail_count) % room->entry_capacity];
  room->tail_count--;
  room->tail_bytes -= oldest->frame->size;
  relay__entry_forget(hub, oldest);
}

/* Appends an entry to the ring, and drops the oldest frames above the bounds. */
static void keep(relay_hub_t *hub, relay_room_t *room, const relay__entry_t *entry) {
  if (room->entry_count == room->entry_capacity) {
    const uint32_t capacity = room->entry_capacity ? room->entry_capacity * 2 : 8;
    relay__entry_t *entries = relay__allocate(capacity * sizeof *entries);
    for (uint32_t i = 0; i < room->entry_count; i++)
      entries[i] = room->entries[(room->first + i) % room->entry_capacity];
    free(room->entries);
    room->entries = entries;
    room->entry_capacity = capacity;
    room->first = 0;
  }
  room->entries[(room->first + room->entry_count++) % room->entry_capacity] = *entry;
  if (!entry->frame) return;
  entry->frame->references++;
  room->tail_count++;
  room->tail_bytes += entry->frame->size;
  while (room->tail_count > TAIL_COUNT || (room->tail_bytes > TAIL_BYTES && room->tail_count > 1))
    forget_oldest_frame(hub, room);
  relay__away_trim(hub, room);
}

/* Sends a frame that has a text of the message `seq` to each session in the room but `sender`. A session that
 * may not read this message gets `other` in its place; NULL: nothing. */
static void send_readable(relay_hub_t *hub, const relay_room_t *room, int64_t seq, relay_frame_t *frame,
                          relay_frame_t *other, const relay_session_t *sender) {
  for (uint32_t i = 0; i < room->live_count; i++) {
    const relay_seat_t *seat = room->live[i];
    if (seat->session == sender) continue;
    relay_frame_t *readable = relay__seat_may_read(seat, seq) ? frame : other;
    if (readable) relay__outbox_add(hub, seat->session, readable, false);
  }
}

static void count_deliveries(relay_hub_t *hub, const relay_room_t *room, const relay_session_t *sender) {
  hub->stats.deliveries += room->live_count;
  if (sender && relay__seat_find(sender, room)) hub->stats.deliveries--;
}

static void fan_out(relay_hub_t *hub, relay_room_t *room, relay_frame_t *frame,
                    const relay_session_t *sender) {
  relay__room_send(hub, room, frame, sender, false);
  count_deliveries(hub, room, sender);
}

/* Sends the message in `text` to all sessions in the room but `sender`, and returns its frame. The text lacks
 * its quote and its last brace. */
static relay_frame_t *send_message(relay_hub_t *hub, relay_room_t *room, relay__text_t *text,
                                   const relay_message_t *message, const relay_session_t *sender) {
  const size_t size = text->size;
  relay__puts(text, "}");
  relay_frame_t *plain = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  if (!message->quote.count) {
    fan_out(hub, room, plain, sender);
    return plain;
  }
  text->size = size;
  relay__put(text, message->quote.at, message->quote.count);
  relay__puts(text, "}");
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  send_readable(hub, room, message->quoted, frame, plain, sender);
  count_deliveries(hub, room, sender);
  relay__frame_release(hub, plain);
  return frame;
}

/* Keeps a stored message, raises its sender's marks, and plans the decisions about pushes. `author` is NULL
 * if the user is not in memory. */
static void await(relay_hub_t *hub, relay_room_t *room, const relay_message_t *message, relay_user_t *author,
                  relay_frame_t *frame) {
  const relay__entry_t entry = {message->seq, message->time, hub->clock.now, author ? author->id : 0, frame};
  relay_member_t *own = author ? relay__member_find(author, room) : NULL;
  if (own && !message->keeps_marks) { /* the store raised the marks with the message */
    if (own->read < message->seq) own->read = message->seq;
    if (own->received < message->seq) own->received = message->seq;
  }
  const uint64_t stamp = ++hub->presence.stamp;
  for (size_t i = 0; i < message->decided_count; i++) {
    relay_user_t *user = relay__user_find(hub, message->decided[i]);
    if (user) user->decided = stamp;
  }
  if (!message->is_silent) relay__away_published(hub, room, &entry, message);
  keep(hub, room, &entry);
  relay__room_arm(hub, room, &room->flush_at, RELAY__ROOM_FLUSH);
  if (!room->live_count) {
    room->idle_at = 0;
    relay__room_arm(hub, room, &room->idle_at, RELAY__ROOM_IDLE);
  }
}

/* Builds the frame of a message and sends it to all sessions in the room but `sender`. request.c calls it for
 * rooms that are not stored, and relay_room_publish() for messages from the store. relay_room_tail() relies
 * on the order of the first two members, see prefix_size(). */
int64_t relay__room_publish(relay_hub_t *hub, relay_room_t *room, relay_message_t *message,
                            relay_session_t *sender) {
  const bool is_stored = room->flags & RELAY_ROOM_STORED;
  if (!is_stored) {
    message->seq = room->seq + 1;
    message->time = hub->clock.now;
  }
  room->seq = message->seq;
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"message\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"seq\":");
  relay__put_integer(text, message->seq);
  relay__puts(text, ",\"from\":\"");
  relay__puts(text, message->from);
  relay__puts(text, "\",\"time\":");
  relay__put_integer(text, message->time);
  relay__puts(text, ",\"body\":");
  relay__put(text, message->body.at, message->body.count);
  relay__put(text, message->more.at, message->more.count);
  relay_frame_t *frame = send_message(hub, room, text, message, sender);
  relay_user_t *author = relay__names_find(&hub->names.users, message->from, strlen(message->from));
  relay__frozen_published(hub, room, author, sender, message->seq);
  if (is_stored)
    hub->stats.messages_stored++;
  else
    hub->stats.messages_live++;
  if (!hub->round.began) hub->round.began = uv_hrtime();
  hub->round.messages++;
  if (is_stored) await(hub, room, message, author, frame);
  relay__frame_release(hub, frame);
  return room->seq;
}

static void fan_out_in_call(relay_hub_t *hub, const relay_room_t *room, relay_frame_t *frame,
                            const relay_session_t *sender, int64_t call) {
  for (uint32_t i = 0; i < room->live_count; i++) {
    const relay_seat_t *seat = room->live[i];
    if (seat->session == sender || relay__member_call(seat->member) != call) continue;
    relay__outbox_add(hub, seat->session, frame, false);
    hub->stats.deliveries++;
  }
}

void relay__room_signal(relay_hub_t *hub, relay_room_t *room, const char *from, relay_session_t *sender,
                        int64_t call, relay_bytes_t name, relay_bytes_t body) {
  relay__text_t *text = &hub->scratch.text;
  text->size = 0;
  relay__puts(text, "{\"type\":\"signal\",\"room\":\"");
  relay__put(text, room->named.name, room->named.length);
  relay__puts(text, "\",\"from\":\"");
  relay__puts(text, from);
  relay__puts(text, "\",\"name\":");
  relay__put(text, name.at, name.count);
  if (body.at) {
    relay__puts(text, ",\"body\":");
    relay__put(text, body.at, body.count);
  }
  relay__puts(text, "}");
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  if (call)
    fan_out_in_call(hub, room, frame, sender, call);
  else
    fan_out(hub, room, frame, sender);
  hub->stats.signals++;
  relay__frame_release(hub, frame);
}

/* The functions of relay.h */

relay_status_t relay_room_restore_message(relay_hub_t *hub, relay_id_t id, int64_t seq, int64_t time,
                                          relay_id_t from) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return RELAY_GONE;
  /* The seqs of the ring are contiguous. */
  const int64_t newest = room->entry_count
                             ? room->entries[(room->first + room->entry_count - 1) % room->entry_capacity].seq
                             : room->cursor;
  if (room->entry_count ? seq != newest + 1 : seq <= newest) return RELAY_NOT_THERE;
  if (seq > room->seq || room->tail_count) return RELAY_NOT_THERE;
  /* A time in the future means that the wall clock was set back since. */
  const relay__entry_t entry = {seq, time < hub->clock.now ? time : hub->clock.now, hub->clock.now, from,
                                NULL};
  keep(hub, room, &entry);
  return RELAY_OK;
}

char *relay_room_tail(const relay_hub_t *hub, relay_id_t room_id, int64_t after, size_t *size,
                      size_t *count) {
  const relay_room_t *room = relay__room_find(hub, room_id);
  relay__text_t text = {0};
  *size = *count = 0;
  if (!room || after > room->seq || room->seq - after > room->tail_count) return NULL;
  relay__text_extend(&text, 1);
  text.size = 0;
  for (int64_t seq = after + 1; seq <= room->seq; seq++) {
    const uint32_t back = (uint32_t)(room->seq - seq) + 1;
    const relay__entry_t *entry =
        &room->entries[(room->first + room->entry_count - back) % room->entry_capacity];
    const uint32_t frame_size = entry->frame->size;
    const size_t skip = relay__frame_header_of(entry->frame) + prefix_size(room);
    relay__puts(&text, *count ? ",{" : "{");
    relay__put(&text, entry->frame->bytes + skip, frame_size - skip);
    (*count)++;
  }
  *size = text.size;
  return text.at;
}

void relay_room_trim(relay_hub_t *hub, relay_id_t id, int64_t first) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return;
  while (room->tail_count && room->seq - room->tail_count + 1 < first) forget_oldest_frame(hub, room);
  relay__away_trim(hub, room);
}

int64_t relay_room_publish(relay_hub_t *hub, relay_id_t id, relay_message_t *message) {
  relay_room_t *room = relay__room_find(hub, id);
  return room ? relay__room_publish(hub, room, message, relay__session_find(hub, message->sender)) : 0;
}

relay_status_t relay_room_send_event(relay_hub_t *hub, relay_id_t id, relay_id_t sender, int64_t seq,
                                     relay_bytes_t json) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return RELAY_GONE;
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, json.at, json.count);
  send_readable(hub, room, seq, frame, seq ? NULL : frame, relay__session_find(hub, sender));
  relay__frame_release(hub, frame);
  return RELAY_OK;
}

relay_status_t relay_room_signal(relay_hub_t *hub, relay_id_t id, const char *from, relay_id_t sender,
                                 relay_bytes_t name, relay_bytes_t body) {
  relay_room_t *room = relay__room_find(hub, id);
  if (!room) return RELAY_GONE;
  relay__room_signal(hub, room, from, relay__session_find(hub, sender), 0, name, body);
  return RELAY_OK;
}
