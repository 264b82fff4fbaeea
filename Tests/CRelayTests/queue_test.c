// SPDX-License-Identifier: Apache-2.0
/* Queues of a session: frames that wait for an open request, and frames that wait to be written. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

typedef struct {
  relay_id_t session;
  uint32_t frames; /* that wait */
  uint32_t pings;
  bool is_blocked;
} outbox_t;

static void look_at_outbox(relay_hub_t *hub, void *data) {
  outbox_t *outbox = data;
  const relay_session_t *session = relay__session_find(hub, outbox->session);
  outbox->frames = session->outbox.count;
  outbox->pings = session->ping_count;
  outbox->is_blocked = session->is_blocked;
}

static outbox_t outbox_of(host_t *host, relay_id_t session) {
  outbox_t outbox = {.session = session};
  host_do(host, look_at_outbox, &outbox);
  return outbox;
}

/* Blocks the outbox of a session: its peer does not read. */
static void block(host_t *host, relay_id_t *session) {
  for (int i = 0; i < 4000 && !outbox_of(host, *session).is_blocked; i++) host_do(host, push, session);
  EXPECT(outbox_of(host, *session).is_blocked);
}

/* Sends a ping, and waits for its reply in the outbox. */
static void ping(host_t *host, peer_t *peer, relay_id_t session, const char *id) {
  const uint32_t before = outbox_of(host, session).frames;
  peer_say(peer, "{\"type\":\"ping\",\"id\":\"%s\"}", id);
  for (int i = 0; i < 5000 && outbox_of(host, session).frames == before; i++) usleep(1000);
  EXPECT_INTEGER(outbox_of(host, session).frames, before + 1);
}

typedef struct {
  relay_id_t session, room;
  const char *reply, *part;
} finished_join_t;

static relay_bytes_t bytes(const char *text) {
  return (relay_bytes_t){text, strlen(text)};
}

static void finish_join(relay_hub_t *hub, void *data) {
  const finished_join_t *join = data;
  const relay_bytes_t part = join->part ? bytes(join->part) : (relay_bytes_t){0};
  relay_session_finish_join(hub, join->session, join->room, bytes(join->reply), &part, join->part ? 1 : 0);
}

static void finish_history(relay_hub_t *hub, void *session) {
  relay_session_finish_history(hub, *(relay_id_t *)session, bytes("{\"type\":\"ok\",\"id\":\"h\"}"));
}

static void push_message(relay_hub_t *hub, void *session) {
  relay_session_push(hub, *(relay_id_t *)session, bytes("{\"type\":\"message\",\"seq\":9}"));
}

/* Expects these frames, after those that blocked the outbox. */
static void expect_frames(peer_t *peer, const char *const *frames, size_t count) {
  const char *text = peer_receive(peer);
  while (text && strstr(text, "pushed")) text = peer_receive(peer);
  for (size_t i = 0; i < count; i++, text = i < count ? peer_receive(peer) : NULL)
    EXPECT_CONTAINS(text, frames[i]);
}

TEST(superseded, "queue: a later join replaces the waiting reply to an earlier join of the room") {
  host_t *host = start();
  peer_t *bob = peer_open(host_port(host), "bob", ",\"acks\":true");
  relay_id_t session = host_session(bob->text);
  block(host, &session);
  const finished_join_t joins[] = {
      {session, 7, "{\"type\":\"ok\",\"id\":\"a,\\\"}\",\"room\":\"a\"}",
       "{\"type\":\"page\",\"room\":\"a\"}"},
      {session, 8, "{\"type\":\"ok\",\"id\":2,\"room\":\"b\"}", "{\"type\":\"page\",\"room\":\"b\"}"},
      {session, 7, "{\"type\":\"ok\",\"id\":3,\"room\":\"a\"}", NULL},
      {session, 7, "{\"type\":\"ok\",\"id\":4,\"room\":\"a\"}", NULL},
  };
  for (int i = 0; i < 2; i++) host_do(host, finish_join, (void *)&joins[i]);
  host_do(host, push_message, &session);
  for (int i = 2; i < 4; i++) host_do(host, finish_join, (void *)&joins[i]);
  expect_frames(bob,
                (const char *const[]){
                    "{\"type\":\"error\",\"id\":\"a,\\\"}\",\"code\":\"superseded\"",
                    "{\"type\":\"page\",\"room\":\"b\"}",
                    "\"id\":2,\"room\":\"b\"",
                    "\"seq\":9",
                    "{\"type\":\"error\",\"id\":3,\"code\":\"superseded\"",
                    "\"id\":4,\"room\":\"a\"",
                },
                6);
  EXPECT_INTEGER(host_counts(host).frame_bytes, 0);
  peer_leave(bob);
  host_end(host);
}

TEST(superseded_pings, "queue: an earlier pong does not prove that a client has the pages of a later join") {
  host_t *host = start();
  peer_t *bob = peer_open(host_port(host), "bob", ""),
         *eve = peer_open(host_port(host), "eve", ",\"acks\":true");
  peer_t *peers[] = {bob, eve};
  for (int i = 0; i < 2; i++) {
    relay_id_t session = host_session(peers[i]->text);
    block(host, &session);
    const finished_join_t joins[] = {{session, 7, "{\"type\":\"ok\",\"id\":1}", NULL},
                                     {session, 8, "{\"type\":\"ok\",\"id\":2}", NULL},
                                     {session, 7, "{\"type\":\"ok\",\"id\":3}", NULL}};
    host_do(host, finish_join, (void *)&joins[0]);
    host_do(host, finish_join, (void *)&joins[1]);
    const uint32_t pings = outbox_of(host, session).pings;
    host_do(host, finish_join, (void *)&joins[2]);
    /* A client with `acks` says what it has. */
    EXPECT((outbox_of(host, session).pings > pings) == (peers[i] == bob));
    peer_catch_up(peers[i]);
    peer_leave(peers[i]);
  }
  host_end(host);
}

TEST(ping_first, "queue: the reply to a ping goes before pages that wait, and after all other frames") {
  host_t *host = start();
  peer_t *bob = peer_open(host_port(host), "bob", ",\"acks\":true");
  relay_id_t session = host_session(bob->text);
  block(host, &session);
  const finished_join_t join = {session, 7, "{\"type\":\"ok\",\"id\":1,\"room\":\"a\"}",
                                "{\"type\":\"page\",\"room\":\"a\"}"};
  ping(host, bob, session, "p1");
  host_do(host, push_message, &session);
  host_do(host, finish_join, (void *)&join);
  host_do(host, finish_history, &session);
  ping(host, bob, session, "p2");
  expect_frames(
      bob, (const char *const[]){"\"p1\"", "\"seq\":9", "\"p2\"", "\"page\"", "\"id\":1", "\"id\":\"h\""}, 6);
  peer_leave(bob);
  host_end(host);
}
