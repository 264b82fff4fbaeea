// SPDX-License-Identifier: Apache-2.0
/* The input of a session: messages from their fragments, frames that wait for an open request, and the bounds
 * of both. request.c handles the frames. */
#include "core.h"

#include <stdlib.h>

void relay__session_regulate(relay_hub_t *hub, relay_session_t *session) {
  (void)hub;
  if (!session->link) return;
  const bool is_closing = session->state == RELAY__CLOSING;
  const bool is_full = session->open_requests + session->pending_count >= RELAY__OPEN_REQUESTS ||
                       session->held_bytes + session->open_bytes > RELAY__HELD ||
                       session->outbox.reply_bytes > RELAY__REPLIES;
  const bool has_room = session->open_requests + session->pending_count <= RELAY__OPEN_REQUESTS / 2 &&
                        session->held_bytes + session->open_bytes <= RELAY__HELD / 2 &&
                        session->outbox.reply_bytes <= RELAY__REPLIES / 2;
  if (!session->is_paused && is_full && !is_closing) {
    session->is_paused = true;
    relay__link_pause(session->link);
  } else if (session->is_paused && (has_room || is_closing)) {
    session->is_paused = false;
    relay__link_resume(session->link);
  }
}

void relay__session_resume_soon(relay_hub_t *hub, relay_session_t *session) {
  if (session->resumes || session->state == RELAY__CLOSING) return;
  session->resumes = true;
  relay__ids_add(&hub->work.resuming, session->id);
}

static void read_soon(relay_hub_t *hub, relay_session_t *session) {
  if (session->is_unread) return;
  session->is_unread = true;
  relay__ids_add(&hub->work.unread, session->id);
}

void relay__session_read(relay_hub_t *hub, relay_session_t *session) {
  const bool has_link = session->link && !session->is_paused && session->state != RELAY__CLOSING;
  const bool was_full =
      session->read_bytes >= RELAY__READ || (has_link && relay__link_is_within_frame(session->link));
  session->is_unread = false;
  session->read_bytes = 0;
  session->iteration = hub->loop.iteration;
  if (!has_link || !was_full) return;
  hub->loop.has_more = true;
  relay__link_read(session->link);
}

static void append_pending(relay_session_t *session, const void *frame, size_t size) {
  relay__pending_t *pending = relay__resize(NULL, sizeof *pending + size);
  pending->size = (uint32_t)size;
  if (size) memcpy(pending->bytes, frame, size);
  pending->next = session->pending ? session->pending->next : pending;
  if (session->pending) session->pending->next = pending;
  session->pending = pending;
  session->pending_count++;
  session->held_bytes += pending->size;
}

/* Removes the oldest waiting frame from the list and returns it. The caller frees it. */
static relay__pending_t *take_pending(relay_session_t *session) {
  relay__pending_t *first = session->pending->next;
  if (first == session->pending)
    session->pending = NULL;
  else
    session->pending->next = first->next;
  session->pending_count--;
  session->held_bytes -= first->size;
  return first;
}

void relay__session_drop_input(relay_session_t *session) {
  while (session->pending) free(take_pending(session));
  free(session->gathered);
  session->gathered = NULL;
}

void relay__session_resume(relay_hub_t *hub, relay_session_t *session) {
  session->resumes = false;
  while (session->pending && session->state != RELAY__CLOSING &&
         session->outbox.reply_bytes <= RELAY__REPLIES) {
    const relay__pending_t *first = session->pending->next;
    if (!relay__request(hub, session, first->bytes, first->size)) break;
    if (session->state == RELAY__CLOSING) break; /* the close has freed the waiting frames */
    free(take_pending(session));
  }
  relay__session_regulate(hub, session);
}

static void received_whole(relay_hub_t *hub, relay_session_t *session, const char *at, size_t size) {
  relay__frozen_heard(hub, session);
  hub->stats.frames_received++;
  hub->stats.bytes_received += size;
  if (session->pending || !relay__request(hub, session, at, size)) append_pending(session, at, size);
  relay__session_regulate(hub, session);
}

/* Appends a fragment to the message that is being received. */
static void gather(relay_session_t *session, const void *at, size_t size) {
  relay__gathered_t *gathered = session->gathered;
  const uint32_t before = gathered ? gathered->size : 0;
  uint32_t capacity = gathered ? gathered->capacity : 0;
  if (!gathered || before + size > capacity) {
    if (!capacity) capacity = 2048;
    while (capacity < before + size) capacity *= 2;
    gathered = relay__resize(gathered, sizeof *gathered + capacity);
    gathered->capacity = capacity;
    session->gathered = gathered;
  }
  if (size) memcpy(gathered->bytes + before, at, size);
  gathered->size = before + (uint32_t)size;
}

void relay__session_received(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size,
                             bool is_first, bool is_final, bool is_binary) {
  if (session->state == RELAY__CLOSING) return;
  session->received_at = hub->clock.loop;
  /* The library reads at most RELAY__READ bytes at a time, and here they count without a frame that is not
   * whole. So after half of them the read may have been full, which relay__session_read() then checks. */
  if (session->iteration != hub->loop.iteration) session->read_bytes = 0;
  session->iteration = hub->loop.iteration;
  session->read_bytes += (uint32_t)size + 8;
  if (session->read_bytes > RELAY__READ / 2) read_soon(hub, session);
  if (is_binary) {
    relay__refuse(hub, session, NULL, "bad_request", "binary frames are not understood", -1);
    relay__session_close(hub, session, RELAY_CLOSE_BAD_REQUEST, "bad request: binary frame", -1);
    return;
  }
  const size_t gathered = session->gathered ? session->gathered->size : 0;
  const bool is_hello = session->state == RELAY__NEW && hub->limits.frame > RELAY__HELLO_SIZE;
  if (gathered + size > (is_hello ? RELAY__HELLO_SIZE : hub->limits.frame)) {
    relay__refuse(hub, session, NULL, "too_large",
                  is_hello ? "hello is longer than 16384 bytes"
                           : "the message is longer than the limit `limits.frame`",
                  -1);
    relay__session_close(hub, session, RELAY_CLOSE_TOO_LARGE, "message over the limit", -1);
    return;
  }
  if (is_first && is_final) {
    received_whole(hub, session, at, size);
    return;
  }
  gather(session, at, size);
  if (!is_final) return;
  relay__gathered_t *whole = session->gathered;
  session->gathered = NULL;
  received_whole(hub, session, whole->bytes, whole->size);
  free(whole);
}
