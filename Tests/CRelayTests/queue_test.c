// SPDX-License-Identifier: Apache-2.0
/* Queues of a session: frames that wait for an open request, and frames that wait to be written. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/core.h" /* for the queues, which relay.h does not show */
#include "host.h"
#include "peer.h"
#include "test.h"

enum { BODY = 20000, QUEUE = 256 * 1024 };

static host_t *start(void) {
  relay_config_t config = host_config();
  config.limits.outgoing_queue = QUEUE;
  return host_start(&config);
}

static void is_too_slow(peer_t *peer) {
  EXPECT_CONTAINS(peer_receive_with(peer, "\"bye\""),
                  "\"code\":4003,\"reason\":\"too slow: the outgoing queue was full\",\"reconnect\":true");
  EXPECT(peer_receive(peer) == NULL);
  EXPECT_INTEGER(peer->close_code, 4003);
  peer_leave(peer);
}

TEST(slow_reader,
     "queue: the hub closes a client that does not read events with 4003, and memory is bounded") {
  host_t *host = start();
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_t *eve = peer_open(host_port(host), "eve", "");
  peer_join(ann, "live.a");
  peer_join(bob, "live.a");
  peer_join(eve, "live.a");
  char body[BODY + 1];
  memset(body, 'b', BODY);
  body[BODY] = 0;
  size_t largest = 0;
  int sent = 0;
  /* The buffers of the sockets first accept some megabytes. */
  for (relay_counts_t counts = {.seats = 3}; counts.seats == 3 && sent < 4000; sent++) {
    peer_say(ann, "{\"type\":\"send\",\"room\":\"live.a\",\"id\":1,\"body\":\"%s\"}", body);
    peer_receive_with(ann, "\"id\":1");
    EXPECT_CONTAINS(peer_receive_with(eve, "\"message\""), body);
    counts = host_counts(host);
    if (counts.frame_bytes > largest) largest = counts.frame_bytes;
  }
  EXPECT_INTEGER(host_counts(host).seats, 2);
  EXPECT(largest > QUEUE / 2 && largest < QUEUE + 3 * BODY);
  EXPECT(host_counts(host).frame_bytes < 2 * BODY);
  is_too_slow(bob);
  peer_say(ann, "{\"type\":\"send\",\"room\":\"live.a\",\"id\":2,\"body\":1}");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"id\":2"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(eve, "\"message\""), "\"body\":1");
  peer_leave(ann);
  peer_leave(eve);
  host_end(host);
}

static void push(relay_hub_t *hub, void *session) {
  static char json[BODY];
  memset(json, ' ', sizeof json);
  memcpy(json, "{\"type\":\"pushed\"}", 17);
  relay_session_push(hub, *(relay_id_t *)session, (relay_bytes_t){json, sizeof json});
}

TEST(pushed_events, "queue: pushed events count for the outgoing queue") {
  host_t *host = start();
  peer_t *bob = peer_open(host_port(host), "bob", "");
  relay_id_t session = host_session(bob->text);
  host_do(host, push, &session);
  EXPECT_CONTAINS(peer_receive(bob), "pushed");
  peer_join(bob, "live.a");
  for (int i = 0; i < 4000 && host_counts(host).seats; i++) host_do(host, push, &session);
  EXPECT_INTEGER(host_counts(host).seats, 0);
  is_too_slow(bob);
  host_end(host);
}

TEST(never_reads, "queue: the hub cuts a client that does not read its bye") {
  host_t *host = start();
  peer_t *bob = peer_open(host_port(host), "bob", "");
  relay_id_t session = host_session(bob->text);
  peer_join(bob, "live.a");
  for (int i = 0; i < 4000 && host_counts(host).seats; i++) host_do(host, push, &session);
  host_end(host); /* waits until the session is gone */
  peer_cut(bob);
}

enum { MANY = 20000 };

static void *request(void *peer) {
  for (int i = 0; i < MANY; i++)
    if (!peer_say(peer, "{\"type\":\"ping\",\"id\":%d}", i)) break;
  return NULL;
}

TEST(replies, "queue: replies that the client reads late do not close the session, and stay in order") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  pthread_t requester;
  pthread_create(&requester, NULL, request, peer);
  for (int i = 0; i < MANY; i++) {
    char id[32];
    snprintf(id, sizeof id, "\"id\":%d,", i);
    if (!EXPECT_CONTAINS(peer_receive(peer), id)) break;
  }
  pthread_join(requester, NULL);
  peer_leave(peer);
  host_end(host);
}

