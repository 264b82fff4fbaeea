// SPDX-License-Identifier: Apache-2.0
/* The loop: libwebsockets on a libuv loop of our own, one iteration after another.
 *
 * An iteration reads what came and runs what woke us; then tick() runs timers, delivers events until
 * there are none, and writes each session that has something queued once. While a session probably has
 * more to be read, the write is put off for some iterations, so that more is joined into it.
 */
#include "internal.h"

#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  LATE = 200,
  CHURN = 1000,
  QUIET = 1000,
  ROUNDS = 16,
  POSTPONED = 16,
  ACCEPTS = 64,
  HEADERS = 16384,
  HEADER_SECONDS = 10,
  STARVED_LOG = 10000,
};

typedef struct connection { /* what the library keeps for us per connection */
  relay_session_t *session;
  relay_exchange_t *exchange;
} connection_t;

/* Many connections that came and went leave holes between those that stay; when it is quiet again, whole
 * pages of them are given back. */
static void give_back(uv_timer_t *timer) {
  ((relay_hub_t *)timer->data)->churn = 0;
  malloc_trim(0);
}

static void note_churn(relay_hub_t *hub) {
  if (++hub->churn >= CHURN && !hub->is_over) uv_timer_start(&hub->quiet, give_back, QUIET, 0);
}

/* The library's calls */

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
  connection_t *connection = user;
  relay_hub_t *hub = lws_context_user(lws_get_context(wsi));
  if (!hub) return 0;
  relay__clock_read(hub);
  relay_session_t *session = connection ? connection->session : NULL;
  switch (reason) {
  case LWS_CALLBACK_WSI_CREATE:
    hub->connections.count++;
    return 0;
  case LWS_CALLBACK_WSI_DESTROY:
    relay__connection_ended(hub, wsi);
    return 0;
  case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
    return relay__http_upgrade(hub, wsi, in);
  case LWS_CALLBACK_ESTABLISHED: {
    note_churn(hub);
    session = connection->session = relay__session_create(hub, wsi);
    hub->stats.sessions++;
    relay__client_admit(hub, wsi, &session->client); /* as it was at the handshake, a moment ago */
    if (hub->config.logs_debug) {
      char name[16], peer[RELAY__ADDRESS_TEXT];
      relay__address_print(relay__connection_address(hub, wsi), peer);
      relay__log(hub, RELAY_LOG_DEBUG, "session %s begins, from %s", relay__session_name(session->id, name),
                 peer);
    }
    const int length = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION);
    if (length > 0) {
      session->authorization = relay__allocate((size_t)length + 1);
      lws_hdr_copy(wsi, session->authorization, length + 1, WSI_TOKEN_HTTP_AUTHORIZATION);
    }
    return 0;
  }
  case LWS_CALLBACK_RECEIVE:
    if (session)
      relay__session_received(hub, session, in, size, lws_is_first_fragment(wsi), lws_is_final_fragment(wsi),
                              lws_frame_is_binary(wsi));
    return 0;
  case LWS_CALLBACK_RECEIVE_PONG:
    if (session) relay__session_ponged(hub, session, in, size);
    return 0;
  case LWS_CALLBACK_SERVER_WRITEABLE:
    if (session) {
      session->is_blocked = false;
      if (session->is_paused) session->heard = hub->clock;
      relay__outbox_flush(hub, session);
    }
    return 0;
  case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    /* libwebsockets 4.1.6 would echo a frame with half a code, which RFC 6455, section 7.1.5, does not allow.
     */
    if (size == 1) {
      lws_close_reason(wsi, LWS_CLOSE_STATUS_PROTOCOL_ERR, NULL, 0);
      return -1;
    }
    return session && relay__session_peer_closed(hub, session, in, size) ? 0 : -1;
  case LWS_CALLBACK_CLOSED:
    note_churn(hub);
    if (session) relay__session_disconnected(hub, session);
    connection->session = NULL;
    return 0;
  case LWS_CALLBACK_HTTP:
    return relay__http_request(hub, wsi, &connection->exchange, in, size);
  case LWS_CALLBACK_HTTP_BODY:
    return relay__http_body(hub, connection->exchange, in, size);
  case LWS_CALLBACK_HTTP_BODY_COMPLETION:
    return relay__http_body_complete(hub, connection->exchange);
  case LWS_CALLBACK_HTTP_WRITEABLE:
    return relay__http_writable(hub, &connection->exchange);
  case LWS_CALLBACK_RAW_ADOPT: /* after CONNECT */
    return -1;
  case LWS_CALLBACK_CLOSED_HTTP:
    note_churn(hub);
    if (connection) relay__http_closed(hub, &connection->exchange);
    return 0;
  default:
    return 0;
  }
}

