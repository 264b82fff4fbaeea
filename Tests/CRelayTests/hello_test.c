// SPDX-License-Identifier: Apache-2.0
/* The first frame of a session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static peer_t *dial(const host_t *host) {
  peer_t *peer = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(peer, "/v1/connect", ""), 101);
  return peer;
}

/* Expects `bye`, the close frame and the end. */
static void is_closed(peer_t *peer, int code) {
  char bye[32];
  snprintf(bye, sizeof bye, "\"code\":%d", code);
  EXPECT_CONTAINS(peer_receive_with(peer, "\"type\":\"bye\""), bye);
  EXPECT(peer_receive(peer) == NULL);
  EXPECT_INTEGER(peer->close_code, code);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
}

TEST(welcome, "hello: the hub answers hello with welcome, with and without an id") {
  host_t *host = host_start(NULL);
  peer_t *peer = dial(host);
  peer_say(peer, "{\"type\":\"hello\",\"user\":\"ann\"}");
  EXPECT_CONTAINS(peer_receive(peer), "{\"type\":\"welcome\",\"user\":\"ann\"");
  peer_t *other = dial(host);
  peer_say(other, "{\"type\":\"hello\",\"id\":\"h\",\"user\":\"bob\"}");
  EXPECT_CONTAINS(peer_receive(other), "{\"type\":\"welcome\",\"id\":\"h\",\"user\":\"bob\"");
  peer_leave(peer);
  peer_leave(other);
  host_end(host);
}

TEST(not_hello, "hello: the hub closes a session with another first request with 4500") {
  host_t *host = host_start(NULL);
  static const char *const firsts[] = {"{\"type\":\"ping\"}",
                                       "{\"type\":\"Hello\"}",
                                       "{\"type\":7}",
                                       "{}",
                                       "{\"id\":[],\"type\":\"hello\"}",
                                       "{\"type\":\"hello\",\"type\":\"hello\"}",
                                       "[]",
                                       "not JSON",
                                       "{\"type\":\"hello\""};
  for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
    peer_t *peer = dial(host);
    peer_frame(peer, true, PEER_TEXT, firsts[i], __builtin_strlen(firsts[i]));
    EXPECT_CONTAINS(peer_receive(peer), "\"code\":\"bad_request\"");
    is_closed(peer, 4500);
  }
  host_end(host);
}

/* Sends a hello of at least `size` bytes with `values` more values. Expects a close with `code`; 0: a
 * welcome. */
static void says_hello_of(const host_t *host, size_t size, int values, int code) {
  char *text = malloc(size + 8192), *at = text;
  at += sprintf(at, "{\"type\":\"hello\",\"user\":\"ann\",\"x\":[0");
  for (int i = 0; i < values; i++) at += sprintf(at, ",0");
  at += sprintf(at, "]");
  while ((size_t)(at - text) + 1 < size) *at++ = ' ';
  *at++ = '}';
  peer_t *peer = dial(host);
  peer_frame(peer, true, PEER_TEXT, text, (size_t)(at - text));
  free(text);
  if (code) {
    is_closed(peer, code);
    return;
  }
  EXPECT_CONTAINS(peer_receive(peer), "welcome");
  peer_leave(peer);
}

TEST(hello_bounds, "hello: the bytes and values of hello are bounded, those of later frames are not") {
  host_t *host = host_start(NULL);
  says_hello_of(host, 16384, 0, 0);
  says_hello_of(host, 16385, 0, 4505);
  says_hello_of(host, 65536, 30000, 4505);
  says_hello_of(host, 0, 251, 0); /* plus the object, the array, its first value and two strings: 256 */
  says_hello_of(host, 0, 252, 4505);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  char *frame = malloc(60001);
  memset(frame, 'x', 60000);
  frame[60000] = 0;
  peer_say(peer, "{\"type\":\"ping\",\"pad\":\"%s\"}", frame);
  EXPECT_CONTAINS(peer_receive(peer), "pong");
  free(frame);
  peer_leave(peer);
  host_end(host);
}

TEST(no_hello, "hello: the hub closes a session without a hello in time with 4502") {
  relay_config_t config = host_config();
  config.limits.hello_timeout = 100;
  host_t *host = host_start(&config);
  peer_t *peer = dial(host), *pinging = dial(host);
  peer_frame(pinging, true, PEER_PING, "x", 1);
  EXPECT_CONTAINS(peer_receive(peer), "\"type\":\"bye\",\"code\":4502");
  EXPECT(peer_receive(peer) == NULL);
  EXPECT_INTEGER(peer->close_code, 4502);
  peer_leave(peer);
  is_closed(pinging, 4502);
  host_end(host);
}

