// SPDX-License-Identifier: Apache-2.0
/* The floor: its process, connections and loop. See load_floor.h. */
#include "floor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 512, MAX_BYTES = 64 << 10, BACKLOG = 4096 };
static const uint64_t TICK = 500000000, MILLISECOND = 1000000;

/* The answer to the only key that a load sends; see session.c. */
static const char switched[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n";
static const char stored[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"applied\":true}";
static const char welcome[] = "{\"type\":\"welcome\",\"server\":\"floor\"}";
static const char joined[] =
    "{\"type\":\"ok\",\"id\":\"join\",\"epoch\":\"e\",\"seq\":0,\"messages\":[],\"memberCount\":1}";

typedef struct connection {
  int descriptor;
  bool is_session, awaits_pong, awaits_commit;
  uint64_t due;                      /* the time of the next ping */
  struct connection *before, *after; /* sessions in the order of their pings */
  struct connection *next;           /* the next one that waits for the commit */
  char *rest;                        /* the start of an incomplete request or frame */
  size_t rest_size;
} connection_t;

typedef struct {
  int poll, listener, life; /* life: readable when the parent process has ended */
  uint64_t now, heartbeat, tick;
  load_rows_t rows;
  connection_t *first, *last; /* sessions; the next ping is that of the first */
  connection_t *committing;
  char buffer[MAX_BYTES + 1];
} floor_t;

static void append(floor_t *floor, connection_t *connection) {
  connection->due = floor->now + floor->heartbeat;
  connection->before = floor->last;
  connection->after = NULL;
  *(floor->last ? &floor->last->after : &floor->first) = connection;
  floor->last = connection;
}

static void detach(floor_t *floor, connection_t *connection) {
  *(connection->before ? &connection->before->after : &floor->first) = connection->after;
  *(connection->after ? &connection->after->before : &floor->last) = connection->before;
}

static void drop(floor_t *floor, connection_t *connection) {
  if (connection->is_session) detach(floor, connection);
  close(connection->descriptor);
  free(connection->rest);
  free(connection);
}

static bool put(const connection_t *connection, const char *bytes, size_t size) {
  return send(connection->descriptor, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* Takes a handshake or a report. Returns its size, -1 if it is neither, or 0 if it is incomplete or the
 * earlier report of the connection awaits its commit. */
static ptrdiff_t take_request(floor_t *floor, connection_t *connection, const char *bytes, size_t size) {
  const char *end = memmem(bytes, size, "\r\n\r\n", 4);
  if (connection->awaits_commit) return 0;
  if (!end) return size < MAX_BYTES ? 0 : -1;
  end += 4;
  if (!memcmp(bytes, "GET /v1/connect ", 16)) {
    connection->is_session = true;
    append(floor, connection);
    return put(connection, switched, sizeof switched - 1) ? end - bytes : -1;
  }
  const char *path = memmem(bytes, size, "/focus ", 7);
  const char *length = memmem(bytes, size, "\r\nContent-Length: ", 18);
  if (memcmp(bytes, "PUT ", 4) || !path || !length || length > end || !floor->rows.database) return -1;
  const size_t body = strtoul(length + 18, NULL, 10);
  if ((size_t)(bytes + size - end) < body) return 0;
  while (path[-1] >= '0' && path[-1] <= '9') path--;
  const char *number = memmem(end, body, "\"number\":", 9);
  const bool is_focused = memmem(end, body, "\"isFocused\":true", 16);
  const bool is_in = load__rows_add(&floor->rows, strtoul(path, NULL, 10), is_focused,
                                    number ? strtoul(number + 9, NULL, 10) : 0);
  if (!is_in) return -1;
  connection->awaits_commit = true;
  connection->next = floor->committing;
  floor->committing = connection;
  return end - bytes + (ptrdiff_t)body;
}

static bool put_text(const connection_t *connection, const char *text, size_t size) {
  char frame[128] = {(char)(0x80 | LOAD_TEXT), (char)size};
  memcpy(frame + 2, text, size);
  return put(connection, frame, size + 2);
}

/* Takes a frame of a client. Returns its size, 0 if it is incomplete, or -1 if the session ends. */
static ptrdiff_t take_frame(connection_t *connection, char *bytes, size_t size) {
  if (size < 6) return 0;
  size_t length = bytes[1] & 0x7f, begin = 6;
  if (length == 127) return -1;
  if (length == 126) {
    length = (size_t)(uint8_t)bytes[2] << 8 | (uint8_t)bytes[3];
    begin = 8;
  }
  if (size < begin + length) return begin + length <= MAX_BYTES ? 0 : -1;
  char *payload = bytes + begin;
  const char *key = payload - 4;
  for (size_t i = 0; i < length; i++) payload[i] ^= key[i % 4];
  switch (bytes[0] & 15) {
  case LOAD_PONG:
    connection->awaits_pong = false;
    break;
  case LOAD_TEXT:
    if (memmem(payload, length, "\"type\":\"hello\"", 14)) {
      if (!put_text(connection, welcome, sizeof welcome - 1)) return -1;
    } else if (memmem(payload, length, "\"type\":\"join\"", 13)) {
      if (!put_text(connection, joined, sizeof joined - 1)) return -1;
    }
    break;
  default:
    return -1;
  }
  return (ptrdiff_t)(begin + length);
}

static void receive(floor_t *floor, connection_t *connection) {
  const size_t before = connection->rest_size;
  const ssize_t size = recv(connection->descriptor, floor->buffer + before, MAX_BYTES - before, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (before) memcpy(floor->buffer, connection->rest, before);
  const size_t whole = before + (size_t)(size > 0 ? size : 0);
  floor->buffer[whole] = 0;
  size_t taken = 0;
  ptrdiff_t more = size > 0 ? 1 : -1;
  while (more > 0 && taken < whole) {
    char *bytes = floor->buffer + taken;
    more = connection->is_session ? take_frame(connection, bytes, whole - taken)
                                  : take_request(floor, connection, bytes, whole - taken);
    if (more > 0) taken += (size_t)more;
  }
  if (more < 0 && !connection->awaits_commit) {
    drop(floor, connection);
    return;
  }
  if (!before && taken == whole) return;
  free(connection->rest);
  connection->rest_size = whole - taken;
  connection->rest = connection->rest_size ? load__resize(NULL, connection->rest_size) : NULL;
  if (connection->rest_size) memcpy(connection->rest, floor->buffer + taken, connection->rest_size);
}

static void admit(floor_t *floor) {
  const int on = 1;
  for (int descriptor; (descriptor = accept4(floor->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection_t *connection = load__resize(NULL, sizeof *connection);
    *connection = (connection_t){.descriptor = descriptor};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(floor->poll, EPOLL_CTL_ADD, descriptor, &event);
  }
}

/* Sends the pings that are due, once in a TICK, so that one round sends many. */
static void ping(floor_t *floor) {
  if (floor->now < floor->tick) return;
  floor->tick = floor->now + TICK;
  while (floor->first && floor->first->due <= floor->now) {
    connection_t *connection = floor->first;
    if (connection->awaits_pong || !put(connection, "\x89\x00", 2)) {
      drop(floor, connection);
      continue;
    }
    connection->awaits_pong = true;
    detach(floor, connection);
    append(floor, connection);
  }
}

static void commit(floor_t *floor) {
  if (!floor->committing) return;
  const bool is_stored = load__rows_commit(&floor->rows);
  while (floor->committing) {
    connection_t *connection = floor->committing;
    floor->committing = connection->next;
    connection->awaits_commit = false;
    if (!is_stored || !put(connection, stored, sizeof stored - 1)) drop(floor, connection);
  }
}

static int wait_time(const floor_t *floor) {
  if (!floor->first) return -1;
  const uint64_t now = load__clock();
  return floor->tick > now ? (int)((floor->tick - now) / MILLISECOND) + 1 : 0;
}

/* Runs until the other end of `life` is closed. */
static void run(floor_t *floor) {
  struct epoll_event events[EVENTS];
  for (bool is_alive = true; is_alive;) {
    const int count = epoll_wait(floor->poll, events, EVENTS, wait_time(floor));
    floor->now = load__clock();
    for (int i = 0; i < count; i++) {
      if (events[i].data.ptr == &floor->life)
        is_alive = false;
      else if (events[i].data.ptr == &floor->listener)
        admit(floor);
      else
        receive(floor, events[i].data.ptr);
    }
    commit(floor);
    ping(floor);
  }
}

static void watch(const floor_t *floor, int descriptor, void *what) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
  epoll_ctl(floor->poll, EPOLL_CTL_ADD, descriptor, &event);
}

/* The child process. Writes the reason to `ready` if it cannot begin, and closes `ready`. */
static void serve(const load_floor_t *options, int listener, int life, int ready) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  floor_t *floor = load__resize(NULL, sizeof *floor);
  memset(floor, 0, sizeof *floor);
  floor->listener = listener;
  floor->life = life;
  floor->heartbeat = (uint64_t)(options->heartbeat * 1e9);
  floor->poll = epoll_create1(EPOLL_CLOEXEC);
  watch(floor, listener, &floor->listener);
  watch(floor, life, &floor->life);
  const bool is_open = !options->folder || load__rows_open(&floor->rows, options->folder);
  if (!is_open) {
    const char *why = floor->rows.database ? sqlite3_errmsg(floor->rows.database) : "the path is too long";
    dprintf(ready, "%s: %s", options->folder, why);
  }
  close(ready);
  if (is_open) run(floor);
  load__rows_close(&floor->rows);
  _exit(0);
}

/* Returns a socket that listens on a free port of 127.0.0.1, or -1 with errno. */
static int listen_anywhere(uint16_t *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  if (!bind(listener, (struct sockaddr *)&address, size) && !listen(listener, BACKLOG) &&
      !getsockname(listener, (struct sockaddr *)&address, &size)) {
    *port = ntohs(address.sin_port);
    return listener;
  }
  close(listener);
  return -1;
}

load_floor_process_t load_floor_start(const load_floor_t *floor, char *why, size_t why_size) {
  load_floor_process_t process = {.life = -1};
  int life[2] = {-1, -1}, ready[2] = {-1, -1};
  const int listener = listen_anywhere(&process.port);
  if (listener < 0 || pipe2(life, O_CLOEXEC) || pipe2(ready, O_CLOEXEC) || (process.process = fork()) < 0) {
    snprintf(why, why_size, "%s", strerror(errno));
    process.process = 0;
  } else if (!process.process) {
    close(life[1]);
    close(ready[0]);
    serve(floor, listener, life[0], ready[1]);
  } else {
    close(ready[1]);
    ready[1] = -1;
    const ssize_t size = read(ready[0], why, why_size - 1);
    why[size > 0 ? size : 0] = 0;
    process.life = life[1];
    life[1] = -1;
    if (size > 0) {
      load_floor_stop(process);
      process = (load_floor_process_t){.life = -1};
    }
  }
  const int unused[] = {listener, life[0], life[1], ready[0], ready[1]};
  for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
    if (unused[i] >= 0) close(unused[i]);
  return process;
}

void load_floor_stop(load_floor_process_t process) {
  close(process.life);
  while (waitpid(process.process, NULL, 0) < 0 && errno == EINTR) continue;
}
