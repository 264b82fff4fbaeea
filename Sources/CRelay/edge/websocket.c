// SPDX-License-Identifier: Apache-2.0
/* Sessions over libwebsockets, on the hub's own libuv loop.
 *
 * The library gets a connection when its handshake is checked and allowed. It then reads a head that this
 * file writes, so it never parses the head of a client. */
#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "edge.h"

enum {
  HEAD_ROOM = 512, /* the library's buffer for the head, in bytes */
  UPGRADE_SECONDS = 10,
};

/* An upgrade while the library adopts its socket. */
typedef struct adoption {
  const relay__upgrade_t *upgrade;
  relay__arrival_t arrival;
  bool is_open, has_ended;
} adoption_t;

struct relay__websockets {
  struct lws_context *context;
  struct lws_vhost *vhost;
  struct lws_protocols protocols[2]; /* the second one ends the list */
  int pipe;                          /* the library's event pipe, see pipe.c; -1: none */
  adoption_t *adoption;              /* NULL except during relay__websocket_adopt() */
};

/* The library's user data of each connection. */
typedef struct slot {
  relay_session_t *session;
} slot_t;

/* The core's calls */

bool relay__link_write(relay__link_t *link, const uint8_t *at, size_t size) {
  /* With LWS_WRITE_HTTP the library does not change the bytes, so the cast is safe. */
  return lws_write(link, (unsigned char *)at, size, LWS_WRITE_HTTP) >= 0;
}

bool relay__link_is_blocked(const relay__link_t *link) {
  return lws_partial_buffered((struct lws *)link);
}

void relay__link_want_write(relay__link_t *link) {
  lws_callback_on_writable(link);
}

bool relay__link_is_within_frame(relay__link_t *link) {
  return lws_remaining_packet_payload(link) > 0;
}

void relay__link_read(relay__link_t *link) {
  struct lws_pollfd event = {.fd = lws_get_socket_fd(link), .events = LWS_POLLIN, .revents = LWS_POLLIN};
  lws_service_fd(lws_get_context(link), &event);
}

void relay__link_pause(relay__link_t *link) {
  lws_rx_flow_control(link, 0);
}

void relay__link_resume(relay__link_t *link) {
  lws_rx_flow_control(link, 1);
}

void relay__link_cut(relay__link_t *link) {
  /* The library then reads the end of the stream, or fails to write, and closes the connection. */
  shutdown(lws_get_socket_fd(link), SHUT_RDWR);
  lws_rx_flow_control(link, 1);
}

/* The library's calls */

static void open_session(relay_hub_t *hub, struct lws *wsi, slot_t *slot) {
  adoption_t *adoption = hub->edge->websockets->adoption;
  adoption->is_open = true;
  adoption->arrival.link = wsi;
  relay__note_churn(hub);
  char peer[RELAY__ADDRESS_TEXT] = "";
  if (hub->config.logs_debug) relay__address_print(adoption->upgrade->address, peer);
  adoption->arrival.peer = peer;
  slot->session = hub->edge->calls->opened(hub, &adoption->arrival);
  adoption->arrival.peer = NULL;
  hub->stats.sessions++;
}

/* Called when the library destroys a connection. If the adoption fails, the library may not have the client
 * of the connection yet, so it is taken from the adoption. */
static void end_connection(relay_hub_t *hub, struct lws *wsi) {
  adoption_t *adoption = hub->edge->websockets->adoption;
  if (adoption && !adoption->is_open) {
    adoption->has_ended = true;
    relay__connection_ended(hub, adoption->upgrade->connection_client);
    return;
  }
  relay__connection_ended(hub, lws_get_opaque_user_data(wsi));
}

/* The library calls this for each event of a connection. A result other than 0 closes the connection.
 * LWS_CALLBACK_CLOSED follows for each session. */
