// SPDX-License-Identifier: Apache-2.0
/* Admission of WebSocket handshakes: path, subprotocol, Origin, Host, early frames. */
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static const host_t *current;

static peer_t *upgrade(const char *path, const char *headers, int status) {
  peer_t *peer = peer_dial(host_port(current));
  EXPECT_INTEGER(peer_upgrade(peer, path, headers), status);
  return peer;
}

static void is_refused(const char *path, const char *headers, int status, const char *code) {
  peer_t *peer = upgrade(path, headers, status);
  EXPECT_CONTAINS(peer->headers, "application/problem+json");
  EXPECT_CONTAINS(peer->text, code);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
}

static void is_granted(const char *headers, const char *answer) {
  peer_t *peer = upgrade("/v1/connect", headers, 101);
  EXPECT_CONTAINS(peer->headers, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  if (answer) EXPECT_CONTAINS(peer->headers, answer);
  peer_leave(peer);
}

TEST(paths, "handshake: sessions connect with GET at one path") {
  host_t *host = host_start(NULL);
  current = host;
  is_granted("", NULL);
  is_refused("/", "", 404, "\"not_found\"");
  is_refused("/v1/connect/", "", 404, "\"not_found\"");
  is_refused("/v1/connec", "", 404, "\"not_found\"");
  host_end(host);
}

TEST(subprotocols, "handshake: a client offers the known subprotocol, or none") {
  host_t *host = host_start(NULL);
  current = host;
  is_granted("Sec-WebSocket-Protocol: stillwire.v1.json\r\n", "stillwire.v1.json");
  is_granted("Sec-WebSocket-Protocol: other, stillwire.v1.json\r\n", "stillwire.v1.json");
  is_refused("/v1/connect", "Sec-WebSocket-Protocol: other\r\n", 400, "\"bad_request\"");
  is_refused("/v1/connect", "Sec-WebSocket-Protocol: stillwire.v1.jso\r\n", 400, "\"bad_request\"");
  is_refused("/v1/connect", "Sec-WebSocket-Protocol: Stillwire.v1.json\r\n", 400, "\"bad_request\"");
  is_refused("/v1/connect", "Sec-WebSocket-Protocol: stillwire.v1.json2, x\r\n", 400, "\"bad_request\"");
  host_end(host);
}

TEST(own_origin, "handshake: without a list only the server's own Origin is allowed") {
  host_t *host = host_start(NULL);
  current = host;
  is_granted("Origin: http://127.0.0.1\r\n", NULL);
  is_granted("Origin: https://127.0.0.1\r\n", NULL);
  is_refused("/v1/connect", "Origin: http://127.0.0.1:81\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: http://evil.example\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: null\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: http://127.0.0.1.evil.example\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: http://evil.example/http://127.0.0.1\r\n", 403, "\"forbidden\"");
  host_end(host);
}

TEST(default_port, "handshake: a Host with the default port of the scheme is the Origin without a port") {
  static const struct {
    const char *host, *origin;
    int status;
  } cases[] = {
      {"a.example:443", "https://a.example", 101},      {"a.example:80", "http://a.example", 101},
      {"A.example", "https://a.example:443", 101},      {"[::1]:443", "https://[::1]", 101},
      {"a.example:443", "http://a.example", 403},       {"a.example:80", "https://a.example", 403},
      {"a.example:8443", "https://a.example", 403},     {"a.example:4431", "https://a.example", 403},
      {"a.example", "https://a.example:8443", 403},     {"a.example:443", "https://a.example.evil", 403},
      {"a.example:443", "https://evil.a.example", 403}, {"a.example:443", "https://", 403},
  };
  host_t *host = host_start(NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer,
               "GET /v1/connect HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nUpgrade: websocket\r\n"
               "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
               cases[i].host, cases[i].origin);
    EXPECT_INTEGER(peer_response(peer, false), cases[i].status);
    peer_cut(peer);
  }
  host_end(host);
}

