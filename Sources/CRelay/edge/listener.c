// SPDX-License-Identifier: Apache-2.0
/* The listening socket: accepts connections, or refuses them above the limits. */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "edge.h"

enum {
  ACCEPTS = 64,        /* connections in an iteration */
  STARVED_LOG = 10000, /* ms between two log lines about missing descriptors */
};

/* Answers without reading the request, and closes the socket. The client may not receive the answer. */
static void turn_away(relay_hub_t *hub, int socket, relay__refusal_t refusal) {
  char json[320];
  const relay__answer_t answer = {
      .status = refusal.status,
      .headers = "Content-Type: application/problem+json\r\nRetry-After: 5\r\n",
      .body = relay__problem(json, sizeof json, refusal),
      .closes = true,
  };
  relay__text_t out = {0};
  relay__put_status(&out, hub, refusal.status);
  relay__put_answer(&out, &answer);
  if (send(socket, out.at, out.size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) shutdown(socket, SHUT_WR);
  free(out.at);
  close(socket);
}

void relay__connection_refuse(relay_hub_t *hub, int socket) {
  const relay__refusal_t refusal = {503, "unavailable", "too many connections"};
  hub->stats.refused_full++;
  relay__log_refusal(hub, NULL, refusal);
  turn_away(hub, socket, refusal);
}

void relay__connection_accepted(relay_hub_t *hub, int socket, const struct sockaddr *from) {
  relay__connections_t *connections = &hub->edge->connections;
  if (hub->limits.connections && connections->count >= hub->limits.connections) {
    relay__connection_refuse(hub, socket);
    return;
  }
  const relay__address_t address = relay__address_of(from);
  relay__client_t *client = NULL;
  const bool is_proxied = relay__connections_trust(connections, &address);
  if (hub->limits.connections_per_address && !is_proxied && !(client = relay__client_retain(hub, address))) {
    const relay__refusal_t refusal = {429, "rate_limited", "too many connections from one address"};
    relay__log_refusal(hub, NULL, refusal);
    turn_away(hub, socket, refusal);
    return;
  }
  hub->stats.connections++;
  connections->count++;
  relay__connection_begin(hub, socket, &address, client, is_proxied);
}

static void resume_accept(uv_timer_t *timer);

/* Accepts the waiting connections, at most ACCEPTS of them. If no descriptor is left, it refuses one
 * connection with the help of a spare descriptor, and pauses for 100 ms. */
static void acceptable(uv_poll_t *poll, int status, int events) {
  relay_hub_t *hub = poll->data;
  (void)events;
  if (status < 0) return;
  for (int i = 0; i < ACCEPTS; i++) {
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    const int socket =
        accept4(hub->edge->listener_fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      relay__connection_accepted(hub, socket, (struct sockaddr *)&from);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      /* The connection stays in the backlog, so the poll would report it again and again. */
      if (!hub->edge->starved || hub->clock.loop - hub->edge->starved > STARVED_LOG) {
        relay__log(hub, RELAY_LOG_ERROR, "no file descriptor is left for a new connection");
        hub->edge->starved = hub->clock.loop;
      }
      if (hub->edge->spare_fd >= 0) {
        close(hub->edge->spare_fd);
        const int turned_away = accept4(hub->edge->listener_fd, NULL, NULL, SOCK_CLOEXEC);
        if (turned_away >= 0) relay__connection_refuse(hub, turned_away);
        hub->edge->spare_fd = dup(2);
      }
      uv_poll_stop(&hub->edge->listener);
      uv_timer_start(&hub->edge->accept_again, resume_accept, 100, 0);
    }
    return;
  }
}

static void resume_accept(uv_timer_t *timer) {
  relay_hub_t *hub = timer->data;
  if (hub->edge->is_listening) uv_poll_start(&hub->edge->listener, UV_READABLE, acceptable);
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
  hub->edge->port = hub->config.port;
  const int fd = open_listener(hub->config.address, &hub->edge->port);
  if (fd < 0) return -fd;
  hub->edge->listener_fd = fd;
  const int error = uv_poll_init(&hub->loop.uv, &hub->edge->listener, fd);
  if (error) {
    close(fd);
    hub->edge->listener_fd = -1;
    return -error;
  }
  hub->edge->listener.data = hub;
  hub->edge->is_listening = true;
  return uv_poll_start(&hub->edge->listener, UV_READABLE, acceptable) ? EIO : 0;
}

uint16_t relay_hub_port(const relay_hub_t *hub) {
  return hub->edge->port;
}

void relay_hub_close_listener(relay_hub_t *hub) {
  relay__expect_thread(hub);
  if (!hub->edge->is_listening) return;
  hub->edge->is_listening = false;
  uv_timer_stop(&hub->edge->accept_again);
  uv_close((uv_handle_t *)&hub->edge->listener, NULL);
  close(hub->edge->listener_fd); /* now, so that another hub can bind the port */
}
