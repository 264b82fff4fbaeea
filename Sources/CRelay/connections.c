// SPDX-License-Identifier: Apache-2.0
/* Who may connect: how many in all, and how many from one address. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { RESERVED = 264 /* for the store, the gateways, the log and the loop itself */ };

/* The library sizes its tables by the limit, and assumes too few when that is huge. With a limit of its own
 * below the process's it would look for a socket's connection among all, at each event. */
unsigned relay__descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return 1024;
  limit.rlim_cur = limit.rlim_max < 1000000 ? limit.rlim_max : 1000000;
  if (setrlimit(RLIMIT_NOFILE, &limit) && getrlimit(RLIMIT_NOFILE, &limit)) return 1024;
  return (unsigned)limit.rlim_cur;
}

uint32_t relay_connections_possible(void) {
  const unsigned all = relay__descriptors();
  return all >= 2 * RESERVED ? all - RESERVED : all / 2;
}

static bool next_network(const char **at, relay__network_t *network) {
  *at += strspn(*at, " ");
  const size_t size = strcspn(*at, " ");
  const char *const text = *at;
  *at += size;
  return relay__network_parse(text, size, network);
}

bool relay_network_is_valid(const char *network) {
  relay__network_t parsed;
  return relay__network_parse(network, strlen(network), &parsed);
}

void relay__connections_create(relay__connections_t *connections, const relay_config_t *config) {
  relay__network_t network;
  for (const char *at = config->trusted_proxies ? config->trusted_proxies : "";
       next_network(&at, &network);) {
    connections->trusted = relay__grow(connections->trusted, connections->trusted_count,
                                       &connections->trusted_capacity, sizeof network, 4);
    connections->trusted[connections->trusted_count++] = network;
  }
}

void relay__connections_destroy(relay__connections_t *connections) {
  relay__names_free(&connections->clients);
  free(connections->trusted);
}

static bool is_trusted(const relay__connections_t *connections, const relay__address_t *address) {
  for (uint32_t i = 0; i < connections->trusted_count; i++)
    if (relay__network_has(&connections->trusted[i], address)) return true;
  return false;
}

/* One more from this address; NULL when that is too many. */
static relay__client_t *retain(relay_hub_t *hub, relay__address_t address) {
  const relay__address_t key = relay__address_client(address);
  relay__names_t *clients = &hub->connections.clients;
  relay__client_t *client = relay__names_find(clients, (const char *)key.bytes, sizeof key.bytes);
  if (client && client->count >= hub->limits.connections_per_address) {
    hub->stats.refused_address++;
    return NULL;
  }
  if (!client) {
    client = relay__named_allocate(sizeof *client, (const char *)key.bytes, sizeof key.bytes);
    relay__names_add(clients, &client->named);
  }
  client->count++;
  return client;
}

void relay__client_release(relay_hub_t *hub, relay__client_t *client) {
  if (!client || --client->count) return;
  relay__names_remove(&hub->connections.clients, &client->named);
  free(client);
}

/* Best effort: the request has not been read, and its client may never see this. */
static void turn_away(int socket, int status, const char *reason, const char *code) {
  char body[192], response[512];
  const int body_size = snprintf(body, sizeof body,
                                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\","
                                 "\"detail\":\"too many connections\",\"retryAfter\":5}",
                                 reason, status, code);
  const int size = snprintf(response, sizeof response,
                            "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nRetry-After: 5\r\n"
                            "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
                            status, reason, body_size, body);
  if (send(socket, response, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) shutdown(socket, SHUT_WR);
  close(socket);
}

void relay__connection_refuse(relay_hub_t *hub, int socket) {
  hub->stats.refused_full++;
  relay__log_refusal(hub, NULL, 503, "too many connections");
  turn_away(socket, 503, "Service Unavailable", "unavailable");
}

void relay__connection_accepted(relay_hub_t *hub, int socket, const struct sockaddr *from) {
  relay__connections_t *connections = &hub->connections;
  if (hub->limits.connections && connections->count >= hub->limits.connections) {
    relay__connection_refuse(hub, socket);
    return;
  }
  const relay__address_t address = relay__address_of(from);
  relay__client_t *client = NULL;
  const bool is_proxied = is_trusted(connections, &address);
  if (hub->limits.connections_per_address && !is_proxied && !(client = retain(hub, address))) {
    relay__log_refusal(hub, NULL, 429, "too many connections from one address");
    turn_away(socket, 429, "Too Many Requests", "rate_limited");
    return;
  }
  hub->stats.connections++;
  const lws_adopt_desc_t adoption = {
      .vh = hub->vhost,
      .type = LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP,
      .fd.sockfd = socket,
      .opaque = is_proxied ? (void *)connections : client,
  };
  connections->has_released = false;
  /* A socket that cannot be adopted is closed, and may have been told as destroyed or not. */
  if (!lws_adopt_descriptor_vhost_via_info(&adoption) && !connections->has_released)
    relay__client_release(hub, client);
}

void relay__connection_ended(relay_hub_t *hub, struct lws *wsi) {
  hub->connections.count--;
  void *opaque = lws_get_opaque_user_data(wsi);
  if (!opaque || opaque == &hub->connections) return;
  hub->connections.has_released = true;
  relay__client_release(hub, opaque);
}

/* Parses the header of a connection from a trusted proxy. */
static bool forwarded(const relay_hub_t *hub, struct lws *wsi, relay__address_t *address) {
  char header[LONGEST_HEADER + 1];
  return lws_get_opaque_user_data(wsi) == &hub->connections &&
         lws_hdr_copy(wsi, header, sizeof header, WSI_TOKEN_X_FORWARDED_FOR) > 0 &&
         relay__address_forwarded(header, hub->connections.trusted, hub->connections.trusted_count, address);
}

relay__address_t relay__connection_address(const relay_hub_t *hub, struct lws *wsi) {
  relay__address_t address = {{0}};
  if (forwarded(hub, wsi, &address)) return address;
  struct sockaddr_storage peer;
  socklen_t size = sizeof peer;
  if (getpeername(lws_get_socket_fd(wsi), (struct sockaddr *)&peer, &size)) return (relay__address_t){{0}};
  return relay__address_of((const struct sockaddr *)&peer);
}

bool relay__client_admit(relay_hub_t *hub, struct lws *wsi, relay__client_t **client) {
  *client = NULL;
  relay__address_t address;
  if (!hub->limits.connections_per_address || !forwarded(hub, wsi, &address)) return true;
  *client = retain(hub, address);
  return *client;
}
