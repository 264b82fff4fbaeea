// SPDX-License-Identifier: Apache-2.0
/* HTTP answers without an end (streams). */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "edge/edge.h" /* for the size of a buffer, which relay.h does not show */
#include "host.h"
#include "peer.h"
#include "test.h"

enum { CHUNK = 50000 };

typedef struct more {
  host_t *host;
  const char *text;
  size_t size;
  bool is_taken;
} more_t;

static void write_more(relay_hub_t *hub, void *context) {
  more_t *more = context;
  more->is_taken =
      relay_http_stream_write(hub, more->host->exchange, (relay_bytes_t){more->text, more->size});
}

static bool streams(host_t *host, const char *text, size_t size) {
  more_t more = {host, text, size, false};
  host_do(host, write_more, &more);
  return more.is_taken;
}

static peer_t *open_stream(host_t *host) {
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT(host_noted(host, "held stream"));
  EXPECT_CONTAINS(peer_raw_until(peer, "data: first\n\n"), "\r\nContent-Type: text/event-stream\r\n");
  EXPECT_LACKS(peer->in, "Content-Length");
  return peer;
}

TEST(stream, "stream: written bytes arrive, and an event follows when the client leaves") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  EXPECT(streams(host, "data: second\n\n", 14));
  EXPECT(peer_raw_until(peer, "data: second\n\n") != NULL);
  EXPECT(streams(host, "data: third\n\n", 13));
  EXPECT(peer_raw_until(peer, "data: third\n\n") != NULL);
  peer_cut(peer);
  EXPECT(host_noted(host, "stream closed"));
  EXPECT(!streams(host, "data: late\n\n", 12));
  host_end(host);
}

TEST(slow_stream, "stream: the hub cuts a client that does not read") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  char *chunk = calloc(1, CHUNK);
  int taken = 0;
  while (taken < 2000 && streams(host, chunk, CHUNK)) taken++;
  EXPECT(taken < 2000);
  EXPECT(!streams(host, chunk, CHUNK));
  EXPECT(host_noted(host, "stream closed"));
  EXPECT_INTEGER(host_notes(host, "stream closed"), 1);
  free(chunk);
  peer_cut(peer);
  host_end(host);
}

TEST(extra_bytes, "stream: further bytes of the client are ignored, and its end is an event") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  peer_print(peer, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT(streams(host, "data: second\n\n", 14));
  EXPECT(peer_raw_until(peer, "data: second\n\n") != NULL);
  peer_cut(peer);
  EXPECT(host_noted(host, "stream closed"));
  host_end(host);
}

static void end_stream(relay_hub_t *hub, void *context) {
  relay_http_stream_end(hub, ((host_t *)context)->exchange);
}

TEST(ended, "stream: the relay can end a stream") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  host_do(host, end_stream, host);
  EXPECT(peer_sees_end(peer));
  EXPECT(host_noted(host, "stream closed"));
  peer_cut(peer);
  host_end(host);
}

typedef struct look {
  host_t *host;
  size_t pending, capacity;
} look_t;

static void look(relay_hub_t *hub, void *context) {
  look_t *look = context;
  const relay_exchange_t *exchange = relay__slots_find(&hub->edge->exchanges, look->host->exchange);
  look->pending = exchange ? exchange->out.size - exchange->out_sent : 0;
  look->capacity = exchange ? exchange->out.capacity : SIZE_MAX;
}

/* Makes the socket's buffer small, as with a slow network. */
static void narrow(relay_hub_t *hub, void *context) {
  const relay_exchange_t *exchange = relay__slots_find(&hub->edge->exchanges, ((host_t *)context)->exchange);
  const int little = 32768;
  if (exchange) setsockopt(exchange->connection->socket, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
}

static bool pull(peer_t *peer) {
  static char bytes[CHUNK];
  return recv(peer->socket, bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes;
}

TEST(late_stream, "stream: the hub keeps no sent bytes, even if more bytes always wait") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  host_do(host, narrow, host);
  char *chunk = calloc(1, CHUNK);
  look_t now = {.host = host};
  for (int i = 0; i < 600; i++) {
    for (host_do(host, look, &now); now.pending < 3 * CHUNK; host_do(host, look, &now))
      if (!EXPECT(streams(host, chunk, CHUNK))) break;
    if (!EXPECT(pull(peer))) break;
  }
  EXPECT(now.capacity < 4 << 20);
  free(chunk);
  peer_cut(peer);
  host_end(host);
}

TEST(stream_followed, "stream: a request with bytes behind it is refused, and the loop stays idle") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n[");
  EXPECT_INTEGER(peer_response(peer, false), 400);
  EXPECT_CONTAINS(peer->headers, "Connection: close\r\n");
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
  host_end(host);
}

static void finish(relay_hub_t *hub, void *host) {
  relay_http_stream_finish(hub, ((host_t *)host)->exchange);
}

static void read_unsent(relay_hub_t *hub, void *context) {
  more_t *more = context;
  more->size = relay_http_stream_unsent(hub, more->host->exchange);
}

static size_t unsent(host_t *host) {
  more_t more = {.host = host};
  host_do(host, read_unsent, &more);
  return more.size;
}

TEST(finished, "stream: a finished stream sends its last bytes, takes no more, and then closes") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  EXPECT(streams(host, "data: last\n\n", 12));
  EXPECT_INTEGER(unsent(host), 0);
  host_do(host, finish, host);
  EXPECT(!streams(host, "data: late\n\n", 12));
  EXPECT(peer_raw_until(peer, "data: last\n\n") != NULL);
  EXPECT(peer_sees_end(peer));
  EXPECT(host_noted(host, "stream closed"));
  EXPECT_LACKS(peer->in, "late");
  peer_cut(peer);
  host_end(host);
}

TEST(finished_blocked,
     "stream: a finished stream of a slow client sends the bytes that wait, before it closes") {
  host_t *host = host_start(NULL);
  peer_t *peer = open_stream(host);
  char *chunk = calloc(1, CHUNK);
  memset(chunk, 'x', CHUNK);
  while (unsent(host) < CHUNK) EXPECT(streams(host, chunk, CHUNK)); /* below the bound of 256 KiB */
  EXPECT(streams(host, "data: last\n\n", 12));
  host_do(host, finish, host);
  EXPECT_INTEGER(host_notes(host, "stream closed"), 0);
  EXPECT(peer_raw_until(peer, "data: last\n\n") != NULL);
  EXPECT(host_noted(host, "stream closed"));
  free(chunk);
  peer_cut(peer);
  host_end(host);
}