/* Returns the bytes of `count` frames with pings, each padded with spaces to `payload` bytes. */
static char *pings(int count, size_t payload, size_t *size) {
  const size_t frame = payload + 8;
  char *frames = malloc((size_t)count * frame);
  *size = (size_t)count * frame;
  memset(frames, ' ', *size);
  for (int i = 0; i < count; i++) {
    char *at = frames + (size_t)i * frame, text[64];
    memcpy(at, (char[]){(char)0x81, (char)0xfe, (char)(payload >> 8), (char)payload, 0, 0, 0, 0}, 8);
    memcpy(at + 8, text, (size_t)snprintf(text, sizeof text, "{\"type\":\"ping\",\"id\":%d}", i));
  }
  return frames;
}

/* Writes until the socket accepts nothing for 200 ms. */
static size_t write_some(peer_t *peer, const char *at, size_t size) {
  size_t sent = 0;
  while (sent < size) {
    const ssize_t n = send(peer->socket, at + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += (size_t)n;
    struct pollfd poll_for = {.fd = peer->socket, .events = POLLOUT};
    if (n < 0 && (errno != EAGAIN || poll(&poll_for, 1, 200) != 1)) break;
  }
  return sent;
}

typedef struct waiting {
  uint32_t frames, bytes;
  bool is_paused;
} waiting_t;

static void look(relay_hub_t *hub, void *context) {
  const relay_session_t *session = hub->sessions.items[0];
  *(waiting_t *)context = (waiting_t){session->pending_count, session->held_bytes, session->is_paused};
}

static bool is_paused(relay_hub_t *hub, void *context) {
  look(hub, context);
  return ((waiting_t *)context)->is_paused;
}

/* Writes pings behind an open request. Returns the waiting frames when reading has paused. */
static waiting_t fill(int count, size_t payload) {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  const int size_of_buffer = 65536;
  setsockopt(peer->socket, SOL_SOCKET, SO_SNDBUF, &size_of_buffer, sizeof size_of_buffer);
  peer_say(peer, "{\"type\":\"hold\"}");
  EXPECT(host_noted(host, "held hold"));
  size_t size;
  char *frames = pings(count, payload, &size);
  const size_t sent = write_some(peer, frames, size);
  waiting_t waiting = {0};
  EXPECT(host_reaches(host, is_paused, &waiting));
  host_finish_held(host);
  EXPECT_CONTAINS(peer_receive(peer), "\"held\"");
  EXPECT(peer_write(peer, frames + sent, size - sent));
  free(frames);
  for (int i = 0; i < count; i++) {
    char id[32];
    snprintf(id, sizeof id, "\"id\":%d,", i);
    if (!EXPECT_CONTAINS(peer_receive(peer), id)) break;
  }
  peer_leave(peer);
  host_end(host);
  return waiting;
}

TEST(unfinished,
     "queue: reading pauses when 63 frames wait behind an open request, and all get answers in order") {
  const waiting_t waiting = fill(400, 126);
  EXPECT(waiting.frames >= 63 && waiting.frames < 63 + 16); /* frames that were already read wait as well */
}

TEST(unfinished_bytes, "queue: reading pauses when 256 KiB wait behind an open request") {
  const waiting_t waiting = fill(200, 60000);
  EXPECT(waiting.bytes > 256 * 1024 && waiting.bytes < 256 * 1024 + 2 * 65536);
}

TEST(held_and_gone, "queue: a client that leaves with open and waiting requests leaves nothing in memory") {
  host_t *host = host_start(NULL);
  for (int way = 0; way < 2; way++) {
    peer_t *peer = peer_open(host_port(host), "ann", "");
    for (int i = 0; i < 20; i++) peer_say(peer, "{\"type\":\"hold\"}");
    EXPECT(host_noted(host, "held hold"));
    if (way)
      peer_cut(peer);
    else
      peer_leave(peer);
  }
  host_finish_held(host);
  host_end(host);
}

TEST(stored_sends, "queue: 200 sends at once to a stored room are stored and delivered in their order") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(ann, "live.b");
  peer_join(bob, "stored.a");
  for (int i = 1; i <= 200; i++) {
    peer_say(ann, "{\"type\":\"send\",\"id\":%d,\"room\":\"stored.a\",\"body\":%d}", i, i);
    if (i % 10 == 0)
      peer_say(ann, "{\"type\":\"signal\",\"room\":\"stored.a\",\"name\":\"n\",\"body\":%d}", i);
  }
  for (int i = 1; i <= 200; i++) {
    char reply[48], shown[48];
    snprintf(reply, sizeof reply, "\"ok\",\"id\":%d,\"seq\":%d,", i, i);
    snprintf(shown, sizeof shown, "\"body\":%d}", i);
    if (!EXPECT_CONTAINS(peer_receive_with(ann, "\"ok\""), reply)) break;
    if (!EXPECT_CONTAINS(peer_receive_with(bob, "\"body\""), shown)) break;
    if (i % 10 == 0 && !EXPECT_CONTAINS(peer_receive(bob), "\"signal\"")) break;
  }
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}
