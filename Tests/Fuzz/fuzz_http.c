// SPDX-License-Identifier: Apache-2.0
/* HTTP clients that write any bytes. Some bytes are commands: 0x1f ends a write, 0x1e lets a second pass,
 * 0x1d opens another connection, 0x1c ends the client's side of the newest connection, 0x1a closes it. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "stage.h"

enum { MAX_SIZE = 4096, DIALS = 6, READ = 65536 };

static struct {
  int socket;
  size_t received;
} clients[DIALS];
static int count;

static void receive(int client) {
  static char bytes[READ];
  for (ssize_t size; (size = recv(clients[client].socket, bytes, sizeof bytes, 0)) > 0;) {
    if (!clients[client].received) MUST(size < 7 || !memcmp(bytes, "HTTP/1.", 7));
    clients[client].received += (size_t)size;
  }
}

static void receive_all(stage_t *stage) {
  stage_settle(stage);
  for (int i = 0; i < count; i++) receive(i);
  stage_settle(stage);
  stage_check(stage->hub);
}

static void say(stage_t *stage, const uint8_t *at, size_t size) {
  if (size && count) send(clients[count - 1].socket, at, size, MSG_NOSIGNAL);
  receive_all(stage);
}

static void dial(stage_t *stage) {
  if (count == DIALS) return;
  clients[count].received = 0;
  clients[count++].socket = stage_connect(stage);
}

static void act(stage_t *stage, uint8_t what) {
  switch (what) {
  case 0x1e:
    stage_pass(stage, 1000);
    break;
  case 0x1d:
    dial(stage);
    break;
  case 0x1c:
    shutdown(clients[count - 1].socket, SHUT_WR);
    break;
  case 0x1a:
    close(clients[--count].socket);
    if (!count) dial(stage);
    break;
  default:
    break;
  }
}

/* Checks that a plain request of another client is answered. */
static void expect_service(stage_t *stage) {
  static const char request[] = "GET /what?a=b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  static const char answer[] = "HTTP/1.1 200 OK\r\n";
  char bytes[512];
  const int socket = stage_connect(stage);
  send(socket, request, sizeof request - 1, MSG_NOSIGNAL);
  stage_settle(stage);
  MUST(recv(socket, bytes, sizeof bytes, 0) > 40 && !memcmp(bytes, answer, sizeof answer - 1));
  close(socket);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t size) {
  if (size > MAX_SIZE) return -1;
  relay_limits_t limits = stage_limits();
  limits.connections_per_address =
      2; /* of the clients in X-Forwarded-For: all connections are from a trusted proxy */
  stage_t *stage = stage_open(&limits);
  dial(stage);
  const uint8_t *begin = at, *const end = at + size;
  for (; at < end; at++) {
    if (*at != 0x1a && (*at < 0x1c || *at > 0x1f)) continue;
    say(stage, begin, (size_t)(at - begin));
    act(stage, *at);
    begin = at + 1;
  }
  say(stage, begin, (size_t)(end - begin));
  expect_service(stage);
  for (int i = 0; i < count; i++) shutdown(clients[i].socket, SHUT_WR);
  receive_all(stage);
  for (int i = 0; i < 15; i++) stage_pass(stage, 1000); /* longer than the timeouts of heads and bodies */
  receive_all(stage);
  while (count) close(clients[--count].socket);
  stage_pass(stage, 2000);
  stage_close(stage);
  return 0;
}
