// SPDX-License-Identifier: Apache-2.0
/* The floor, with a load. */
#include "load.h"
#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int files_in(const char *folder) {
  int count = 0;
  DIR *directory = opendir(folder);
  for (struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

TEST(floor_reports, "floor: it stores reports, and removes its database") {
  char folder[] = "/tmp/stillwire-load-XXXXXX", why[128] = "";
  EXPECT(mkdtemp(folder) != NULL);
  const load_floor_process_t floor =
      load_floor_start(&(load_floor_t){.folder = folder, .heartbeat = 25}, why, sizeof why);
  EXPECT_TEXT(why, "");
  load_t *load = load_create("127.0.0.1", floor.port, why, sizeof why);
  load_measure(load, true);
  load_report(load,
              &(load_reports_t){.users = "u-", .fields = "", .count = 50, .connections = 4, .rate = 400});
  for (int i = 0; i < 200 && load_counts(load).acknowledged < 20; i++) load_run(load, LOAD_TIME, 0.05);
  load_report(load, NULL);
  EXPECT(load_run(load, LOAD_SETTLED, 20));
  const load_counts_t counts = load_counts(load);
  EXPECT(counts.acknowledged >= 20);
  EXPECT_INTEGER(counts.acknowledged, counts.published);
  EXPECT_INTEGER(load_latency(load)->count, counts.acknowledged);
  EXPECT_INTEGER(counts.refused + counts.closed + counts.failed, 0);
  EXPECT(files_in(folder) > 0);
  load_destroy(load);
  load_floor_stop(floor);
  EXPECT_INTEGER(files_in(folder), 0);
  rmdir(folder);
}

TEST(floor_sessions, "floor: it opens sessions, and sends a ping to each at each heartbeat") {
  char why[128] = "";
  const load_floor_process_t floor = load_floor_start(&(load_floor_t){.heartbeat = 0.6}, why, sizeof why);
  load_t *load = load_create("127.0.0.1", floor.port, why, sizeof why);
  const uint32_t room = load_room(load, "r");
  for (int i = 0; i < 20; i++) load_session(load, "{\"type\":\"hello\",\"user\":\"u\"}", room);
  load_open(load, 0, 20, 0);
  EXPECT(load_run(load, LOAD_OPENED, 20));
  for (int i = 0; i < 200 && load_counts(load).pings < 60; i++) load_run(load, LOAD_TIME, 0.1);
  const load_counts_t counts = load_counts(load);
  EXPECT_INTEGER(counts.open, 20);
  EXPECT_INTEGER(counts.closed, 0);
  EXPECT(counts.pings >= 60);
  load_destroy(load);
  load_floor_stop(floor);
}

/* Connects, and sends the text in two pieces. */
static int client(uint16_t port, const char *text) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT(!connect(connection, (const struct sockaddr *)&address, sizeof address));
  send(connection, text, 20, MSG_NOSIGNAL);
  usleep(20000);
  send(connection, text + 20, strlen(text + 20), MSG_NOSIGNAL);
  return connection;
}

/* Reads until the floor closes the connection. Returns the number of bytes. */
static size_t read_all(int connection, char *bytes, size_t capacity) {
  size_t size = 0;
  ssize_t more;
  while ((more = recv(connection, bytes + size, capacity - size, 0)) > 0) size += (size_t)more;
  close(connection);
  return size;
}

TEST(floor_silent, "floor: it closes a session that does not answer a ping, and refuses other requests") {
  char why[128] = "", bytes[1024];
  const load_floor_process_t floor = load_floor_start(&(load_floor_t){.heartbeat = 0.2}, why, sizeof why);
  const size_t size =
      read_all(client(floor.port, "GET /v1/connect HTTP/1.1\r\nHost: x\r\n\r\n"), bytes, sizeof bytes);
  EXPECT(size > 2 && !memcmp(bytes, "HTTP/1.1 101 ", 13));
  EXPECT(!memcmp(bytes + size - 2, "\x89\x00", 2));
  static const char *const refused[] = {
      "GET /live HTTP/1.1\r\nHost: x\r\n\r\n",
      /* It has no database. */
      "PUT /v1/users/u-1/focus HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    EXPECT_INTEGER(read_all(client(floor.port, refused[i]), bytes, sizeof bytes), 0);
  load_floor_stop(floor);
}

TEST(floor_failure, "floor: without its folder it does not start") {
  char why[128] = "";
  const load_floor_process_t floor =
      load_floor_start(&(load_floor_t){.folder = "/missing", .heartbeat = 25}, why, sizeof why);
  EXPECT_INTEGER(floor.process, 0);
  EXPECT_CONTAINS(why, "/missing: ");
}
