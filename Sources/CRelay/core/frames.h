// SPDX-License-Identifier: Apache-2.0
/* frames.h -- frames, which are built once and shared by reference, and the outbox of each session. */
#ifndef RELAY_FRAMES_H
#define RELAY_FRAMES_H

#include "hub.h"

/* A page of the history of a room. On a slow connection pages wait, so the outbox treats them differently. */
typedef enum relay__page {
  RELAY__NO_PAGE,
  RELAY__HISTORY,   /* the reply to `history` */
  RELAY__JOIN_PART, /* an event before the reply to `join` */
  RELAY__JOIN,      /* the reply to `join` */
} relay__page_t;

struct relay_frame {
  uint32_t references;
  uint32_t size;
  relay_id_t room; /* of a page; else 0 */
  uint8_t page;    /* relay__page_t */
  uint8_t bytes[]; /* a WebSocket frame without a mask, with its header */
};

enum { RELAY__TEXT = 1, RELAY__CLOSE = 8, RELAY__PING = 9 };

/* Builds a frame. The caller has the only reference, and releases it. */
relay_frame_t *relay__frame_create(relay_hub_t *hub, int opcode, const void *payload, size_t size);
void relay__frame_release(relay_hub_t *hub, relay_frame_t *frame);
static inline size_t relay__frame_header(size_t payload) {
  return payload < 126 ? 2 : payload < 65536 ? 4 : 10;
}
static inline size_t relay__frame_header_of(const relay_frame_t *frame) {
  return frame->bytes[1] < 126 ? 2 : frame->bytes[1] == 126 ? 4 : 10;
}

typedef struct relay__outbox {
  union { /* pointers to frames; the lowest bit is set for a reply, and clear for an event */
    uintptr_t one;
    uintptr_t *many;
  };
  uint32_t head, count, capacity; /* capacity 0: `one` holds the only frame */
  uint32_t sent;                  /* bytes of the first frame that are written */
  uint32_t event_bytes, reply_bytes;
} relay__outbox_t;

/* Queues a frame, which is written at the end of the iteration. Takes a reference of its own. A
 * queue of events over the limit `outgoing_queue` is dropped, and the session is closed at the end
 * of the iteration. */
void relay__outbox_add(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame, bool is_reply);
/* Queues a reply before the first page that waits. */
void relay__outbox_add_before_pages(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame);
/* Removes the pages of a join of the room that wait and of which no byte is written. The reply becomes the
 * error `superseded` with the same id. Returns true if it has removed one. */
bool relay__outbox_supersede(relay_hub_t *hub, relay_session_t *session, relay_id_t room);
/* Queues an event that may wait up to RELAY__BATCH_MS, so that one write contains many events. Used when many
 * members join a large room at the same time. */
void relay__outbox_add_batched(relay_hub_t *hub, relay_session_t *session, relay_frame_t *frame);
/* Marks the session for relay__session_flush() at the end of the iteration. */
void relay__outbox_mark_dirty(relay_hub_t *hub, relay_session_t *session);

typedef enum relay__written { RELAY__WRITTEN, RELAY__WRITE_BLOCKED, RELAY__WRITE_FAILED } relay__written_t;

/* Writes the frames of the outbox until the socket blocks. */
relay__written_t relay__outbox_write(relay_hub_t *hub, relay_session_t *session);
/* Drops all frames; with `keeps_begun`, all but a frame whose first bytes are written. */
void relay__outbox_drop(relay_hub_t *hub, relay__outbox_t *outbox, bool keeps_begun);
void relay__send_text(relay_hub_t *hub, relay_session_t *session, const relay__text_t *text, bool is_reply);

#endif