TEST(refused, "hello: a refused session gets the reason and is closed, and its further frames are dropped") {
  host_t *host = host_start(NULL);
  peer_t *peer = dial(host);
  peer_say(peer, "{\"type\":\"hello\",\"id\":1,\"user\":\"nobody\"}");
  for (int i = 0; i < 20; i++) peer_say(peer, "{\"type\":\"ping\",\"id\":%d}", i);
  EXPECT_CONTAINS(peer_receive(peer), "{\"type\":\"error\",\"id\":1,\"code\":\"unauthorized\"");
  EXPECT_CONTAINS(peer_receive(peer),
                  "\"type\":\"bye\",\"code\":4501,\"reason\":\"no valid token\",\"reconnect\":false");
  EXPECT(peer_receive(peer) == NULL);
  EXPECT_INTEGER(peer->close_code, 4501);
  peer_leave(peer);
  host_end(host);
}

TEST(twice, "hello: a second hello is a conflict, and changes nothing") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_say(peer, "{\"type\":\"hello\",\"id\":2,\"user\":\"bob\"}");
  EXPECT_CONTAINS(peer_receive(peer), "{\"type\":\"error\",\"id\":2,\"code\":\"conflict\"");
  EXPECT_CONTAINS(peer_join(peer, "live.a"), "\"user\":\"ann\"");
  peer_leave(peer);
  host_end(host);
}

TEST(pipelined, "hello: frames may follow at once, and are answered in their order") {
  host_t *host = host_start(NULL);
  peer_t *peer = dial(host);
  peer_say(peer, "{\"type\":\"hello\",\"id\":0,\"user\":\"ann\"}");
  peer_say(peer, "{\"type\":\"join\",\"id\":1,\"room\":\"live.a\"}");
  peer_say(peer, "{\"type\":\"send\",\"id\":2,\"room\":\"live.a\",\"body\":1}");
  peer_say(peer, "{\"type\":\"ping\",\"id\":3}");
  EXPECT_CONTAINS(peer_receive(peer), "\"type\":\"welcome\",\"id\":0");
  EXPECT_CONTAINS(peer_receive(peer), "\"type\":\"ok\",\"id\":1");
  EXPECT_CONTAINS(peer_receive(peer), "\"type\":\"ok\",\"id\":2,\"room\":\"live.a\",\"seq\":1");
  EXPECT_CONTAINS(peer_receive(peer), "\"type\":\"pong\",\"id\":3");
  peer_leave(peer);
  host_end(host);
}

TEST(sessions_per_user, "hello: a session above the limit of a user is refused") {
  relay_config_t config = host_config();
  config.limits.sessions_per_user = 2;
  host_t *host = host_start(&config);
  peer_t *one = peer_open(host_port(host), "ann", ""), *two = peer_open(host_port(host), "ann", "");
  peer_t *other = peer_open(host_port(host), "bob", ""), *three = dial(host);
  peer_say(three, "{\"type\":\"hello\",\"user\":\"ann\"}");
  is_closed(three, 4504);
  peer_leave(one);
  one = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(one->text, "welcome");
  peer_leave(one);
  peer_leave(two);
  peer_leave(other);
  host_end(host);
}

static relay_id_t ann_of(relay_hub_t *hub) {
  return relay_user_named(hub, "ann");
}

static void probe(relay_hub_t *hub, void *result) {
  *(bool *)result = relay_user_probe(hub, ann_of(hub));
}

static void await_pongs(relay_hub_t *hub, void *result) {
  *(bool *)result = relay_user_awaits_pongs(hub, ann_of(hub));
}

static bool asks(host_t *host, void (*question)(relay_hub_t *hub, void *result)) {
  bool result;
  host_do(host, question, &result);
  return result;
}

static bool awaits_no_pong(relay_hub_t *hub, void *unused) {
  (void)unused;
  return !relay_user_awaits_pongs(hub, ann_of(hub));
}

TEST(dead_session, "hello: at the limit, a session replaces the one that has been silent for longest") {
  relay_config_t config = host_config();
  config.limits.sessions_per_user = 3;
  host_t *host = host_start(&config);
  host_set_clock(host, 1000000);
  peer_t *peers[3];
  for (int i = 0; i < 2; i++) peers[i] = peer_open(host_port(host), "ann", "");
  EXPECT(!asks(host, probe)); /* there is a free place */
  peers[2] = peer_open(host_port(host), "ann", "");
  /* The second session has been silent for longest, and the first and the second do not answer pings. */
  peers[0]->answers_pings = peers[1]->answers_pings = false;
  host_pass(host, 1000);
  EXPECT(peer_receives_none_with(peers[0], "bye"));
  host_pass(host, 1000);
  EXPECT(asks(host, probe));
  peer_catch_up(peers[2]);
  EXPECT(asks(host, await_pongs));
  host_pass(host, 4999);
  EXPECT(asks(host, await_pongs)); /* too early: no session counts as dead */
  peer_t *early = dial(host);
  peer_say(early, "{\"type\":\"hello\",\"user\":\"ann\"}");
  is_closed(early, 4504);
  host_pass(host, 1);
  EXPECT(!asks(host, await_pongs));
  for (int i = 1; i >= 0; i--) {
    peer_t *next = peer_open(host_port(host), "ann", "");
    EXPECT_CONTAINS(next->text, "welcome");
    EXPECT_CONTAINS(peer_receive_with(peers[i], "bye"), "\"code\":4004");
    EXPECT(peers[1 - i]->close_code == 0 || i == 0);
    peer_cut(peers[i]);
    peers[i] = next;
  }
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  host_end(host);
}

