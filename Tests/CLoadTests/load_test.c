// SPDX-License-Identifier: Apache-2.0
/* A load with relays that have faults: a thread plays a script to each connection. */
#include "frames.h"
#include "load.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SWITCHED                                                                                             \
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                        \
  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
#define WELCOME "{\"type\":\"welcome\",\"user\":\"u\"}"
#define JOINED                                                                                               \
  "{\"type\":\"ok\",\"id\":\"join\",\"room\":\"r\",\"epoch\":\"e\",\"seq\":10,\"messages\":[],"              \
  "\"memberCount\":1}"

typedef struct {
  int listener;
  uint16_t port;
  const char *answer;        /* to the handshake */
  const char *const *frames; /* after the handshake; the connection ends after the last one */
  const char *const *again;  /* frames for a second connection, after the first is cut; NULL: there is none */
  int piece;                 /* bytes of each write */
  pthread_t thread;
} script_t;

static void play(int connection, const char *bytes, size_t size, int piece) {
  for (size_t at = 0; at < size; at += (size_t)piece) {
    const size_t left = size - at;
    send(connection, bytes + at, left < (size_t)piece ? left : (size_t)piece, MSG_NOSIGNAL);
  }
}

static void serve(const script_t *script, const char *const *frames, bool ends) {
  const int connection = accept(script->listener, NULL, NULL);
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  char text[4096];
  size_t size = 0;
  while (!memmem(text, size, "\r\n\r\n", 4)) {
    const ssize_t more = recv(connection, text + size, sizeof text - size, 0);
    if (more <= 0) break;
    size += (size_t)more;
  }
  play(connection, script->answer, strlen(script->answer), script->piece);
  for (const char *const *frame = frames; frame && *frame; frame++) {
    char header[LOAD_MAX_HEADER];
    const size_t header_size = load__frame_header(LOAD_TEXT, strlen(*frame), header) - 4;
    header[1] &= 0x7f;
    play(connection, header, header_size, script->piece);
    play(connection, *frame, strlen(*frame), script->piece);
  }
  if (ends) shutdown(connection, SHUT_WR);
  while (recv(connection, text, sizeof text, 0) > 0) continue;
  close(connection);
}

static void *perform(void *argument) {
  const script_t *script = argument;
  close(accept(script->listener, NULL, NULL)); /* load_create() connects once */
  serve(script, script->frames, !script->again);
  if (script->again) serve(script, script->again, true);
  return NULL;
}

/* Runs one session of the room r with the script, until its connection ends. */
static load_counts_t counts_of(script_t script, char *problem, size_t problem_size) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  script.listener = socket(AF_INET, SOCK_STREAM, 0);
  if (!script.piece) script.piece = 4096;
  EXPECT(!bind(script.listener, (struct sockaddr *)&address, sizeof address));
  EXPECT(!listen(script.listener, 8));
  getsockname(script.listener, (struct sockaddr *)&address, &size);
  pthread_create(&script.thread, NULL, perform, &script);
  char why[128] = "";
  load_t *load = load_create("127.0.0.1", ntohs(address.sin_port), why, sizeof why);
  EXPECT_TEXT(why, "");
  load_session(load, "{\"type\":\"hello\",\"user\":\"u\"}", load_room(load, "r"));
  load_open(load, 0, 1, 0);
  EXPECT(load_run(load, LOAD_OPENED, 20));
  if (script.again) {
    EXPECT_INTEGER(load_counts(load).open, 1);
    load_cut(load, 0, 1);
    load_open(load, 0, 1, 0);
    EXPECT(load_run(load, LOAD_OPENED, 20));
  }
  for (int i = 0; i < 100 && load_counts(load).open; i++) load_run(load, LOAD_TIME, 0.05);
  const load_counts_t counts = load_counts(load);
  uint64_t times;
  const char *text = load_problem(load, 0, &times);
  if (problem) snprintf(problem, problem_size, "%s", text ? text : "");
  load_destroy(load);
  pthread_join(script.thread, NULL);
  close(script.listener);
  return counts;
}

#define MESSAGE(seq) "{\"type\":\"message\",\"room\":\"r\",\"seq\":" #seq ",\"from\":\"a\",\"body\":1}"

