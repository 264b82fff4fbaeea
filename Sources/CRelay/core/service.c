// SPDX-License-Identifier: Apache-2.0
/* The service that clients get: relay_callbacks_t.service in relay.h. The leader of a cluster holds its hub
 * while it cannot prove that it still leads, and ends its service when another node leads. */
#include "core.h"

relay_service_t relay__service_read(relay_hub_t *hub) {
  if (!hub->callbacks.service || !hub->loop.is_running || hub->service.state == RELAY_ENDED)
    return hub->service.state;
  hub->service.state = hub->callbacks.service(hub->callbacks.context);
  if (hub->service.state == RELAY_HELD) hub->service.was_held = true;
  return hub->service.state;
}

static void resume(relay_hub_t *hub) {
  hub->service.was_held = false;
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    relay_session_t *session = hub->sessions.items[i];
    if (session && session->pending) relay__session_resume_soon(hub, session);
  }
  uv_async_send(&hub->loop.wake); /* `woken` was not called meanwhile */
}

static void end(relay_hub_t *hub) {
  static const char reason[] = "another node leads";
  hub->service.has_ended = true;
  relay__edge_end_http(hub);
  relay_hub_drain(hub, RELAY_CLOSE_SHUTDOWN, reason);
  for (uint32_t i = 0; i < hub->sessions.count; i++) {
    relay_session_t *session = hub->sessions.items[i];
    if (!session || session->state == RELAY__CLOSING) continue;
    relay__outbox_drop(hub, &session->outbox, true);
    relay__session_close(hub, session, RELAY_CLOSE_SHUTDOWN, reason, relay__drain_retry_after(hub));
  }
}

bool relay__service_begins(relay_hub_t *hub) {
  const relay_service_t service = relay__service_read(hub);
  if (service == RELAY_HELD) return false;
  if (service == RELAY_ENDED && !hub->service.has_ended) end(hub);
  if (hub->service.was_held) resume(hub);
  return true;
}
