// SPDX-License-Identifier: Apache-2.0
/* Answers that pages of other origins may read (CORS). */
#include "host.h"
#include "peer.h"
#include "test.h"

static const char listed[] = "Access-Control-Allow-Origin: https://chat.example\r\n";

static host_t *start(const char *origins) {
  relay_config_t config = host_config();
  config.origins = origins;
  return host_start(&config);
}

static int ask(peer_t *peer, const char *start_line, const char *header) {
  peer_print(peer, "%s HTTP/1.1\r\nHost: a\r\n%s\r\n", start_line, header);
  return peer_response(peer, false);
}

TEST(shared, "http: a page of a listed origin may read each answer, also refusals") {
  host_t *host = start("https://other.example https://chat.example");
  peer_t *peer = peer_dial(host_port(host));
  static const char origin[] = "Origin: https://chat.example\r\n";
  EXPECT_INTEGER(ask(peer, "GET /what", origin), 200);
  EXPECT_CONTAINS(peer->headers, listed);
  EXPECT_CONTAINS(peer->headers, "Vary: Origin\r\n");
  EXPECT_CONTAINS(peer->headers, "Access-Control-Expose-Headers: Allow, ETag, Retry-After");
  EXPECT_INTEGER(ask(peer, "OPTIONS /what", origin), 200);
  EXPECT_CONTAINS(peer->headers, listed);
  EXPECT_INTEGER(ask(peer, "POST /echo", "Transfer-Encoding: gzip\r\nOrigin: https://chat.example\r\n"), 501);
  EXPECT_CONTAINS(peer->headers, listed);
  peer_cut(peer);
  peer = peer_dial(host_port(host));
  EXPECT_INTEGER(ask(peer, "GET /what", ""), 200);
  EXPECT_CONTAINS(peer->headers, "Vary: Origin\r\n");
  EXPECT_LACKS(peer->headers, "Access-Control");
  EXPECT_INTEGER(ask(peer, "GET /what", "Origin: https://evil.example\r\n"), 403);
  EXPECT_CONTAINS(peer->headers, "Vary: Origin\r\n");
  EXPECT_LACKS(peer->headers, "Access-Control");
  peer_cut(peer);
  host_end(host);
}

TEST(shared_stream, "http: a page of a listed origin may read streams") {
  host_t *host = start("https://chat.example");
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /stream HTTP/1.1\r\nHost: a\r\nOrigin: https://chat.example\r\n\r\n");
  EXPECT_CONTAINS(peer_raw_until(peer, "first"), listed);
  peer_cut(peer);
  host_end(host);
}

TEST(own_origin, "http: without a list only the server's own origin is allowed, and needs no CORS headers") {
  host_t *host = start("");
  peer_t *peer = peer_dial(host_port(host));
  EXPECT_INTEGER(ask(peer, "GET /what", "Origin: http://a\r\n"), 200);
  EXPECT_LACKS(peer->headers, "Access-Control");
  EXPECT_LACKS(peer->headers, "Vary");
  peer_cut(peer);
  host_end(host);
}

static void explains_itself(peer_t *peer, const char *origin) {
  EXPECT_INTEGER(ask(peer, "GET /v1/connect", origin), 403);
  EXPECT_CONTAINS(peer->headers, "Access-Control-Allow-Origin: *\r\n");
  EXPECT_CONTAINS(peer->headers, "Vary: Origin\r\n");
  EXPECT_TEXT(peer->text,
              "{\"type\":\"about:blank\",\"title\":\"Forbidden\",\"status\":403,\"code\":\"forbidden\","
              "\"detail\":\"the setting origins does not list this Origin\"}");
  peer_cut(peer);
}

TEST(reason, "http: any page may read that the path of sessions refuses its Origin, and no other answer") {
  host_t *host = start("");
  explains_itself(peer_dial(host_port(host)), "Origin: https://evil.example\r\n");
  static const char *const others[] = {"GET /what", "GET /v1/connect/", "GET /v1/connec", "POST /v1/connect"};
  for (int i = 0; i < 4; i++) {
    peer_t *peer = peer_dial(host_port(host));
    EXPECT_INTEGER(ask(peer, others[i], "Origin: https://evil.example\r\n"), 403);
    EXPECT_LACKS(peer->headers, "Access-Control");
    peer_cut(peer);
  }
  host_end(host);
  host = start("https://chat.example");
  explains_itself(peer_dial(host_port(host)), "Origin: https://evil.example\r\n");
  host_end(host);
}

TEST(hidden_reason, "http: a page may not read that the relay refuses its Host") {
  relay_config_t config = host_config();
  config.host_rule = RELAY_HOSTS_LOOPBACK;
  host_t *host = host_start(&config);
  peer_t *peer = peer_dial(host_port(host));
  EXPECT_INTEGER(ask(peer, "GET /v1/connect", "Origin: https://evil.example\r\n"), 403);
  EXPECT_LACKS(peer->headers, "Access-Control");
  peer_cut(peer);
  host_end(host);
}
