// SPDX-License-Identifier: Apache-2.0
/* Focus reports: to relays that have faults, and to the floor. A thread answers each request with a script.
 */
#include "load.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER "HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{\"applied\":true}"

typedef struct {
  int listener;
  uint16_t port;
  const char *const *answers; /* the connection ends after the last one */
  char request[1024];         /* the first one */
  void *(*perform)(void *);
  pthread_t thread;
} script_t;

static void *perform(void *argument) {
  script_t *script = argument;
  close(accept(script->listener, NULL, NULL)); /* load_create() connects once */
  const int connection = accept(script->listener, NULL, NULL);
  for (const char *const *answer = script->answers; *answer; answer++) {
    char request[1024];
    const ssize_t size = recv(connection, request, sizeof request - 1, 0);
    if (size <= 0) break;
    request[size] = 0;
    if (answer == script->answers) strcpy(script->request, request);
    send(connection, *answer, 10, MSG_NOSIGNAL);
    send(connection, *answer + 10, strlen(*answer + 10), MSG_NOSIGNAL);
  }
  close(connection);
  return NULL;
}

static void begin(script_t *script) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  script->listener = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(!bind(script->listener, (struct sockaddr *)&address, sizeof address));
  EXPECT(!listen(script->listener, 8));
  getsockname(script->listener, (struct sockaddr *)&address, &size);
  script->port = ntohs(address.sin_port);
  pthread_create(&script->thread, NULL, script->perform, script);
}

/* Reports one after the other until the script ends. */
static load_counts_t counts_of(script_t *script, char *problem, size_t problem_size) {
  char why[128] = "";
  begin(script);
  load_t *load = load_create("127.0.0.1", script->port, why, sizeof why);
  EXPECT_TEXT(why, "");
  load_report(
      load, &(load_reports_t){.users = "u-", .fields = "A: b\r\n", .first = 7, .count = 2, .connections = 1});
  for (int i = 0; i < 200 && !load_counts(load).closed; i++) load_run(load, LOAD_TIME, 0.05);
  const load_counts_t counts = load_counts(load);
  uint64_t times;
  const char *text = load_problem(load, 0, &times);
  snprintf(problem, problem_size, "%s", text ? text : "");
  load_destroy(load);
  pthread_join(script->thread, NULL);
  close(script->listener);
  return counts;
}

TEST(answers, "reports: each answer is counted, and the next report follows it") {
  static const char *const answers[] = {ANSWER, ANSWER, ANSWER, NULL};
  script_t script = {.answers = answers, .perform = perform};
  char problem[128];
  const load_counts_t counts = counts_of(&script, problem, sizeof problem);
  EXPECT_INTEGER(counts.acknowledged, 3);
  EXPECT_INTEGER(counts.refused, 0);
  EXPECT_INTEGER(counts.closed, 1);
  EXPECT_CONTAINS(script.request, "PUT /v1/users/u-7/focus HTTP/1.1\r\nHost: 127.0.0.1:");
  EXPECT_CONTAINS(script.request, "\r\nA: b\r\n");
  EXPECT_CONTAINS(script.request, "\r\n\r\n{\"isFocused\":true,\"device\":\"phone\",\"number\":1}");
  EXPECT_CONTAINS(problem, "a connection of reports: ");
}

TEST(report_refusals, "reports: refusals, and reports that are not applied, are counted") {
  static const char *const answers[] = {"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
                                        "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{\"applied\":false}",
                                        ANSWER, NULL};
  script_t script = {.answers = answers, .perform = perform};
  char problem[128];
  const load_counts_t counts = counts_of(&script, problem, sizeof problem);
  EXPECT_INTEGER(counts.acknowledged, 1);
  EXPECT_INTEGER(counts.refused, 2);
  EXPECT_TEXT(problem, "a report: HTTP/1.1 429 Too Many Requests");
}

#define SWITCHED                                                                                             \
  "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
#define JOINED "{\"type\":\"ok\",\"id\":\"join\",\"epoch\":\"e\",\"seq\":0,\"messages\":[],\"memberCount\":2}"

