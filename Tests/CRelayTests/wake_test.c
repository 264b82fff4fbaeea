// SPDX-License-Identifier: Apache-2.0
/* Creation and end of a hub, and relay_hub_wake(), which other threads call. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

enum { THREADS = 4, WAKES = 20000 };

typedef struct bell {
  relay_hub_t *hub;
  atomic_int rung, received;
  atomic_bool is_over;
} bell_t;

static void receive(void *context) {
  bell_t *bell = context;
  atomic_store(&bell->received, atomic_load(&bell->rung));
  if (atomic_load(&bell->is_over)) relay_hub_stop(bell->hub);
}

static void ignore(void *context, const relay_event_t *events, size_t count) {
  (void)context, (void)events, (void)count;
}

static void *ring(void *context) {
  bell_t *bell = context;
  for (int i = 0; i < WAKES; i++) {
    atomic_fetch_add(&bell->rung, 1);
    relay_hub_wake(bell->hub);
  }
  return NULL;
}

static void *run(void *context) {
  relay_hub_run(((bell_t *)context)->hub);
  return NULL;
}

static relay_hub_t *create(bell_t *bell) {
  const relay_config_t config = host_config();
  const relay_callbacks_t callbacks = {.context = bell, .woken = receive, .happened = ignore};
  return relay_hub_create(&config, &callbacks);
}

TEST(wakes, "wake: any thread may wake the hub, and no wake is lost") {
  bell_t bell = {0};
  bell.hub = create(&bell);
  EXPECT_INTEGER(relay_hub_listen(bell.hub), 0);
  pthread_t runner, ringers[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&ringers[i], NULL, ring, &bell);
  pthread_create(&runner, NULL, run, &bell);
  for (int i = 0; i < THREADS; i++) pthread_join(ringers[i], NULL);
  for (int i = 0; i < 5000 && atomic_load(&bell.received) < THREADS * WAKES; i++) usleep(1000);
  EXPECT_INTEGER(atomic_load(&bell.received), THREADS * WAKES);
  atomic_store(&bell.is_over, true);
  relay_hub_wake(bell.hub);
  pthread_join(runner, NULL);
  relay_hub_destroy(bell.hub);
}

static void stop(void *context) {
  bell_t *bell = context;
  relay_hub_stop(bell->hub);
}

static void *ring_on(void *context) {
  bell_t *bell = context;
  while (!atomic_load(&bell->is_over)) relay_hub_wake(bell->hub);
  return NULL;
}

TEST(late_wakes, "wake: threads may wake the hub while its run ends and afterwards") {
  for (int i = 0; i < 20; i++) {
    bell_t bell = {0};
    const relay_config_t config = host_config();
    const relay_callbacks_t callbacks = {.context = &bell, .woken = stop, .happened = ignore};
    bell.hub = relay_hub_create(&config, &callbacks);
    pthread_t ringer;
    pthread_create(&ringer, NULL, ring_on, &bell);
    relay_hub_run(bell.hub);
    for (int j = 0; j < 100; j++) relay_hub_wake(bell.hub);
    atomic_store(&bell.is_over, true);
    pthread_join(ringer, NULL);
    relay_hub_destroy(bell.hub);
  }
}

TEST(never_run, "life: a hub that never ran can be destroyed, with or without a listener") {
  bell_t bell = {0};
  relay_hub_destroy(create(&bell));
  relay_hub_t *hub = create(&bell);
  EXPECT_INTEGER(relay_hub_listen(hub), 0);
  relay_hub_wake(hub);
  relay_hub_destroy(hub);
}

TEST(ports, "life: a port in use or a foreign address is an error") {
  bell_t bell = {0};
  relay_hub_t *first = create(&bell);
  EXPECT_INTEGER(relay_hub_listen(first), 0);
  EXPECT(relay_hub_port(first) != 0);
  relay_config_t config = host_config();
  config.port = relay_hub_port(first);
  const relay_callbacks_t callbacks = {.context = &bell, .woken = receive, .happened = ignore};
  relay_hub_t *second = relay_hub_create(&config, &callbacks);
  EXPECT_INTEGER(relay_hub_listen(second), EADDRINUSE);
  config.address = "203.0.113.7";
  relay_hub_t *third = relay_hub_create(&config, &callbacks);
  EXPECT_INTEGER(relay_hub_listen(third), EADDRNOTAVAIL);
  relay_hub_destroy(third);
  relay_hub_destroy(second);
  relay_hub_destroy(first);
}

static void close_all(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_drain(hub, 4000, "shutdown");
}

TEST(shutdown_, "life: a shutdown asks each session to reconnect, in every state") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_t *no_hello = peer_dial(host_port(host)), *unanswered = peer_dial(host_port(host));
  peer_upgrade(no_hello, "/v1/connect", "");
  peer_upgrade(unanswered, "/v1/connect", "");
  peer_say(unanswered, "{\"type\":\"hello\",\"user\":\"unanswered\"}");
  peer_say(ann, "{\"type\":\"hold\"}");
  EXPECT(host_noted(host, "held hold"));
  peer_join(bob, "pushed.a");
  host_do(host, close_all, NULL);
  host_do(host, close_all, NULL);
  peer_t *const all[] = {ann, bob, no_hello, unanswered};
  for (int i = 0; i < 4; i++) {
    EXPECT_CONTAINS(peer_receive(all[i]), "{\"type\":\"bye\",\"code\":4000,\"reason\":\"shutdown\","
                                          "\"reconnect\":true,\"jitter\":0.2,\"retryAfter\":");
    EXPECT(peer_receive(all[i]) == NULL);
    EXPECT_INTEGER(all[i]->close_code, 4000);
    peer_leave(all[i]);
  }
  host_finish_held(host);
  host_end(host);
}

TEST(stopped, "life: a stop cuts open sessions, requests and streams") {
  host_t *host = host_start(NULL);
  peer_t *peers[6];
  peers[0] = peer_open(host_port(host), "ann", "");
  peer_join(peers[0], "pushed.a");
  peer_say(peers[0], "{\"type\":\"send\",\"room\":\"pushed.a\",\"body\":1}");
  peer_say(peers[0], "{\"type\":\"hold\"}");
  peers[1] = peer_dial(host_port(host));
  peer_upgrade(peers[1], "/v1/connect", "");
  peers[2] = peer_dial(host_port(host));
  peer_print(peers[2], "GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  peers[3] = peer_dial(host_port(host));
  peer_print(peers[3], "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
  peers[4] = peer_dial(host_port(host));
  peer_print(peers[4], "GET /he");
  peers[5] = peer_dial(host_port(host));
  peer_print(peers[5], "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT(host_noted(host, "held stream") && host_noted(host, "held http") && host_noted(host, "held hold"));
  host_cut(host);
  for (int i = 0; i < 6; i++) {
    EXPECT(peer_sees_end(peers[i]));
    peer_cut(peers[i]);
  }
}

#ifdef DEBUG
TEST(wrong_thread, "life: a debug build aborts if another thread calls a running hub") {
  host_t *host = host_start(NULL);
  host_counts(host); /* returns when the hub runs */
  const pid_t child = fork();
  if (!child) {
    close(STDERR_FILENO);
    relay_hub_counts(host->hub);
    _exit(0);
  }
  int status = 0;
  EXPECT_INTEGER(waitpid(child, &status, 0), child);
  EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  host_end(host);
}
#endif