TEST(faults, "load: missing, duplicate and altered messages are counted") {
  static const char *const frames[] = {WELCOME,     JOINED,      MESSAGE(11), MESSAGE(12), MESSAGE(12),
                                       MESSAGE(15), MESSAGE(14), MESSAGE(16), NULL};
  for (int piece = 1; piece <= 4096; piece *= 16) {
    const load_counts_t counts =
        counts_of((script_t){.answer = SWITCHED, .frames = frames, .piece = piece}, NULL, 0);
    EXPECT_INTEGER(counts.delivered, 4);
    EXPECT_INTEGER(counts.gaps, 2);
    EXPECT_INTEGER(counts.duplicates, 2);
    EXPECT_INTEGER(counts.altered, 6); /* the load has sent none of these bodies */
    EXPECT_INTEGER(counts.closed, 1);
    EXPECT_INTEGER(counts.frames, 8);
  }
}

TEST(recovery, "load: a repeated join must return each missed message once") {
  static const char *const frames[] = {WELCOME, JOINED, NULL};
  static const char *const again[] = {
      WELCOME,
      "{\"type\":\"ok\",\"id\":\"join\",\"seq\":14,\"recovered\":true,\"messages\":[{\"seq\":11,\"body\":1},"
      "{\"seq\":11,\"body\":1},{\"seq\":13,\"body\":{\"seq\":12}}]}",
      MESSAGE(15), NULL};
  load_counts_t counts = counts_of((script_t){.answer = SWITCHED, .frames = frames, .again = again}, NULL, 0);
  EXPECT_INTEGER(counts.recovered, 2);
  EXPECT_INTEGER(counts.gaps, 2);
  EXPECT_INTEGER(counts.duplicates, 1);
  EXPECT_INTEGER(counts.delivered, 1);
  EXPECT_INTEGER(counts.unrecovered, 0);

  static const char *const elsewhere[] = {
      WELCOME, "{\"type\":\"ok\",\"id\":\"join\",\"seq\":14,\"recovered\":false,\"messages\":[]}", NULL};
  counts = counts_of((script_t){.answer = SWITCHED, .frames = frames, .again = elsewhere}, NULL, 0);
  EXPECT_INTEGER(counts.unrecovered, 1);
  EXPECT_INTEGER(counts.gaps, 0);
}

TEST(other_spelling, "load: fields are found in any order") {
  static const char *const frames[] = {
      "{ \"user\" : \"u\", \"type\" : \"welcome\" }",
      "{\"memberCount\":1,\"seq\":3,\"epoch\":\"e\",\"id\":\"join\",\"type\":\"ok\"}",
      "{\"body\":{\"seq\":9,\"type\":\"x\"},\"seq\":4,\"room\":\"r\",\"type\":\"message\"}",
      "{\"memberCount\":2,\"room\":\"r\",\"type\":\"counts\"}", NULL};
  const load_counts_t counts = counts_of((script_t){.answer = SWITCHED, .frames = frames}, NULL, 0);
  EXPECT_INTEGER(counts.delivered, 1);
  EXPECT_INTEGER(counts.gaps + counts.duplicates, 0);
  EXPECT_INTEGER(counts.counts, 1);
}

TEST(refusals, "load: refusals are counted and reported") {
  char problem[128];
  load_counts_t counts =
      counts_of((script_t){.answer = "HTTP/1.1 503 Service Unavailable\r\n\r\n"}, problem, sizeof problem);
  EXPECT_INTEGER(counts.failed, 1);
  EXPECT_TEXT(problem, "handshake: HTTP/1.1 503 Service Unavailable");

  counts =
      counts_of((script_t){.answer = "HTTP/1.1 101 Switching Protocols\r\n\r\n"}, problem, sizeof problem);
  EXPECT_INTEGER(counts.failed, 1);

  static const char *const frames[] = {
      "{\"type\":\"error\",\"code\":\"unauthorized\",\"message\":\"no token\"}", NULL};
  counts = counts_of((script_t){.answer = SWITCHED, .frames = frames}, problem, sizeof problem);
  EXPECT_INTEGER(counts.failed, 1);
  EXPECT_TEXT(problem, "error: unauthorized: no token");
}

TEST(nobody_there, "load: without a relay the error names the address") {
  char why[128];
  EXPECT(!load_create("127.0.0.1", 1, why, sizeof why));
  EXPECT_CONTAINS(why, "127.0.0.1 port 1: Connection refused");
  EXPECT(!load_create("no such name", 1, why, sizeof why));
  EXPECT_CONTAINS(why, "no such name: ");
}
