// SPDX-License-Identifier: Apache-2.0
/* Counts the connections of each address, and finds the address of a client behind a trusted proxy. */
#include "edge.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  CHURN = 1000, /* begins and ends of connections before memory is returned */
  QUIET = 1000, /* ms without a change */
};

enum { RESERVED = 264 /* descriptors for the store, the gateways, the log and the loop */ };

/* libwebsockets sizes its tables by the limit of the process, and assumes a small one if that limit is huge.
 * With a lower limit of its own, it would search all connections for a socket at each event. So the
 * process gets a limit of at most 1,000,000. */
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

void relay__connections_open(relay__connections_t *connections, const relay_config_t *config) {
  relay__network_t network;
  for (const char *at = config->trusted_proxies ? config->trusted_proxies : "";
       next_network(&at, &network);) {
    connections->trusted = relay__grow(connections->trusted, connections->trusted_count,
                                       &connections->trusted_capacity, sizeof network, 4);
    connections->trusted[connections->trusted_count++] = network;
  }
}

void relay__connections_close(relay__connections_t *connections) {
  relay__names_free(&connections->clients);
  free(connections->trusted);
}

bool relay__connections_trust(const relay__connections_t *connections, const relay__address_t *address) {
  for (uint32_t i = 0; i < connections->trusted_count; i++)
    if (relay__network_has(&connections->trusted[i], address)) return true;
  return false;
}

relay__client_t *relay__client_retain(relay_hub_t *hub, relay__address_t address) {
  relay__connections_t *connections = &hub->edge->connections;
  const relay__address_t key = relay__address_client(address);
  relay__client_t *client =
      relay__names_find(&connections->clients, (const char *)key.bytes, sizeof key.bytes);
  if (client && client->count >= hub->limits.connections_per_address) {
    hub->stats.refused_address++;
    return NULL;
  }
  if (!client) {
    client = relay__named_allocate(sizeof *client, (const char *)key.bytes, sizeof key.bytes);
    relay__names_add(&connections->clients, &client->named);
  }
  client->count++;
  return client;
}

/* jemalloc's, if the program uses it instead of the malloc() of the C library. */
extern int mallctl(const char *name, void *old, size_t *old_size, void *value, size_t size)
    __attribute__((weak));

/* Returns free memory to the system. The memory of closed connections is scattered between that of open ones,
 * and malloc() keeps it; jemalloc returns it while a program allocates, not while it is idle. */
static void give_back(uv_timer_t *timer) {
  ((relay_hub_t *)timer->data)->edge->churn = 0;
  if (mallctl)
    mallctl("arena.4096.purge", NULL, NULL, NULL, 0); /* 4096 (MALLCTL_ARENAS_ALL): all arenas */
  else
    malloc_trim(0);
}

void relay__note_churn(relay_hub_t *hub) {
  if (++hub->edge->churn >= CHURN && !hub->loop.is_over)
    uv_timer_start(&hub->edge->quiet, give_back, QUIET, 0);
}

void relay__client_release(relay_hub_t *hub, relay__client_t *client) {
  if (!client || --client->count) return;
  relay__names_remove(&hub->edge->connections.clients, &client->named);
  free(client);
}

void relay__connection_ended(relay_hub_t *hub, relay__client_t *client) {
  hub->edge->connections.count--;
  relay__client_release(hub, client);
}

/* Parses the header of a connection from a trusted proxy. */
static bool forwarded(const relay__connection_t *connection, relay__address_t *address) {
  if (!connection->is_proxied) return false;
  const relay__connections_t *connections = &connection->hub->edge->connections;
  relay__text_t header = {0};
  relay__head_join(&connection->head, "x-forwarded-for", &header);
  if (!header.size) return false;
  relay__put(&header, "", 1);
  const bool is_known =
      relay__address_forwarded(header.at, connections->trusted, connections->trusted_count, address);
  free(header.at);
  return is_known;
}

void relay__connection_find_client(relay__connection_t *connection) {
  connection->is_forwarded = forwarded(connection, &connection->address);
  if (!connection->is_forwarded) connection->address = connection->peer;
}

bool relay__client_admit(const relay__connection_t *connection, relay__client_t **client) {
  relay_hub_t *hub = connection->hub;
  *client = NULL;
  if (!hub->limits.connections_per_address || !connection->is_forwarded) return true;
  *client = relay__client_retain(hub, connection->address);
  return *client;
}
