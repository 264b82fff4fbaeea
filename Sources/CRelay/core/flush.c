// SPDX-License-Identifier: Apache-2.0
/* Writes the outboxes of sessions, and handles the result: an empty outbox, a blocked socket, a broken
 * connection or an overflow. */
#include "core.h"

static void note_blocked(const relay_hub_t *hub, relay_session_t *session) {
  session->is_blocked = true;
  if (!session->blocked) session->blocked = hub->clock.now;
}

static void note_drained(relay_hub_t *hub, relay_session_t *session) {
  session->is_blocked = false;
  if (session->blocked) session->drained = hub->clock.now;
  session->blocked = 0;
  if (session->is_paused) relay__session_regulate(hub, session);
  if (session->pending && !session->open_requests) relay__session_resume_soon(hub, session);
}

void relay__session_flush(relay_hub_t *hub, relay_session_t *session) {
  session->is_dirty = false;
  if (session->has_overflowed && session->state != RELAY__CLOSING) {
    relay__session_close(hub, session, RELAY_CLOSE_TOO_SLOW, "too slow: the outgoing queue was full", -1);
    session->is_dirty = false; /* set by the close, whose frames are written below */
  }
  if (session->needs_ping && !session->ping_is_out && session->state == RELAY__OPEN)
    relay__session_ping(hub, session);
  switch (relay__outbox_write(hub, session)) {
  case RELAY__WRITTEN:
    note_drained(hub, session);
    break;
  case RELAY__WRITE_BLOCKED:
    note_blocked(hub, session);
    if (session->outbox.reply_bytes > RELAY__REPLIES) relay__session_regulate(hub, session);
    break;
  case RELAY__WRITE_FAILED:
    relay__session_cut(session);
    relay__outbox_drop(hub, &session->outbox, false);
    break;
  }
}

/* Writes batched events, at most once in RELAY__BATCH_MS. If a session has another frame to write, flush() in
 * hub.c has already written its batched events in the same write, in their order. */
void relay__sessions_flush_batched(relay_hub_t *hub) {
  if (!hub->batch.sessions.count) return;
  if (hub->clock.loop < hub->batch.due) {
    relay__timer_set_earlier(hub, &hub->batch.timer, RELAY__TIMER_BATCH, hub->batch.due);
    return;
  }
  for (uint32_t i = 0; i < hub->batch.sessions.count; i++) {
    relay_session_t *session = relay__session_find(hub, hub->batch.sessions.ids[i]);
    if (!session) continue;
    session->is_batched = false;
    if (session->outbox.count && !session->is_blocked) relay__session_flush(hub, session);
  }
  hub->batch.sessions.count = 0;
  hub->batch.due = hub->clock.loop + RELAY__BATCH_MS;
}