TEST(listed_origins, "handshake: only listed Origins are allowed, compared as a whole") {
  relay_config_t config = host_config();
  config.origins = "https://a.example https://b.example:8443 file://";
  host_t *host = host_start(&config);
  current = host;
  is_granted("", NULL);
  is_granted("Origin: https://a.example\r\n", NULL);
  is_granted("Origin: HTTPS://B.example:8443\r\n", NULL);
  is_granted("Origin: file://\r\n", NULL);
  is_refused("/v1/connect", "Origin: file://host\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: https://a.exampl\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: http://a.example\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: https://a.example:444\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: https://a.example.evil\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: https://b.example\r\n", 403, "\"forbidden\"");
  is_refused("/v1/connect", "Origin: http://127.0.0.1\r\n", 403, "\"forbidden\"");
  host_end(host);
}

static void request_as(const char *name, int status) {
  peer_t *peer = peer_dial(host_port(current));
  peer_print(peer, "GET /what HTTP/1.1\r\nHost: %s\r\n\r\n", name);
  if (EXPECT_INTEGER(peer_response(peer, false), status) == false) EXPECT_TEXT(name, "");
  peer_cut(peer);
}

TEST(loopback_hosts, "handshake: in open mode the relay answers only a loopback Host") {
  relay_config_t config = host_config();
  config.host_rule = RELAY_HOSTS_LOOPBACK;
  host_t *host = host_start(&config);
  current = host;
  is_granted("", NULL);
  static const char *const loopback[] = {"localhost",   "LocalHost:80", "127.0.0.1:8080",
                                         "127.255.0.9", "[::1]",        "[::1]:80"};
  for (int i = 0; i < 6; i++) request_as(loopback[i], 200);
  static const char *const others[] = {
      "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "128.0.0.1", "[::2]", "localhost."};
  for (int i = 0; i < 6; i++) request_as(others[i], 403);
  static const char *const malformed[] = {
      "127.0.0.256",    "1270.0.0.1",    "127.0.1",        ":80",
      "127.0.0.1@evil", "localhost:abc", "localhost:1:80", "localhost, evil.example"};
  for (int i = 0; i < 8; i++) request_as(malformed[i], 400);
  host_end(host);
}

TEST(address_hosts,
     "handshake: the relay answers an address, localhost and listed names as Host, and no other name") {
  relay_config_t config = host_config();
  config.host_rule = RELAY_HOSTS_ADDRESSES;
  config.hosts = "relay.test other.example";
  host_t *host = host_start(&config);
  current = host;
  static const char *const allowed[] = {"localhost:8080",     "127.0.0.1",  "192.168.1.7:8080",
                                        "[2001:db8::1]:8080", "relay.test", "RELAY.test:8080",
                                        "other.example:443",  "[::1]"};
  for (int i = 0; i < 8; i++) request_as(allowed[i], 200);
  static const char *const others[] = {
      "evil.example", "relay.test.evil.example",  "relay",       "test",
      "relay.test.",  "192.168.1.7.evil.example", "relay.test-", "other.example.relay"};
  for (int i = 0; i < 8; i++) request_as(others[i], 403);
  request_as("relay.test other.example", 400);
  host_end(host);
}

TEST(listed_loopback_hosts,
     "handshake: with loopback hosts the relay answers a listed Host, but no other address") {
  relay_config_t config = host_config();
  config.host_rule = RELAY_HOSTS_LOOPBACK;
  config.hosts = "relay.test";
  host_t *host = host_start(&config);
  current = host;
  request_as("relay.test:8080", 200);
  request_as("localhost", 200);
  request_as("192.168.1.7", 403);
  host_end(host);
}

TEST(smuggled_host, "handshake: a line end in the target does not change the Host") {
  relay_config_t config = host_config();
  config.host_rule = RELAY_HOSTS_LOOPBACK;
  host_t *host = host_start(&config);
  static const char *const heads[] = {
      "GET /v1/connect%0AHost:localhost:1 HTTP/1.1\r\nHost: evil.example",
      "GET /v1/connect%0DHost:localhost HTTP/1.1\r\nHost: localhost",
      "GET /v1/connect?a%0AHost:localhost HTTP/1.1\r\nHost: evil.example",
      "GET /v1/connect HTTP/1.1\r\nHost: localhost\r\nHost: evil.example",
      "GET /v1/connect HTTP/1.1\r\nHost: localhost:1:80",
      "GET /v1/connect HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost",
      "GET /v1/connect\r\nHost: localhost",
      "GET /v1/connect HTTP/1.1",
  };
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer,
               "%s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
               heads[i]);
    if (!EXPECT_INTEGER(peer_response(peer, false), 400)) EXPECT_TEXT(heads[i], "");
    EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  host_end(host);
}