static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
  slot_t *slot = user;
  relay_hub_t *hub = lws_context_user(lws_get_context(wsi));
  if (!hub) return 0;
  relay__clock_read(hub);
  relay_session_t *session = slot ? slot->session : NULL;
  switch (reason) {
  case LWS_CALLBACK_WSI_DESTROY:
    end_connection(hub, wsi);
    return 0;
  case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
    if (hub->edge->websockets->adoption)
      lws_set_opaque_user_data(wsi, hub->edge->websockets->adoption->upgrade->connection_client);
    return 0;
  case LWS_CALLBACK_ESTABLISHED:
    if (!hub->edge->websockets->adoption) return -1; /* relay__websocket_adopt() has failed already */
    open_session(hub, wsi, slot);
    return 0;
  case LWS_CALLBACK_RECEIVE:
    if (session)
      hub->edge->calls->received(hub, session, in, size, lws_is_first_fragment(wsi),
                                 lws_is_final_fragment(wsi), lws_frame_is_binary(wsi));
    return 0;
  case LWS_CALLBACK_RECEIVE_PONG:
    if (session) hub->edge->calls->ponged(hub, session, in, size);
    return 0;
  case LWS_CALLBACK_SERVER_WRITEABLE:
    if (session) hub->edge->calls->writable(hub, session);
    return 0;
  case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    /* libwebsockets 4.1.6 would echo a close frame whose payload is half a code. RFC 6455, section 7.1.5,
     * does not allow this. */
    if (size == 1) {
      lws_close_reason(wsi, LWS_CLOSE_STATUS_PROTOCOL_ERR, NULL, 0);
      return -1;
    }
    return session && hub->edge->calls->peer_closed(hub, session, in, size) ? 0 : -1;
  case LWS_CALLBACK_CLOSED:
    relay__note_churn(hub);
    if (session) hub->edge->calls->disconnected(hub, session);
    slot->session = NULL;
    return 0;
  case LWS_CALLBACK_HTTP: /* cannot happen, because the head requests an upgrade */
    return -1;
  default:
    return 0;
  }
}

/* Writes the head that the library reads. The key is already checked. */
static void put_head(relay__text_t *out, const relay_hub_t *hub, const relay__upgrade_t *upgrade) {
  relay__puts(out, "GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ");
  relay__put(out, upgrade->key.at, upgrade->key.count);
  if (upgrade->has_subprotocol) {
    relay__puts(out, "\r\nSec-WebSocket-Protocol: ");
    relay__puts(out, hub->config.subprotocol);
  }
  relay__puts(out, "\r\n\r\n");
}

/* Gives the socket to the library, with the head and the bytes that the client sent behind its handshake. The
 * library calls callback() while it adopts the socket, so `websockets->adoption` has the state meanwhile. */
void relay__websocket_adopt(relay_hub_t *hub, const relay__upgrade_t *upgrade) {
  relay__websockets_t *websockets = hub->edge->websockets;
  const relay_bytes_t authorization = upgrade->authorization;
  adoption_t adoption = {.upgrade = upgrade, .arrival.client = upgrade->session_client};
  const relay__address_t address = relay__address_client(upgrade->address);
  memcpy(adoption.arrival.address, address.bytes, sizeof address.bytes);
  if (authorization.at)
    adoption.arrival.authorization = relay__copy_string(authorization.at, authorization.count);
  relay__text_t bytes = {0};
  put_head(&bytes, hub, upgrade);
  relay__put(&bytes, upgrade->behind.at, upgrade->behind.count);
  websockets->adoption = &adoption;
  const struct lws *wsi =
      lws_adopt_socket_vhost_readbuf(websockets->vhost, upgrade->socket, bytes.at, bytes.size);
  websockets->adoption = NULL;
  free(bytes.at);
  if (adoption.is_open) return;
  free(adoption.arrival.authorization);
  relay__client_release(hub, upgrade->session_client);
  if (adoption.has_ended) return;
  if (wsi)
    shutdown(upgrade->socket, SHUT_RDWR); /* the library has postponed the handshake: let it close */
  else
    relay__connection_ended(hub, upgrade->connection_client);
}