/* The iteration */

relay_event_t *relay__event(relay_hub_t *hub, relay_event_kind_t kind, void *owned) {
  hub->events = relay__grow(hub->events, hub->event_count, &hub->event_capacity, sizeof *hub->events, 64);
  hub->owned = relay__grow(hub->owned, hub->event_count, &hub->owned_capacity, sizeof *hub->owned, 64);
  relay_event_t *event = &hub->events[hub->event_count];
  *event = (relay_event_t){.kind = kind};
  hub->owned[hub->event_count++] = owned;
  return event;
}

#define SWAP(type, a, b)                                                                                     \
  do {                                                                                                       \
    type swapped = a;                                                                                        \
    a = b;                                                                                                   \
    b = swapped;                                                                                             \
  } while (0)

/* New events may come while these are delivered, so they are gathered in the other array. */
static void deliver(relay_hub_t *hub) {
  const uint32_t count = hub->event_count;
  SWAP(relay_event_t *, hub->events, hub->spare_events);
  SWAP(void **, hub->owned, hub->spare_owned);
  SWAP(uint32_t, hub->event_capacity, hub->spare_event_capacity);
  SWAP(uint32_t, hub->owned_capacity, hub->spare_owned_capacity);
  hub->event_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    relay_event_t *event = &hub->spare_events[i];
    if (event->kind != RELAY_EVENT_HTTP) continue;
    const relay_exchange_t *exchange = relay__slots_find(&hub->exchanges, event->exchange);
    event->http = exchange ? &exchange->http : NULL; /* NULL: the client left before its request was told */
  }
  hub->callbacks.happened(hub->callbacks.context, hub->spare_events, count);
  for (uint32_t i = 0; i < count; i++) free(hub->spare_owned[i]);
}

static void flush(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->dirty_count; i++) {
    relay_session_t *session = relay__session_find(hub, hub->dirty[i]);
    if (session && session->is_dirty) relay__outbox_flush(hub, session);
  }
  hub->dirty_count = 0;
  relay__outbox_flush_batched(hub);
  if (!hub->round_began) return;
  relay__observe(&hub->stats.fan_out, uv_hrtime() - hub->round_began, hub->round_messages);
  hub->round_began = hub->round_messages = 0;
}

static void idle(uv_idle_t *handle) {
  (void)handle;
} /* that it runs is its use */

void relay__tick(relay_hub_t *hub) {
  /* After a pause of the whole process what came meanwhile is read before anybody is found to be silent. */
  const bool is_late = hub->heap_count && hub->clock - hub->heap[0]->due > LATE && !hub->was_late;
  hub->was_late = is_late;
  if (!is_late) relay__timers_run(hub);
  int rounds = 0;
  while ((hub->event_count || hub->resuming_count) && rounds++ < ROUNDS) {
    if (hub->event_count) deliver(hub);
    for (uint32_t i = 0; i < hub->resuming_count; i++) {
      relay_session_t *session = relay__session_find(hub, hub->resuming[i]);
      if (session) relay__session_resume(hub, session);
    }
    hub->resuming_count = 0;
  }
  relay__receipts_tell(hub);
  if (hub->has_more && hub->postponed++ < POSTPONED) {
    uv_idle_start(&hub->again, idle);
  } else {
    flush(hub);
    hub->postponed = 0;
    uv_idle_stop(&hub->again);
  }
  hub->has_more = false;
  hub->iteration++;
  if (hub->event_count || hub->resuming_count) uv_async_send(&hub->wake); /* let others read first */
  relay__timers_arm(hub);
}

static void prepared(uv_prepare_t *prepare) {
  relay_hub_t *hub = prepare->data;
  relay__clock_read(hub);
  relay__tick(hub);
  if (hub->stops) uv_stop(&hub->loop);
}

