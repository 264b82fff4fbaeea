// SPDX-License-Identifier: Apache-2.0
/* Frames, which are built once and shared by reference, and the outbox of each session: a queue of frames
 * that wait to be written. flush.c decides when an outbox is written. */
#include "core.h"

#include <stdlib.h>

relay_frame_t *relay__frame_create(relay_hub_t *hub, int opcode, const void *payload, size_t size) {
  const size_t header = relay__frame_header(size);
  relay_frame_t *frame = relay__resize(NULL, sizeof *frame + header + size);
  frame->references = 1;
  frame->room = 0;
  frame->page = RELAY__NO_PAGE;
  frame->size = (uint32_t)(header + size);
  uint8_t *at = frame->bytes;
  *at++ = (uint8_t)(0x80 | opcode);
  if (size < 126) {
    *at++ = (uint8_t)size;
  } else if (size < 65536) {
    *at++ = 126;
    *at++ = (uint8_t)(size >> 8);
    *at++ = (uint8_t)size;
  } else {
    *at++ = 127;
    for (int shift = 56; shift >= 0; shift -= 8) *at++ = (uint8_t)((uint64_t)size >> shift);
  }
  if (size) memcpy(at, payload, size);
  hub->objects.frames++;
  hub->objects.frame_bytes += frame->size;
  return frame;
}

void relay__frame_release(relay_hub_t *hub, relay_frame_t *frame) {
  if (--frame->references) return;
  hub->objects.frames--;
  hub->objects.frame_bytes -= frame->size;
  free(frame);
}

static relay_frame_t *frame_of(uintptr_t entry) {
  return (relay_frame_t *)(entry & ~(uintptr_t)1);
}

void relay__outbox_mark_dirty(relay_hub_t *hub, relay_session_t *session) {
  if (session->is_dirty || session->is_blocked) return;
  session->is_dirty = true;
  relay__ids_add(&hub->work.dirty, session->id);
}

/* The entries that wait; the first one may have begun. */
static uintptr_t *waiting_in(const relay__outbox_t *outbox) {
  return (outbox->capacity ? outbox->many : (uintptr_t *)&outbox->one) + outbox->head;
}

/* Removes the first frame from the queue. */
static void pop(relay_hub_t *hub, relay__outbox_t *outbox) {
  const uintptr_t entry = *waiting_in(outbox);
  relay_frame_t *frame = frame_of(entry);
  if (entry & 1)
    outbox->reply_bytes -= frame->size;
  else
    outbox->event_bytes -= frame->size;
  relay__frame_release(hub, frame);
  outbox->head++;
  outbox->sent = 0;
  if (--outbox->count) return;
  outbox->head = 0;
  if (outbox->capacity) free(outbox->many); /* so that an idle session needs no memory for its queue */
  outbox->capacity = 0;
}

void relay__outbox_drop(relay_hub_t *hub, relay__outbox_t *outbox, bool keeps_begun) {
  const uint32_t sent = outbox->sent;
  const bool keeps = keeps_begun && sent && outbox->count;
  const uintptr_t begun = keeps ? *waiting_in(outbox) : 0;
  if (keeps) frame_of(begun)->references++;
  while (outbox->count) pop(hub, outbox);
  *outbox = (relay__outbox_t){0};
  if (!keeps) return;
  outbox->one = begun;
  outbox->count = 1;
  outbox->sent = sent;
  if (begun & 1)
    outbox->reply_bytes = frame_of(begun)->size;
  else
    outbox->event_bytes = frame_of(begun)->size;
}

/* Makes space for one more frame. A single frame is stored without an array, because most queues have no
 * more. */
static void make_room(relay__outbox_t *outbox) {
  if (outbox->head + outbox->count < (outbox->capacity ? outbox->capacity : 1)) return;
  if (outbox->head) {
    memmove(outbox->many, outbox->many + outbox->head, outbox->count * sizeof *outbox->many);
    outbox->head = 0;
    return;
  }
  const uintptr_t alone = outbox->one;
  const bool was_alone = !outbox->capacity;
  outbox->many =
      relay__grow(was_alone ? NULL : outbox->many, outbox->count, &outbox->capacity, sizeof *outbox->many, 8);
  if (was_alone) outbox->many[0] = alone;
}

static void enqueue(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame, bool is_reply) {
  relay__outbox_t *outbox = &session->outbox;
  make_room(outbox);
  frame->references++;
  const uintptr_t entry = (uintptr_t)frame | (is_reply ? 1 : 0);
  if (outbox->capacity)
    outbox->many[outbox->head + outbox->count] = entry;
  else
    outbox->one = entry;
  outbox->count++;
  if (is_reply) {
    outbox->reply_bytes += frame->size;
  } else {
    outbox->event_bytes += frame->size;
    if (hub->limits.outgoing_queue && outbox->event_bytes > hub->limits.outgoing_queue) {
      /* relay__session_flush() closes the session at the end of the iteration. A close now would remove its
       * seats while a fan-out iterates over them. */
      relay__outbox_drop(hub, outbox, true);
      session->has_overflowed = true;
      session->is_blocked = false;
    }
  }
}

/* After an overflow, a session accepts only `bye` and its close frame. */
static bool takes(const relay_session_t *session) {
  return !session->has_overflowed || session->state == RELAY__CLOSING;
}

void relay__outbox_add(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame, bool is_reply) {
  if (!takes(session)) return;
  enqueue(hub, session, frame, is_reply);
  relay__outbox_mark_dirty(hub, session);
}

