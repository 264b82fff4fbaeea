// SPDX-License-Identifier: Apache-2.0
/* HTTP requests and their responses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static void responds(peer_t *peer, int status, const char *text) {
  EXPECT_INTEGER(peer_response(peer, false), status);
  if (text) EXPECT_TEXT(peer->text, text);
}

TEST(fields, "http: an event has the method, path, query and headers as the client sent them") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /what HTTP/1.1\r\nHost: a\r\n\r\n");
  responds(peer, 200, "GET /what  - - - -");
  peer_print(peer, "GET /what?a=1&b=%%20%%26&c HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\n"
                   "X-Stillwire-User: ann\r\nIdempotency-Key: k\r\nIf-None-Match: \"e\"\r\n\r\n");
  responds(peer, 200, "GET /what a=1&b=%20%26&c Bearer t ann k \"e\"");
  peer_print(peer, "GET /what HTTP/1.1\r\nHost: a\r\nx-stillwire-user: bob\r\n\r\n");
  responds(peer, 200, "GET /what  - bob - -");
  peer_print(peer, "GET /x/../wh%%61t HTTP/1.1\r\nHost: a\r\n\r\n");
  responds(peer, 404, "no such path");
  peer_print(peer, "DELETE /what HTTP/1.1\r\nHost: a\r\n\r\n");
  responds(peer, 200, "DELETE /what  - - - -");
  peer_print(peer, "OPTIONS /what HTTP/1.1\r\nHost: a\r\n\r\n");
  responds(peer, 200, "OPTIONS /what  - - - -");
  peer_print(peer, "PATCH /what HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  responds(peer, 200, "PATCH /what  - - - -");
  peer_cut(peer);
  host_end(host);
}

TEST(bodies, "http: bodies of each size arrive completely, on one connection") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  static const int sizes[] = {0, 1, 511, 512, 513, 1024, 4095, 4096, 4097, 20000, 65535, 65536};
  char *body = calloc(1, 65537);
  memset(body, 'b', 65536);
  static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    body[sizes[i]] = 0;
    peer_print(peer, "%s /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", methods[i % 4], sizes[i],
               body);
    responds(peer, 200, body);
    body[sizes[i]] = 'b';
  }
  free(body);
  peer_cut(peer);
  host_end(host);
}

TEST(pieces, "http: a client may write each byte of a request separately") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  static const char request[] = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello there";
  for (size_t i = 0; i < sizeof request - 1; i++) peer_write(peer, request + i, 1);
  responds(peer, 200, "hello there");
  peer_cut(peer);
  host_end(host);
}

TEST(keep_alive, "http: a connection serves one request after another") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  for (int i = 0; i < 20; i++) {
    peer_print(peer, "GET /what?%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
    EXPECT_INTEGER(peer_response(peer, false), 200);
    EXPECT_INTEGER(atoi(peer->text + strlen("GET /what ")), i);
    peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n%03d", i);
    EXPECT_INTEGER(peer_response(peer, false), 200);
    EXPECT_INTEGER(peer->size, 3);
    EXPECT_INTEGER(strtol(peer->text, NULL, 10), i);
    peer_print(peer, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    responds(peer, 204, "");
  }
  peer_cut(peer);
  host_end(host);
}

TEST(idle_timeout, "http: the hub closes a connection that is idle for longer than the timeout") {
  relay_config_t config = host_config();
  config.limits.idle_timeout = 90000;
  host_t *host = host_start(&config);
  host_set_clock(host, 1000000);
  peer_t *peer = peer_dial(host_port(host));
  for (int i = 0; i < 3; i++) { /* the time begins again after each answer */
    peer_print(peer, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    responds(peer, 204, "");
    host_pass(host, 89000);
  }
  EXPECT_INTEGER(host_counts(host).connections, 1);
  host_pass(host, 2000);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(pipelining, "http: pipelined requests are answered in their order, on one connection") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /what?1 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                   "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n"
                   "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n"
                   "HEAD /what HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  responds(peer, 200, "GET /what 1 - - - -");
  responds(peer, 200, "abc");
  responds(peer, 200, "de");
  responds(peer, 204, "");
  EXPECT_INTEGER(peer_response(peer, true), 200);
  EXPECT_CONTAINS(peer->headers, "Connection: close");
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(pipeline_of_many, "http: a pipeline of many requests ends with the first refusal") {
  enum { REQUESTS = 500 };
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  for (int i = 0; i < REQUESTS; i++) peer_print(peer, "GET /what?%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
  peer_print(peer, "BAD\r\n\r\nGET /what HTTP/1.1\r\nHost: a\r\n\r\n");
  for (int i = 0; i < REQUESTS; i++) {
    EXPECT_INTEGER(peer_response(peer, false), 200);
    EXPECT_INTEGER(atoi(peer->text + strlen("GET /what ")), i);
  }
  EXPECT_INTEGER(peer_response(peer, false), 501);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(expect, "http: a client that waits for 100 gets it, unless its request is refused") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  static const char wait[] = "Expect: 100-continue\r\n\r\n";
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n%s", wait);
  EXPECT_CONTAINS(peer_raw_until(peer, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer->in_size = 0;
  peer_print(peer, "body");
  responds(peer, 200, "body");
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n%s", wait);
  EXPECT_CONTAINS(peer_raw_until(peer, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer->in_size = 0;
  peer_print(peer, "1\r\nx\r\n0\r\n\r\n");
  responds(peer, 200, "x");
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n%sbody", wait);
  responds(peer, 200, "body"); /* the body has arrived with the head */
  peer_print(peer, "GET /what HTTP/1.1\r\nHost: a\r\n%s", wait);
  responds(peer, 200, "GET /what  - - - -");
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n%s", wait);
  EXPECT_INTEGER(peer_response(peer, false), 413);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(head, "http: HEAD is answered like GET, without the body") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "HEAD /what HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_INTEGER(peer_response(peer, true), 200);
  EXPECT_CONTAINS(peer->headers, "Content-Length: 19\r\n");
  peer_print(peer, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  responds(peer, 204, "");
  EXPECT_LACKS(peer->headers, "Content-Length");
  peer_cut(peer);
  host_end(host);
}

TEST(refusals, "http: a malformed request gets a problem document, and the connection ends") {
  relay_config_t config = host_config();
  config.limits.frame = 1000;
  host_t *host = host_start(&config);
  static const struct {
    const char *request;
    int status;
  } refused[] = {
      {"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nx", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
      {"GET /echo HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n", 413},
      {"GET /what HTTP/1.1\r\nHost: a\r\nOrigin: http://evil.example\r\n\r\n", 403},
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer, "%s", refused[i].request);
    if (!EXPECT_INTEGER(peer_response(peer, false), refused[i].status)) EXPECT_TEXT(refused[i].request, "");
    EXPECT_CONTAINS(peer->headers, "application/problem+json");
    EXPECT_CONTAINS(peer->headers, "Connection: close");
    EXPECT_CONTAINS(peer->text, "\"code\":\"");
    EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  host_end(host);
}

TEST(heads, "http: an ambiguous head is refused with 400, and the connection ends") {
  host_t *host = host_start(NULL);
  static const char *const refused[] = {
      "GET /what%0AHost:localhost:1 HTTP/1.1\r\nHost: evil.example",
      "GET /what%0aHost:localhost:1%20HTTP/1.1 HTTP/1.1\r\nHost: evil.example",
      "GET /what%20HTTP/1.1%0AHost:localhost HTTP/1.1\r\nHost: evil.example",
      "GET /what%0D%0AHost:localhost HTTP/1.1\r\nHost: evil.example",
      "GET /what%0DHost:localhost HTTP/1.1\r\nHost: evil.example",
      "GET /what?a=%0AAuthorization:Bearer HTTP/1.1\r\nHost: a",
      "GET /what%09x HTTP/1.1\r\nHost: a",
      "GET /what/%00x HTTP/1.1\r\nHost: a",
      "GET /what%01 HTTP/1.1\r\nHost: a",
      "GET /what%7F HTTP/1.1\r\nHost: a",
      "GET /what\r\nHost: a",
      "GET /what HTTP/1.1x\r\nHost: a",
      "GET /what HTTP/1.1 HTTP/1.1\r\nHost: a",
      "GET /what HTTP/1.1\r\nHost: a\r\nHTTP/1.1 x",
      "GET /what HTTP/1.1\r\nHost: a\r\nHTTP/1.0 HTTP/1.0",
      "GET /what HTTP/1.1",
      "GET /what HTTP/1.1\r\nHost:",
      "GET /what HTTP/1.1\r\nHost: a b",
      "GET /what HTTP/1.1\r\nHost: a:b",
      "GET /what HTTP/1.1\r\nHost: a\r\nHost: a",
      "GET /what HTTP/1.1\r\nHost:\r\nHost: a",
      "GET /what HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\r\nAuthorization: Bearer t",
      "GET /what HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0",
      "GET /what HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Type: text/plain",
      "GET /what HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nOrigin: http://a",
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer, "%s\r\n\r\n", refused[i]);
    if (!EXPECT_INTEGER(peer_response(peer, false), 400)) EXPECT_TEXT(refused[i], "");
    EXPECT_CONTAINS(peer->headers, "Connection: close");
    EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  host_end(host);
}

static void request_with(const host_t *host, const char *before, int fill, const char *behind, int status) {
  char *long_text = malloc((size_t)fill + 1);
  memset(long_text, 'a', (size_t)fill);
  long_text[fill] = 0;
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET %s%s%s\r\n\r\n", before, long_text, behind);
  if (!EXPECT_INTEGER(peer_response(peer, false), status)) EXPECT_TEXT(before, behind);
  peer_cut(peer);
  free(long_text);
}

TEST(long_parts, "http: each part of a head that takes time to parse has a bound") {
  host_t *host = host_start(NULL);
  request_with(host, "/", 2047, " HTTP/1.1\r\nHost: a", 404);
  request_with(host, "/", 2048, " HTTP/1.1\r\nHost: a", 414);
  request_with(host, "/nothing?", 4096, " HTTP/1.1\r\nHost: a", 204);
  request_with(host, "/nothing?", 4097, " HTTP/1.1\r\nHost: a", 414);
  static const char *const names[] = {"If-Match", "If-None-Match", "Content-Type", "Accept-Encoding"};
  for (int i = 0; i < 4; i++) {
    char before[80];
    snprintf(before, sizeof before, "/nothing HTTP/1.1\r\nHost: a\r\n%s: ", names[i]);
    request_with(host, before, 1024, "", 204);
    request_with(host, before, 1025, "", 431);
  }
  host_end(host);
}

TEST(lists, "http: list headers may be repeated, and HTTP/1.0 needs no Host") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer,
             "GET /what HTTP/1.1\r\nHost: a:80\r\nIf-None-Match: \"a\"\r\nIf-None-Match: \"b\"\r\n\r\n");
  responds(peer, 200, "GET /what  - - - \"a\"");
  peer_print(peer, "GET /what?a=%%C3%%A9%%20+ HTTP/1.1\r\nHost: [::1]\r\n\r\n");
  responds(peer, 200, "GET /what a=%C3%A9%20+ - - - -");
  peer_print(peer, "GET /what HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
  responds(peer, 200, "GET /what  - - - -");
  EXPECT_CONTAINS(peer->headers, "Connection: keep-alive\r\n");
  peer_print(peer, "GET /what HTTP/1.0\r\n\r\n");
  responds(peer, 200, "GET /what  - - - -");
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(too_large,
     "http: a client that sends a body over the limit gets the reason before the connection ends") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
  char body[3000];
  memset(body, 'x', sizeof body);
  for (int i = 0; i < 100; i++) peer_write(peer, body, sizeof body);
  EXPECT_INTEGER(peer_response(peer, false), 413);
  peer_cut(peer);
  host_end(host);
}

static void answer(relay_hub_t *hub, void *context) {
  host_t *host = context;
  relay_http_respond(hub, host->exchange, 201, "X-Late: yes\r\n", (relay_bytes_t){"late", 4});
  relay_http_respond(hub, host->exchange, 500, "", (relay_bytes_t){"again", 5});
}

TEST(no_length, "http: a request without Content-Length has no body, and the connection stays open") {
  host_t *host = host_start(NULL);
  static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", "GET"};
  peer_t *peer = peer_dial(host_port(host));
  for (int i = 0; i < 5; i++) {
    peer_print(peer, "%s /echo HTTP/1.1\r\nHost: a\r\n\r\n", methods[i]);
    responds(peer, 200, "");
  }
  peer_print(peer, "PUT /echo HTTP/1.1\r\nHost: a\r\n\r\nbody\r\n\r\n"); /* no header announces a body */
  responds(peer, 200, "");
  EXPECT_INTEGER(peer_response(peer, false), 501);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

TEST(later, "http: an answer may be sent later, and only the first one counts") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT(host_noted(host, "held http"));
  host_do(host, answer, host);
  responds(peer, 201, "late");
  EXPECT_CONTAINS(peer->headers, "X-Late: yes\r\n");
  peer_print(peer, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  responds(peer, 204, "");
  peer_cut(peer);
  host_end(host);
}

TEST(half_closed, "http: a client that closes its side after the request gets the answer") {
  host_t *host = host_start(NULL);
  for (int i = 0; i < 3; i++) {
    peer_t *peer = peer_dial(host_port(host));
    if (i == 0) peer_print(peer, "GET /what HTTP/1.1\r\nHost: a\r\n\r\n");
    if (i == 1) peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    if (i == 2) peer_print(peer, "POST /what HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    shutdown(peer->socket, SHUT_WR);
    EXPECT_INTEGER(peer_response(peer, false), 200);
    if (i == 1) EXPECT_TEXT(peer->text, "body");
    EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  host_end(host);
}

TEST(kept_for_others, "http: a paused session does not affect other connections") {
  host_t *host = host_start(NULL);
  peer_t *paused = peer_open(host_port(host), "ann", ""), *peer = peer_dial(host_port(host));
  for (int i = 0; i < 300; i++) peer_say(paused, "{\"type\":\"hold\"}");
  EXPECT(host_noted(host, "held hold"));
  for (int i = 0; i < 5; i++) {
    peer_print(peer, "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n");
    responds(peer, 200, "");
  }
  host_cut(host); /* the paused session would not notice the end of its client */
  peer_cut(peer);
  peer_cut(paused);
}

TEST(left_early,
     "http: a client that leaves before the answer, or within the body, leaves nothing in memory") {
  host_t *host = host_start(NULL);
  peer_t *waiting = peer_dial(host_port(host)), *half = peer_dial(host_port(host));
  peer_print(waiting, "GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT(host_noted(host, "held http"));
  peer_print(half, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
  peer_cut(waiting);
  peer_cut(half);
  host_do(host, answer, host);
  host_end(host);
}

TEST(then_a_session, "http: a connection that carried requests may become a session") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  responds(peer, 200, "hi");
  EXPECT_INTEGER(peer_upgrade(peer, "/v1/connect", ""), 101);
  peer_say(peer, "{\"type\":\"hello\",\"user\":\"ann\"}");
  EXPECT_CONTAINS(peer_receive(peer), "welcome");
  peer_leave(peer);
  host_end(host);
}

TEST(not_http, "http: bytes that are not HTTP are refused") {
  host_t *host = host_start(NULL);
  static const struct {
    const char *bytes;
    int status;
  } noise[] = {{"hello\r\n\r\n", 501},
               {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
               {"GET\r\n\r\n", 400},
               {"BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n", 501}};
  for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer, "%s", noise[i].bytes);
    if (!EXPECT_INTEGER(peer_response(peer, false), noise[i].status)) EXPECT_TEXT(noise[i].bytes, "");
    EXPECT_CONTAINS(peer->headers, "application/problem+json");
    EXPECT(peer_sees_end(peer));
    peer_cut(peer);
  }
  host_end(host);
}

TEST(other_upgrades, "http: an upgrade to another protocol is ignored, and CONNECT is refused") {
  host_t *host = host_start(NULL);
  static const struct {
    const char *request;
    int status;
  } cases[] = {
      {"GET /what HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
       "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
       200},
      {"GET /what HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n", 200},
      {"CONNECT /v1/connect HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer, "%s", cases[i].request);
    if (!EXPECT_INTEGER(peer_response(peer, false), cases[i].status)) EXPECT_TEXT(cases[i].request, "");
    peer_cut(peer);
  }
  host_end(host);
}

/* Returns the part of half a second in which the hub's thread used the processor. */
static double load(const host_t *host) {
  clockid_t clock;
  struct timespec before, after;
  pthread_getcpuclockid(host->thread, &clock);
  clock_gettime(clock, &before);
  usleep(500000);
  clock_gettime(clock, &after);
  return ((double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9) / 0.5;
}

static const char held_get[] = "GET /held HTTP/1.1\r\nHost: a\r\n\r\n";
static const char held_post[] = "POST /held HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";

TEST(no_spin, "http: a client that sends more or closes its side while it waits uses no processor time") {
  host_t *host = host_start(NULL);
  for (int way = 0; way < 3; way++) {
    peer_t *peer = peer_dial(host_port(host));
    peer_print(peer, "%s", way == 2 ? held_post : held_get);
    while (host_notes(host, "held http") <= way) usleep(1000);
    if (way == 1)
      shutdown(peer->socket, SHUT_WR);
    else
      peer_print(peer, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT(load(host) < 0.2);
    host_do(host, answer, host);
    responds(peer, 201, "late");
    if (way != 1) responds(peer, 204, "");
    peer_cut(peer);
  }
  host_end(host);
}

TEST(pipelined_bodies, "http: pipelined requests with bodies do not delay other clients") {
  host_t *host = host_start(NULL);
  peer_t *other = peer_open(host_port(host), "ann", "");
  for (int way = 0; way < 4; way++) {
    peer_t *peer = peer_dial(host_port(host));
    const char *first = way % 2 ? "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n" : held_post;
    const char *second =
        way / 2 ? "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\nx"
                : "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
    peer_print(peer, "%s%s%s", first, second, second);
    if (way % 2 == 0) {
      while (host_notes(host, "held http") <= way / 2) usleep(1000);
      host_do(host, answer, host);
    }
    EXPECT_INTEGER(peer_response(peer, false), way % 2 ? 204 : 201);
    EXPECT_INTEGER(peer_response(peer, false), way / 2 ? 400 : 200);
    EXPECT(peer_sees_end(peer));
    EXPECT(peer_receives_none_with(other, "bye"));
    peer_cut(peer);
  }
  peer_leave(other);
  host_end(host);
}