static void woken(uv_async_t *wake) {
  relay_hub_t *hub = wake->data;
  if (hub->is_over) return;
  relay__clock_read(hub);
  hub->callbacks.woken(hub->callbacks.context);
}

/* Connections */

static void resume_accept(uv_timer_t *timer);

static void acceptable(uv_poll_t *poll, int status, int events) {
  relay_hub_t *hub = poll->data;
  (void)events;
  if (status < 0) return;
  for (int i = 0; i < ACCEPTS; i++) {
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    const int socket =
        accept4(hub->listener_fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      relay__connection_accepted(hub, socket, (struct sockaddr *)&from);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      /* The connection stays in the backlog and the poll would spin: turn this one away, and rest. */
      if (!hub->starved || hub->clock - hub->starved > STARVED_LOG) {
        relay__log(hub, RELAY_LOG_ERROR, "no file descriptor is left for a new connection");
        hub->starved = hub->clock;
      }
      if (hub->spare_fd >= 0) {
        close(hub->spare_fd);
        const int turned_away = accept4(hub->listener_fd, NULL, NULL, SOCK_CLOEXEC);
        if (turned_away >= 0) relay__connection_refuse(hub, turned_away);
        hub->spare_fd = dup(2);
      }
      uv_poll_stop(&hub->listener);
      uv_timer_start(&hub->accept_again, resume_accept, 100, 0);
    }
    return;
  }
}

static void resume_accept(uv_timer_t *timer) {
  relay_hub_t *hub = timer->data;
  if (hub->is_listening) uv_poll_start(&hub->listener, UV_READABLE, acceptable);
}

static int open_listener(const char *address, uint16_t *port) {
  char service[8];
  snprintf(service, sizeof service, "%u", *port);
  const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found;
  if (getaddrinfo(address, service, &hints, &found)) return -EADDRNOTAVAIL;
  const int on = 1;
  int result = 0;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    result = -errno;
  else if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
           bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 4096)) {
    result = -errno;
    close(fd);
  }
  freeaddrinfo(found);
  if (result) return result;
  struct sockaddr_storage bound;
  socklen_t size = sizeof bound;
  getsockname(fd, (struct sockaddr *)&bound, &size);
  *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                            : ((struct sockaddr_in *)&bound)->sin_port);
  return fd;
}

int relay_hub_listen(relay_hub_t *hub) {
  hub->port = hub->config.port;
  const int fd = open_listener(hub->address, &hub->port);
  if (fd < 0) return -fd;
  hub->listener_fd = fd;
  uv_poll_init(&hub->loop, &hub->listener, fd);
  hub->listener.data = hub;
  hub->is_listening = true;
  return uv_poll_start(&hub->listener, UV_READABLE, acceptable) ? EIO : 0;
}

uint16_t relay_hub_port(const relay_hub_t *hub) {
  return hub->port;
}

static void close_descriptor(uv_handle_t *handle) {
  close(((relay_hub_t *)handle->data)->listener_fd);
}

void relay_hub_close_listener(relay_hub_t *hub) {
  if (!hub->is_listening) return;
  hub->is_listening = false;
  uv_timer_stop(&hub->accept_again);
  uv_close((uv_handle_t *)&hub->listener, close_descriptor);
}

/* Life */

static void (*_Atomic library_log)(const char *line);

void relay_log_library(void (*log)(const char *line)) {
  library_log = log;
}

/* The library's log has no context, so all hubs share its destination; a client can provoke some of the
 * lines, so there are at most ten a second. */