TEST(authorization, "handshake: the hub keeps the Authorization header for the hello") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(peer, "/v1/connect", "Authorization: Bearer a.b.c\r\n"), 101);
  peer_say(peer, "{\"type\":\"hello\",\"user\":\"ann\"}");
  EXPECT_CONTAINS(peer_receive(peer), "\"authorization\":\"Bearer a.b.c\"");
  peer_leave(peer);
  host_end(host);
}

static void close_listener(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_close_listener(hub);
}

TEST(closed_listener, "handshake: a closed listener admits no new session, and open sessions stay") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", ""), *waiting = peer_dial(host_port(host));
  peer_print(waiting, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_INTEGER(peer_response(waiting, false), 204);
  host_do(host, close_listener, NULL);
  host_do(host, close_listener, NULL);
  EXPECT(peer_receives_none_with(peer, "bye"));
  EXPECT_INTEGER(peer_upgrade(waiting, "/v1/connect", ""), 503);
  peer_t *late = peer_dial(host_port(host));
  EXPECT(late->has_ended);
  peer_cut(late);
  peer_cut(waiting);
  peer_leave(peer);
  host_end(host);
}

TEST(half_a_handshake, "handshake: a client that leaves during the handshake leaves nothing in memory") {
  host_t *host = host_start(NULL);
  peer_t *silent = peer_dial(host_port(host)), *half = peer_dial(host_port(host));
  peer_print(half, "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgra");
  peer_cut(silent);
  peer_cut(half);
  peer_t *no_hello = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(no_hello, "/v1/connect", ""), 101);
  peer_cut(no_hello);
  host_end(host);
}

/* RFC 6455, section 4.1, lets a client send frames after the answer to its handshake. Some clients do not
 * wait. */
TEST(early_frames, "handshake: frames that arrive with the handshake, or with a part of it, are read") {
  static const char handshake[] =
      "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /v1/connect HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  static const char hello[] = "{\"type\":\"hello\",\"user\":\"ann\",\"id\":1}";
  host_t *host = host_start(NULL);
  for (int requests = 0; requests < 2; requests++) {
    const char *head = requests ? handshake : strstr(handshake, "GET /v1");
    char bytes[8192];
    size_t size = strlen(head);
    memcpy(bytes, head, size);
    for (int i = 0; i < 40; i++) { /* more than the library reads at once */
      const char *text = i ? "{\"type\":\"ping\",\"id\":2}" : hello;
      bytes[size++] = (char)0x81;
      bytes[size++] = (char)(0x80 | strlen(text));
      memset(bytes + size, 0, 4); /* a mask that changes nothing */
      size += 4;
      memcpy(bytes + size, text, strlen(text));
      size += strlen(text);
    }
    for (size_t cut = strlen(head) - 20; cut < strlen(head) + 60; cut++) {
      peer_t *peer = peer_dial(host_port(host));
      peer_write(peer, bytes, cut);
      peer_write(peer, bytes + cut, size - cut);
      if (requests) EXPECT_INTEGER(peer_response(peer, false), 204);
      EXPECT_INTEGER(peer_response(peer, false), 101);
      EXPECT_CONTAINS(peer_receive(peer), "welcome");
      for (int i = 1; i < 40; i++)
        if (!EXPECT_CONTAINS(peer_receive(peer), "\"id\":2")) break;
      peer_leave(peer);
    }
  }
  host_end(host);
}

TEST(standby,
     "handshake: a hub without sessions hands a valid handshake over as a request, and then closes") {
  relay_config_t config = host_config();
  config.is_standby = true;
  host_t *host = host_start(&config);
  current = host;
  peer_t *peer = upgrade("/v1/connect", "", 404);
  EXPECT_CONTAINS(peer->text, "no such path"); /* the answer of policy.c */
  EXPECT_CONTAINS(peer->headers, "Connection: close");
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  is_refused("/v1/connect", "Sec-WebSocket-Protocol: other\r\n", 400, "\"bad_request\"");
  EXPECT_INTEGER(host_counts(host).sessions, 0);
  host_end(host);
}