/* The library's log has no context, so all hubs share its destination. A client can cause some of the lines,
 * so there are at most ten a second. */
static void (*_Atomic library_log)(const char *line);

void relay_log_library(void (*log)(const char *line)) {
  library_log = log;
}

static void library_logged(int level, const char *line) {
  static _Atomic long second, count;
  (void)level;
  /* libwebsockets 4.1.6 logs this as an error for each connection that it adopts with bytes. */
  if (strstr(line, "adopt_socket_readbuf: calling service")) return;
  const long now = (long)(uv_hrtime() / 1000000000);
  if (second != now) {
    second = now;
    count = 0;
  }
  if (count++ >= 10) return;
  void (*log)(const char *) = library_log;
  if (!log) {
    fprintf(stderr, "libwebsockets: %s", line);
    return;
  }
  char text[512];
  snprintf(text, sizeof text, "libwebsockets: %.*s", (int)strcspn(line, "\r\n"), line);
  log(text);
}

/* Creates the context of libwebsockets on the loop of the hub. It does not listen and sends no pings of its
 * own. Its event pipe is found by a walk over the loop, so nothing else may be polled yet. */
bool relay__websocket_open(relay_hub_t *hub) {
  relay__websockets_t *websockets = hub->edge->websockets = relay__allocate(sizeof *websockets);
  websockets->pipe = -1;
  lws_set_log_level(LLL_ERR | LLL_WARN, library_logged);
  websockets->protocols[0] = (struct lws_protocols){.name = hub->config.subprotocol,
                                                    .callback = callback,
                                                    .per_session_data_size = sizeof(slot_t),
                                                    .rx_buffer_size = RELAY__READ,
                                                    .tx_packet_size = RELAY__WRITE};
  static const lws_retry_bo_t no_pings = {0}; /* heartbeat.c sends the pings */
  void *loops[] = {&hub->loop.uv};
  struct lws_context_creation_info info = {
      .port = CONTEXT_PORT_NO_LISTEN_SERVER,
      .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                 LWS_SERVER_OPTION_UV_NO_SIGSEGV_SIGFPE_SPIN,
      .foreign_loops = loops,
      .user = hub,
      .gid = (gid_t)-1,
      .uid = (uid_t)-1,
      .count_threads = 1,
      .timeout_secs = UPGRADE_SECONDS,
      .max_http_header_data2 = HEAD_ROOM,
      .server_string = "stillwire",
  };
  websockets->context = lws_create_context(&info);
  websockets->pipe = relay__pipe_find(&hub->loop.uv);
  struct lws_context_creation_info vhost = {
      .port = CONTEXT_PORT_NO_LISTEN_SERVER,
      .protocols = websockets->protocols,
      .retry_and_idle_policy = &no_pings,
      .timeout_secs = UPGRADE_SECONDS,
      .vhost_name = "stillwire",
  };
  websockets->vhost = websockets->context ? lws_create_vhost(websockets->context, &vhost) : NULL;
  return websockets->vhost;
}

void relay__websocket_shut_down(relay_hub_t *hub) {
  const relay__websockets_t *websockets = hub->edge->websockets;
  if (!websockets) return;
  if (websockets->context) lws_context_destroy(websockets->context);
  hub->edge->kept_pipe = relay__pipe_keep(websockets->pipe);
}

void relay__websocket_close(relay_hub_t *hub) {
  relay__websockets_t *websockets = hub->edge->websockets;
  if (!websockets) return;
  relay__pipe_closed(websockets->pipe, hub->edge->kept_pipe);
  /* With a foreign loop, lws_context_destroy() must be called twice: the first call closes the handles, and
   * the second one frees the context, after the loop has run. */
  if (websockets->context) lws_context_destroy(websockets->context);
  free(websockets);
  hub->edge->websockets = NULL;
}