static void library_logged(int level, const char *line) {
  static _Atomic long second, count;
  (void)level;
  const long now = (long)time(NULL);
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

/* Copies the types and their names into one block. */
static relay_request_type_t *copy_requests(const relay_request_type_t *requests, size_t count) {
  const size_t types = count * sizeof *requests;
  size_t names = 0;
  for (size_t i = 0; i < count; i++) names += strlen(requests[i].name) + 1;
  relay_request_type_t *copies = relay__allocate(types + names);
  char *name = (char *)copies + types;
  for (size_t i = 0; i < count; i++) {
    copies[i] = (relay_request_type_t){.name = name, .rate = requests[i].rate};
    name = stpcpy(name, requests[i].name) + 1;
  }
  return copies;
}

relay_hub_t *relay_hub_create(const relay_config_t *config, const relay_callbacks_t *callbacks) {
  relay_hub_t *hub = relay__allocate(sizeof *hub);
  hub->config = *config;
  hub->limits = config->limits;
  hub->callbacks = *callbacks;
  hub->address = relay__copy_string(config->address, strlen(config->address));
  hub->subprotocol = relay__copy_string(config->subprotocol, strlen(config->subprotocol));
  hub->path = relay__copy_string(config->path, strlen(config->path));
  hub->origins = relay__copy_string(config->origins, strlen(config->origins));
  hub->hosts =
      relay__copy_string(config->hosts ? config->hosts : "", config->hosts ? strlen(config->hosts) : 0);
  if (config->requests) {
    hub->requests = copy_requests(config->requests, config->request_count);
    hub->request_count = config->request_count;
  }
  relay__connections_create(&hub->connections, config);
  hub->parser = relay_json_parser_create();
  hub->join = relay__allocate(RELAY__WRITE);
  hub->listener_fd = -1;
  hub->spare_fd = dup(2);
  uv_loop_init(&hub->loop);
  uv_prepare_init(&hub->loop, &hub->prepare);
  uv_async_init(&hub->loop, &hub->wake, woken);
  uv_timer_init(&hub->loop, &hub->timer);
  uv_idle_init(&hub->loop, &hub->again);
  uv_timer_init(&hub->loop, &hub->accept_again);
  uv_timer_init(&hub->loop, &hub->quiet);
  hub->prepare.data = hub->wake.data = hub->timer.data = hub->accept_again.data = hub->quiet.data = hub;
  relay__clock_start(hub);

  lws_set_log_level(LLL_ERR | LLL_WARN, library_logged);
  hub->protocols[0] = (struct lws_protocols){.name = hub->subprotocol,
                                             .callback = callback,
                                             .per_session_data_size = sizeof(connection_t),
                                             .rx_buffer_size = RELAY__READ,
                                             .tx_packet_size = RELAY__WRITE};
  static const lws_retry_bo_t no_pings = {0}; /* ours are made in session.c */
  void *loops[] = {&hub->loop};
  relay__descriptors();
  struct lws_context_creation_info info = {
      .port = CONTEXT_PORT_NO_LISTEN_SERVER,
      .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                 LWS_SERVER_OPTION_UV_NO_SIGSEGV_SIGFPE_SPIN,
      .foreign_loops = loops,
      .user = hub,
      .gid = (gid_t)-1,
      .uid = (uid_t)-1,
      .count_threads = 1,
      .timeout_secs = HEADER_SECONDS,
      .max_http_header_data2 = HEADERS,
      .server_string = "stillwire",
  };
  hub->context = lws_create_context(&info);
  hub->pipe = relay__pipe_find(&hub->loop);
  struct lws_context_creation_info vhost = {
      .port = CONTEXT_PORT_NO_LISTEN_SERVER,
      .protocols = hub->protocols,
      .retry_and_idle_policy = &no_pings,
      .keepalive_timeout = 60,
      .timeout_secs = HEADER_SECONDS,
      .vhost_name = "stillwire",
  };
  hub->vhost = hub->context ? lws_create_vhost(hub->context, &vhost) : NULL;
  if (!hub->vhost) {
    relay_hub_destroy(hub);
    return NULL;
  }
  return hub;
}

/* Sessions and exchanges end; rooms and users stay, so that late calls find what they name. */
static void shut_down(relay_hub_t *hub) {
  if (hub->is_over) return;
  hub->is_over = true;
  relay_hub_close_listener(hub);
  if (hub->context) lws_context_destroy(hub->context);
  const int kept = relay__pipe_keep(hub->pipe);
  uv_close((uv_handle_t *)&hub->prepare, NULL);
  uv_unref((uv_handle_t *)&hub->wake); /* other threads may use it until the hub is destroyed */
  uv_close((uv_handle_t *)&hub->timer, NULL);
  uv_close((uv_handle_t *)&hub->again, NULL);
  uv_close((uv_handle_t *)&hub->accept_again, NULL);
  uv_close((uv_handle_t *)&hub->quiet, NULL);
  relay__clock_stop(hub);
  uv_run(&hub->loop, UV_RUN_DEFAULT);
  relay__pipe_closed(hub->pipe, kept);
  /* The first call closed its handles; on a loop of ours the second, after the loop, frees. */
  if (hub->context) lws_context_destroy(hub->context);
  hub->context = NULL;
}

void relay__hub_begin(relay_hub_t *hub) {
  uv_prepare_start(&hub->prepare, prepared);
}

void relay_hub_run(relay_hub_t *hub) {
  relay__hub_begin(hub);
  uv_run(&hub->loop, UV_RUN_DEFAULT);
  shut_down(hub);
}

void relay_hub_flush(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->rooms.count; i++)
    if (hub->rooms.items[i]) relay__room_flush(hub, hub->rooms.items[i]);
  for (uint32_t i = 0; i < hub->users.count; i++) {
    const relay_user_t *user = hub->users.items[i];
    if (user && user->was_online) relay__user_seen(hub, user);
  }
}