TEST(live_sessions, "hello: a session that answers the ping keeps its place") {
  relay_config_t config = host_config();
  config.limits.sessions_per_user = 2;
  host_t *host = host_start(&config);
  peer_t *one = peer_open(host_port(host), "ann", ""), *two = peer_open(host_port(host), "ann", "");
  EXPECT(asks(host, probe));
  peer_catch_up(one);
  peer_catch_up(two);
  EXPECT(host_reaches(host, awaits_no_pong, NULL));
  peer_t *three = dial(host);
  peer_say(three, "{\"type\":\"hello\",\"user\":\"ann\"}");
  is_closed(three, 4504);
  EXPECT(peer_receives_none_with(one, "bye"));
  EXPECT(peer_receives_none_with(two, "bye"));
  peer_leave(one);
  peer_leave(two);
  host_end(host);
}

static void push_to_ann(relay_hub_t *hub, void *unused) {
  (void)unused;
  static char json[20000];
  memset(json, ' ', sizeof json);
  memcpy(json, "{\"type\":\"pushed\"}", 17);
  relay_id_t session = 0;
  relay_user_sessions(hub, ann_of(hub), &session, 1);
  relay_session_push(hub, session, (relay_bytes_t){json, sizeof json});
}

static void count_unwritten(relay_hub_t *hub, void *bytes) {
  *(size_t *)bytes = relay_hub_outbox_bytes(hub);
}

/* Returns the bytes that wait for Ann, after they have not changed for 200 ms. */
static size_t unwritten(host_t *host) {
  size_t before, bytes = 0;
  do {
    before = bytes;
    usleep(200000);
    host_do(host, count_unwritten, &bytes);
  } while (bytes != before);
  return bytes;
}

TEST(slow_download,
     "hello: a session with a ping behind a slow download keeps its place while bytes arrive") {
  relay_config_t config = host_config();
  config.limits.sessions_per_user = 1;
  config.limits.outgoing_queue = 0;
  config.limits.pong_timeout = 60000;
  host_t *host = host_start(&config);
  host_set_clock(host, 1000000);
  peer_t *slow = peer_open(host_port(host), "ann", "");
  slow->answers_pings = false;
  size_t bytes;
  for (bytes = 0; bytes < 4 << 20; host_do(host, count_unwritten, &bytes)) host_do(host, push_to_ann, NULL);
  host_pass(host, 1000);
  EXPECT(asks(host, probe));
  for (int i = 0; i < 2; i++) {
    host_pass(host, 4000);
    EXPECT(asks(host, await_pongs));
    bytes = unwritten(host);
    for (size_t left = bytes; left == bytes; left = unwritten(host))
      for (int j = 0; j < 50; j++) EXPECT(peer_receive(slow) != NULL);
  }
  host_pass(host, 4999);
  EXPECT(asks(host, await_pongs));
  host_pass(host, 1); /* nothing has arrived for 5 s */
  EXPECT(!asks(host, await_pongs));
  EXPECT_INTEGER(slow->pings, 0);
  peer_cut(slow);
  host_end(host);
}

static void count_rests(relay_hub_t *hub, void *count) {
  (void)hub;
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  *(long *)count = usage.ru_nvcsw;
}

/* Returns the number of times that the hub's thread has slept. */
static long rests(host_t *host) {
  long count;
  host_do(host, count_rests, &count);
  return count;
}

TEST(unanswered, "hello: no timeout ends a session while its hello is unanswered, and the client may leave") {
  relay_config_t config = host_config();
  config.limits.hello_timeout = config.limits.heartbeat = config.limits.pong_timeout = 50;
  host_t *host = host_start(&config);
  peer_t *peer = dial(host);
  peer_say(peer, "{\"type\":\"hello\",\"user\":\"unanswered\"}");
  peer_say(peer, "{\"type\":\"ping\"}");
  const long before = rests(host);
  EXPECT(peer_receive_within(peer, 300) == NULL);
  EXPECT(rests(host) - before < 60);
  EXPECT_INTEGER(peer->close_code, 0);
  EXPECT(!peer->has_ended);
  peer_leave(peer);
  host_end(host);
}
