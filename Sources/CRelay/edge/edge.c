// SPDX-License-Identifier: Apache-2.0
/* Creates and ends the edge: the listener, HTTP connections and libwebsockets. Also has the small functions
 * of link.h that belong to no other file. */
#include <stdlib.h>
#include <unistd.h>

#include "edge.h"

bool relay__edge_open(relay_hub_t *hub, const relay__link_calls_t *calls) {
  relay__edge_t *edge = hub->edge = relay__allocate(sizeof *edge);
  edge->calls = calls;
  edge->listener_fd = -1;
  edge->spare_fd = dup(2);
  edge->kept_pipe = -1;
  relay__descriptors();
  relay__connections_open(&edge->connections, &hub->config);
  uv_timer_init(&hub->loop.uv, &edge->accept_again);
  uv_timer_init(&hub->loop.uv, &edge->quiet);
  edge->accept_again.data = edge->quiet.data = hub;
  return relay__websocket_open(hub);
}

void relay__edge_end_http(relay_hub_t *hub) {
  relay_hub_close_listener(hub);
  while (hub->edge->http) relay__connection_cut(hub->edge->http);
}

void relay__edge_shut_down(relay_hub_t *hub) {
  relay__edge_t *edge = hub->edge;
  relay__edge_end_http(hub);
  relay__websocket_shut_down(hub);
  uv_close((uv_handle_t *)&edge->accept_again, NULL);
  uv_close((uv_handle_t *)&edge->quiet, NULL);
}

void relay__edge_close(relay_hub_t *hub) {
  relay__websocket_close(hub);
}

void relay__edge_free(relay_hub_t *hub) {
  relay__edge_t *edge = hub->edge;
  relay__connections_close(&edge->connections);
  relay__slots_free(&edge->exchanges);
  relay__names_free(&edge->shares);
  if (edge->spare_fd >= 0) close(edge->spare_fd);
  free(edge);
  hub->edge = NULL;
}

void relay__edge_timer(relay__timer_t *timer) {
  relay__connection_timer(
      (relay__connection_t *)(void *)((char *)timer - offsetof(relay__connection_t, timer)));
}

const relay_http_t *relay__edge_request(const relay_hub_t *hub, relay_id_t id) {
  const relay_exchange_t *exchange = relay__slots_find(&hub->edge->exchanges, id);
  return exchange ? &exchange->http : NULL;
}

const relay_http_t *relay__edge_held_request(const relay_hub_t *hub, relay_id_t id) {
  const relay_exchange_t *exchange = relay__slots_find(&hub->edge->exchanges, id);
  return exchange && exchange->is_answered_held ? &exchange->http : NULL;
}

void relay__edge_count(const relay_hub_t *hub, relay_counts_t *counts) {
  const relay__edge_t *edge = hub->edge;
  counts->connections = edge->connections.count;
  counts->exchanges = edge->exchanges.alive;
  counts->exchange_bytes = edge->exchange_bytes;
}