void relay_hub_set_limits(relay_hub_t *hub, const relay_limits_t *limits) {
  const relay_limits_t before = hub->limits;
  hub->limits = *limits;
  hub->limits.connections = before.connections;
  hub->limits.connections_per_address = before.connections_per_address;
  hub->limits.requests_per_user = before.requests_per_user;
  hub->limits.unsent_per_user = before.unsent_per_user;
  hub->limits.unsent = before.unsent;
}

void relay_hub_stop(relay_hub_t *hub) {
  hub->stops = true;
  if (!hub->is_over) uv_async_send(&hub->wake);
}

static void free_rooms_and_users(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->rooms.count; i++) {
    relay_room_t *room = hub->rooms.items[i];
    if (!room) continue;
    for (uint32_t j = 0; j < room->member_count; j++) room->members[j]->due_at = 0;
    room->flags |= RELAY_ROOM_STORED;
    relay_room_release(hub, room->id);
  }
  for (uint32_t i = 0; i < hub->users.count; i++) {
    relay_user_t *user = hub->users.items[i];
    if (!user) continue;
    user->grace_until = 0;
    user->is_pending = false;
    user->holds = 0;
    free(user->buckets);
    user->buckets = NULL;
    relay__user_release(hub, user);
  }
}

void relay_hub_destroy(relay_hub_t *hub) {
  shut_down(hub);
  uv_close((uv_handle_t *)&hub->wake, NULL);
  uv_run(&hub->loop, UV_RUN_DEFAULT);
  uv_loop_close(&hub->loop);
  free_rooms_and_users(hub);
  for (uint32_t i = 0; i < hub->event_count; i++) free(hub->owned[i]);
  if (hub->spare_fd >= 0) close(hub->spare_fd);
  relay__slots_free(&hub->sessions);
  relay__slots_free(&hub->rooms);
  relay__slots_free(&hub->users);
  relay__slots_free(&hub->exchanges);
  relay__connections_destroy(&hub->connections);
  relay__names_free(&hub->room_names);
  relay__names_free(&hub->user_names);
  relay__names_free(&hub->shares);
  relay_json_parser_destroy(hub->parser);
  void *const blocks[] = {hub->heap,     hub->dirty,       hub->resuming, hub->events, hub->spare_events,
                          hub->owned,    hub->spare_owned, hub->text.at,  hub->join,   hub->address,
                          hub->path,     hub->subprotocol, hub->origins,  hub->hosts,  hub->requests,
                          hub->receipts, hub->followed,    hub->batched};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
  free(hub);
}

void relay_hub_wake(relay_hub_t *hub) {
  uv_async_send(&hub->wake);
}

int64_t relay_hub_next_due(const relay_hub_t *hub) {
  return hub->heap_count ? hub->now + hub->heap[0]->due - hub->clock : INT64_MAX;
}

relay_counts_t relay_hub_counts(const relay_hub_t *hub) {
  return (relay_counts_t){
      .connections = hub->connections.count,
      .sessions = hub->sessions.alive,
      .users = hub->users.alive,
      .rooms = hub->rooms.alive,
      .members = hub->members,
      .seats = hub->seats,
      .watches = hub->watches,
      .timers = hub->heap_count,
      .exchanges = hub->exchanges.alive,
      .events = hub->event_count,
      .frames = hub->frames,
      .frame_bytes = hub->frame_bytes,
      .exchange_bytes = hub->exchange_bytes,
  };
}