void relay__outbox_add_before_pages(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame) {
  if (!takes(session)) return;
  relay__outbox_add(hub, session, frame, true);
  relay__outbox_t *outbox = &session->outbox;
  uintptr_t *entries = waiting_in(outbox);
  uint32_t at = outbox->sent ? 1 : 0;
  while (at < outbox->count && !frame_of(entries[at])->page) at++;
  if (at + 1 >= outbox->count) return;
  const uintptr_t entry = entries[outbox->count - 1];
  memmove(entries + at + 1, entries + at, (outbox->count - 1 - at) * sizeof *entries);
  entries[at] = entry;
}

/* Returns the id in the reply to a request; at: NULL if there is none. */
static relay_bytes_t id_in(const relay_frame_t *reply) {
  static const char head[] = "{\"type\":\"ok\",\"id\":";
  const char *text = (const char *)reply->bytes + relay__frame_header_of(reply);
  const char *end = (const char *)reply->bytes + reply->size;
  if ((size_t)(end - text) < sizeof head || memcmp(text, head, sizeof head - 1)) return (relay_bytes_t){0};
  const char *id = text + sizeof head - 1, *at = id;
  if (*at == '"')
    for (at++; at < end && *at != '"'; at++) at += *at == '\\';
  while (at < end && *at != ',' && *at != '}') at++;
  return at < end ? (relay_bytes_t){id, (size_t)(at - id)} : (relay_bytes_t){0};
}

static relay_frame_t *superseded(relay_hub_t *hub, const relay_frame_t *reply) {
  const relay_bytes_t id = id_in(reply);
  if (!id.at) return NULL;
  const relay__text_t *text =
      relay__error_text(hub, &id, "superseded", "a later join of the room has the reply", -1, 0);
  return relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
}

bool relay__outbox_supersede(relay_hub_t *hub, relay_session_t *session, relay_id_t room) {
  relay__outbox_t *outbox = &session->outbox;
  uintptr_t *entries = waiting_in(outbox);
  const uint32_t first = outbox->sent ? 1 : 0;
  uint32_t count = first;
  bool has_removed = false;
  for (uint32_t i = first; i < outbox->count; i++) {
    relay_frame_t *frame = frame_of(entries[i]);
    const bool is_old = frame->page >= RELAY__JOIN_PART && frame->room == room;
    relay_frame_t *error = is_old && frame->page == RELAY__JOIN ? superseded(hub, frame) : NULL;
    if (!is_old || error) entries[count++] = error ? (uintptr_t)error | 1 : entries[i];
    if (!is_old) continue;
    has_removed = true;
    outbox->reply_bytes += (error ? error->size : 0) - frame->size;
    relay__frame_release(hub, frame);
  }
  outbox->count = count;
  return has_removed;
}

void relay__outbox_add_batched(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame) {
  if (!takes(session)) return;
  enqueue(hub, session, frame, false);
  if (session->has_overflowed) relay__outbox_mark_dirty(hub, session);
  if (session->is_dirty || session->is_blocked || session->is_batched) return;
  session->is_batched = true;
  relay__ids_add(&hub->batch.sessions, session->id);
}

void relay__send_text(relay_hub_t *hub, relay_session_t *session, const relay__text_t *text, bool is_reply) {
  relay_frame_t *frame = relay__frame_create(hub, RELAY__TEXT, text->at, text->size);
  relay__outbox_add(hub, session, frame, is_reply);
  relay__frame_release(hub, frame);
}

/* Returns the bytes of one write. Several small frames are copied to `join`. A single frame, or a part of a
 * large one, is not copied. */
static size_t gather(relay_hub_t *hub, const relay__outbox_t *outbox, const uint8_t **at) {
  const relay_frame_t *first = frame_of(*waiting_in(outbox));
  const size_t rest = first->size - outbox->sent;
  *at = first->bytes + outbox->sent;
  if (outbox->count == 1 || rest >= RELAY__WRITE / 2) return rest < RELAY__WRITE ? rest : RELAY__WRITE;
  size_t size = 0;
  const uintptr_t *entries = waiting_in(outbox);
  for (uint32_t i = 0; i < outbox->count; i++) {
    const relay_frame_t *frame = frame_of(entries[i]);
    const size_t skip = i ? 0 : outbox->sent;
    if (size + frame->size - skip > RELAY__WRITE) break;
    memcpy(hub->scratch.join + size, frame->bytes + skip, frame->size - skip);
    size += frame->size - skip;
  }
  *at = hub->scratch.join;
  return size;
}

/* Removes bytes that are written from the queue. */
static void take_written(relay_hub_t *hub, relay__outbox_t *outbox, size_t size) {
  const uint32_t waiting = outbox->count;
  hub->stats.bytes_sent += size;
  while (size) {
    const size_t rest = frame_of(*waiting_in(outbox))->size - outbox->sent;
    if (size < rest) {
      outbox->sent += (uint32_t)size;
      break;
    }
    size -= rest;
    pop(hub, outbox);
  }
  hub->stats.frames_sent += waiting - outbox->count;
}

relay__written_t relay__outbox_write(relay_hub_t *hub, relay_session_t *session) {
  relay__outbox_t *outbox = &session->outbox;
  while (outbox->count) {
    if (relay__link_is_blocked(session->link)) {
      relay__link_want_write(session->link);
      return RELAY__WRITE_BLOCKED;
    }
    const uint8_t *at;
    const size_t size = gather(hub, outbox, &at);
    if (!relay__link_write(session->link, at, size)) return RELAY__WRITE_FAILED;
    take_written(hub, outbox, size);
  }
  return relay__link_is_blocked(session->link) ? RELAY__WRITE_BLOCKED : RELAY__WRITTEN;
}
