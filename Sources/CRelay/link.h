// SPDX-License-Identifier: Apache-2.0
/* link.h -- the interface between the core, which has rooms and no sockets, and the edge, which has sockets
 * and no rooms. Both run on the hub's thread and call each other directly.
 *
 * The edge also uses the hub's timers, clocks, limits, log, counters and events, which hub.h declares. It
 * never reads a session, a room or a user. */
#ifndef RELAY_LINK_H
#define RELAY_LINK_H

#include "core/hub.h"

/* The bytes of one read and of one write. */
enum { RELAY__READ = 256, RELAY__WRITE = 65536 };

/* The connection of a session: the struct of libwebsockets, so that a session needs no more memory. The core
 * keeps the pointer until `disconnected`, and never uses its members. */
typedef struct lws relay__link_t;

/* From the edge to the core */

/* The result of a handshake. The session owns the text and the client from then on. */
typedef struct relay__arrival {
  relay__link_t *link;
  char *authorization;     /* NULL when the field is absent */
  relay__client_t *client; /* the count that includes this session; NULL: it is not counted here */
  const char *peer;        /* the address for the log; without RELAY_LOG_DEBUG it is "" */
  uint8_t address[16];     /* of the client: an IPv4 address, or the /64 of an IPv6 address */
} relay__arrival_t;

/* The functions of the core that the edge calls for a session. They are a table, so that edge/ does not
 * depend on the files of core/ that know sessions. */
typedef struct relay__link_calls {
  /* A handshake has succeeded. Returns the new session. */
  relay_session_t *(*opened)(relay_hub_t *hub, const relay__arrival_t *arrival);
  /* A part of a message was received. */
  void (*received)(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size, bool is_first,
                   bool is_final, bool is_binary);
  void (*ponged)(relay_hub_t *hub, relay_session_t *session, const void *at, size_t size);
  /* The socket accepts bytes again. */
  void (*writable)(relay_hub_t *hub, relay_session_t *session);
  /* The client sends a close frame with this payload. Returns true if the edge may answer it. */
  bool (*peer_closed)(relay_hub_t *hub, relay_session_t *session, const uint8_t *at, size_t size);
  /* The connection is gone. Frees the session. */
  void (*disconnected)(relay_hub_t *hub, relay_session_t *session);
} relay__link_calls_t;

extern const relay__link_calls_t relay__session_calls; /* session.c */

/* From the core to the edge: websocket.c */

/* Writes bytes that are whole WebSocket frames, or parts of them in order. The edge keeps the bytes that the
 * socket does not accept. Returns false if the connection is broken. */
bool relay__link_write(relay__link_t *link, const uint8_t *at, size_t size);
/* True while the edge keeps such bytes. Do not write then: wait for `writable`. */
bool relay__link_is_blocked(const relay__link_t *link);
/* Requests a call of `writable`. */
void relay__link_want_write(relay__link_t *link);
/* True if the last read ended within the payload of a frame. */
bool relay__link_is_within_frame(relay__link_t *link);
/* Reads once without a wait for the loop. Afterwards the session may be gone. Not within `received`. */
void relay__link_read(relay__link_t *link);
/* Stops reading from the connection. */
void relay__link_pause(relay__link_t *link);
/* Reads from the connection again. */
void relay__link_resume(relay__link_t *link);
/* Ends the connection at once; `disconnected` follows. */
void relay__link_cut(relay__link_t *link);

/* From the core to the edge: edge.c */

/* Makes the edge of the hub. Returns false if libwebsockets cannot start. */
bool relay__edge_open(relay_hub_t *hub, const relay__link_calls_t *calls);
/* Closes the listener, and cuts all HTTP connections. */
void relay__edge_end_http(relay_hub_t *hub);
/* Ends all connections, and then all handles of the loop that belong to the edge. */
void relay__edge_shut_down(relay_hub_t *hub);
/* Frees libwebsockets' context, after the loop has run to its end. Later calls find no exchange. */
void relay__edge_close(relay_hub_t *hub);
/* Frees the edge, with the hub. */
void relay__edge_free(relay_hub_t *hub);
/* Subtracts one connection or request from the count of an address; NULL: does nothing. See connections.c. */
void relay__client_release(relay_hub_t *hub, relay__client_t *client);
/* A timer of the edge is due. */
void relay__edge_timer(relay__timer_t *timer);
/* The request of an HTTP exchange; NULL if the client has left. */
const relay_http_t *relay__edge_request(const relay_hub_t *hub, relay_id_t exchange);
/* The same for a request that is answered while the hub is held; NULL for any other one. */
const relay_http_t *relay__edge_held_request(const relay_hub_t *hub, relay_id_t exchange);
/* Fills in the counts of the edge. */
void relay__edge_count(const relay_hub_t *hub, relay_counts_t *counts);

#endif
