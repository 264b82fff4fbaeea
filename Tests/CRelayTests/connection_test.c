// SPDX-License-Identifier: Apache-2.0
/* Limits of connections: of the hub and of one address. */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static host_t *start(uint32_t max, uint32_t per_address, const char *proxies) {
  relay_config_t config = host_config();
  config.limits.connections = max;
  config.limits.connections_per_address = per_address;
  config.trusted_proxies = proxies;
  return host_start(&config);
}

static bool has_connections(relay_hub_t *hub, void *count) {
  return relay_hub_counts(hub).connections == *(size_t *)count;
}

static void reaches(host_t *host, size_t count) {
  EXPECT(host_reaches(host, has_connections, &count));
}

static int upgrade_from(host_t *host, peer_t **peer, const char *forwarded) {
  char header[256];
  snprintf(header, sizeof header, "X-Forwarded-For: %s\r\n", forwarded);
  *peer = peer_dial(host_port(host));
  return peer_upgrade(*peer, "/v1/connect", header);
}

TEST(in_all, "connections: a connection above the limit gets 503, and the others stay open") {
  host_t *host = start(2, 0, NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *idle = peer_dial(host_port(host));
  reaches(host, 2);
  peer_t *late = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_response(late, false), 503);
  EXPECT_CONTAINS(late->headers, "Retry-After: 5");
  EXPECT_CONTAINS(late->text, "\"status\":503,\"code\":\"unavailable\"");
  EXPECT(peer_sees_end(late));
  peer_cut(late);
  peer_cut(idle);
  reaches(host, 1);
  peer_t *bob = peer_open(host_port(host), "bob", "");
  peer_leave(ann);
  peer_leave(bob);
  reaches(host, 0);
  host_end(host);
}

TEST(per_address, "connections: the limit of an address ignores the header of an untrusted client") {
  host_t *host = start(0, 2, "10.0.0.0/8");
  peer_t *peers[2], *late;
  EXPECT_INTEGER(upgrade_from(host, &peers[0], "203.0.113.1"), 101);
  EXPECT_INTEGER(upgrade_from(host, &peers[1], "203.0.113.2"), 101);
  late = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_response(late, false), 429);
  peer_cut(late);
  peer_cut(peers[0]);
  reaches(host, 1);
  late = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(late, "/v1/connect", ""), 101);
  peer_cut(late);
  peer_cut(peers[1]);
  reaches(host, 0);
  host_end(host);
}

TEST(behind_proxy, "connections: behind a trusted proxy the limit counts for each client") {
  host_t *host = start(0, 2, "127.0.0.0/8 ::1");
  peer_t *a[2], *b, *spoofed, *plain;
  EXPECT_INTEGER(upgrade_from(host, &a[0], "203.0.113.1"), 101);
  EXPECT_INTEGER(upgrade_from(host, &a[1], "203.0.113.1"), 101);
  EXPECT_INTEGER(upgrade_from(host, &b, "203.0.113.2"), 101);
  /* The client has forged the first address, and the proxy has added the second. */
  EXPECT_INTEGER(upgrade_from(host, &spoofed, "198.51.100.9, 203.0.113.1"), 429);
  peer_cut(spoofed);
  plain = peer_dial(host_port(host));
  peer_print(plain, "GET /echo HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n");
  EXPECT_INTEGER(peer_response(plain, false), 429);
  EXPECT_CONTAINS(plain->text, "\"rate_limited\"");
  peer_cut(plain);
  peer_cut(a[0]);
  reaches(host, 2);
  for (int i = 0; i < 3; i++) { /* an answered request no longer counts */
    plain = peer_dial(host_port(host));
    peer_print(plain, "GET /echo HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n");
    EXPECT_INTEGER(peer_response(plain, false), 200);
    peer_cut(plain);
  }
  peer_cut(a[1]);
  peer_cut(b);
  reaches(host, 0);
  host_end(host);
}

TEST(networks_of_config, "connections: invalid networks are rejected") {
  EXPECT(relay_network_is_valid("10.0.0.0/8"));
  EXPECT(relay_network_is_valid("fd00::/8"));
  EXPECT(!relay_network_is_valid("10.0.0.0/8 ::1"));
  EXPECT(!relay_network_is_valid("proxy.example"));
}