static void put_text(int connection, const char *text) {
  const char header[] = {(char)0x81, (char)strlen(text)};
  send(connection, header, 2, MSG_NOSIGNAL);
  send(connection, text, strlen(text), MSG_NOSIGNAL);
}

/* Two sessions join. Then a report of the first is answered, and the second receives events about it. */
static void *announce(void *argument) {
  const script_t *script = argument;
  char bytes[2048];
  int sessions[2];
  close(accept(script->listener, NULL, NULL));
  for (int i = 0; i < 2; i++) {
    sessions[i] = accept(script->listener, NULL, NULL);
    if (recv(sessions[i], bytes, sizeof bytes, 0) <= 0) return NULL;
    send(sessions[i], SWITCHED, strlen(SWITCHED), MSG_NOSIGNAL);
    put_text(sessions[i], JOINED);
  }
  const int line = accept(script->listener, NULL, NULL);
  if (recv(line, bytes, sizeof bytes, 0) > 0) send(line, ANSWER, strlen(ANSWER), MSG_NOSIGNAL);
  put_text(sessions[0], "{\"type\":\"presence\",\"user\":\"u-0\",\"isFocused\":true}"); /* the user's own */
  put_text(sessions[1], "{\"type\":\"presence\",\"user\":\"u-1\",\"isFocused\":true}"); /* no report */
  put_text(sessions[1], "{\"type\":\"presence\",\"user\":\"x-0\",\"isFocused\":true}"); /* another user */
  put_text(sessions[1], "{\"type\":\"presence\",\"user\":\"u-0\",\"isFocused\":null}");
  for (int i = 0; i < 2; i++)
    put_text(sessions[1], "{\"type\":\"presence\",\"user\":\"u-0\",\"isFocused\":true}");
  while (recv(line, bytes, sizeof bytes, 0) > 0) continue;
  close(line);
  for (int i = 0; i < 2; i++) close(sessions[i]);
  return NULL;
}

TEST(announced, "reports: events at room-mates are counted, also duplicate and altered ones") {
  char why[128] = "";
  script_t script = {.perform = announce};
  begin(&script);
  load_t *load = load_create("127.0.0.1", script.port, why, sizeof why);
  const uint32_t room = load_room(load, "r");
  for (int i = 0; i < 2; i++) load_session(load, "{}", room);
  load_open(load, 0, 2, 0);
  EXPECT(load_run(load, LOAD_OPENED, 20));
  load_measure(load, true);
  /* The rate is so low that there is only one report. */
  load_report(load,
              &(load_reports_t){.users = "u-", .fields = "", .count = 2, .connections = 1, .rate = 0.001});
  for (int i = 0; i < 200 && load_counts(load).presence < 6; i++) load_run(load, LOAD_TIME, 0.05);
  EXPECT(load_run(load, LOAD_SETTLED, 20));
  const load_counts_t counts = load_counts(load);
  EXPECT_INTEGER(counts.published, 1);
  EXPECT_INTEGER(counts.acknowledged, 1);
  EXPECT_INTEGER(counts.delivered, 1);
  EXPECT_INTEGER(counts.altered, 1);
  EXPECT_INTEGER(counts.duplicates, 1);
  EXPECT_INTEGER(load_latency(load)->count, 1);
  EXPECT_INTEGER(load_event_latency(load)->count, 1);
  load_destroy(load);
  pthread_join(script.thread, NULL);
  close(script.listener);
}

TEST(unanswered, "reports: reports without an answer are counted as lost") {
  static const char *const answers[] = {ANSWER, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", NULL};
  script_t script = {.answers = answers, .perform = perform};
  char problem[128];
  const load_counts_t counts = counts_of(&script, problem, sizeof problem);
  EXPECT_INTEGER(counts.acknowledged, 1);
  EXPECT_INTEGER(counts.unanswered, 1);
  EXPECT_INTEGER(counts.closed, 1);
}
