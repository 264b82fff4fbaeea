// SPDX-License-Identifier: Apache-2.0
/* A hub on its own thread, for tests. See host.h. */
#include "host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum { PATIENCE = 5, LONG_PATIENCE = 10 };

relay_config_t host_config(void) {
  return (relay_config_t){.address = "127.0.0.1",
                          .subprotocol = "stillwire.v1.json",
                          .path = "/v1/connect",
                          .origins = "",
                          .limits = {.frame = 65536,
                                     .nesting = 128,
                                     .outgoing_queue = 1 << 20,
                                     .rooms_per_session = 128,
                                     .sessions_per_user = 32,
                                     .hello_timeout = 10000,
                                     .idle_timeout = 60000,
                                     .received_timeout = 30000,
                                     .heartbeat = 25000,
                                     .pong_timeout = 10000,
                                     .member_list = 256,
                                     .pushed_members = 1000,
                                     .presence_grace = 200}};
}

void host_note(host_t *host, const char *format, ...) {
  char *line;
  va_list arguments;
  va_start(arguments, format);
  const int size = vasprintf(&line, format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&host->lock);
  host->notes = realloc(host->notes, host->notes_size + (size_t)size + 2);
  memcpy(host->notes + host->notes_size, line, (size_t)size);
  host->notes_size += (size_t)size;
  memcpy(host->notes + host->notes_size++, "\n", 2);
  pthread_cond_broadcast(&host->changed);
  pthread_mutex_unlock(&host->lock);
  free(line);
}

static void woken(void *context) {
  host_t *host = context;
  pthread_mutex_lock(&host->lock);
  if (host->work) {
    host->work(host->hub, host->argument);
    host->work = NULL;
    pthread_cond_broadcast(&host->changed);
  }
  pthread_mutex_unlock(&host->lock);
}

static void logged(void *context, relay_log_level_t level, const char *line) {
  static const char *const names[] = {"debug", "info", "error"};
  host_note(context, "log %s %s", names[level], line);
}

static void *run(void *context) {
  relay_hub_run(((host_t *)context)->hub);
  return NULL;
}

static relay_service_t service(void *context) {
  host_t *host = context;
  atomic_fetch_add(&host->reads, 1);
  return (relay_service_t)atomic_load(&host->service);
}

static void held(void *context, relay_id_t exchange, const relay_http_t *http) {
  host_t *host = context;
  host_note(host, "held %.*s %zu", (int)http->path.count, (const char *)http->path.at, http->body.count);
  static const char body[] = "held";
  relay_http_respond(host->hub, exchange, 200, "Content-Type: text/plain\r\n",
                     (relay_bytes_t){body, sizeof body - 1});
}

host_t *host_start(const relay_config_t *config) {
  host_t *host = calloc(1, sizeof *host);
  pthread_mutexattr_t recursive; /* work on the hub's thread may call host_note() */
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&host->lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  pthread_cond_init(&host->changed, NULL);
  host->config = config ? *config : host_config();
  host->notes = strdup("");
  const relay_callbacks_t callbacks = {.context = host,
                                       .woken = woken,
                                       .happened = policy_happened,
                                       .log = logged,
                                       .service = service,
                                       .held = held};
  host->hub = relay_hub_create(&host->config, &callbacks);
  const int error = host->hub ? relay_hub_listen(host->hub) : ENOMEM;
  if (error) {
    fprintf(stderr, "no hub: %s\n", strerror(error));
    abort();
  }
  pthread_create(&host->thread, NULL, run, host);
  return host;
}

uint16_t host_port(const host_t *host) {
  return relay_hub_port(host->hub);
}

void host_do(host_t *host, void (*work)(relay_hub_t *hub, void *argument), void *argument) {
  pthread_mutex_lock(&host->lock);
  host->work = work;
  host->argument = argument;
  relay_hub_wake(host->hub);
  while (host->work) pthread_cond_wait(&host->changed, &host->lock);
  pthread_mutex_unlock(&host->lock);
}

static void count(relay_hub_t *hub, void *counts) {
  *(relay_counts_t *)counts = relay_hub_counts(hub);
}

relay_counts_t host_counts(host_t *host) {
  relay_counts_t counts;
  host_do(host, count, &counts);
  return counts;
}

static void set_clock(relay_hub_t *hub, void *now) {
  relay_hub_set_clock(hub, *(const int64_t *)now);
}

void host_set_clock(host_t *host, int64_t now) {
  host_do(host, set_clock, &now);
}

static void pass(relay_hub_t *hub, void *milliseconds) {
  relay_hub_set_clock(hub, relay_hub_now(hub) + *(const int64_t *)milliseconds);
}

static void look(relay_hub_t *hub, void *unused) {
  (void)hub;
  (void)unused;
}

void host_pass(host_t *host, int64_t milliseconds) {
  host_do(host, pass, &milliseconds);
  /* Timers run in the next iteration or in the one after it, and may set timers that are due at once. */
  for (int i = 0; i < 4; i++) host_do(host, look, NULL);
}

static bool has_sessions(relay_hub_t *hub, void *count) {
  return relay_hub_counts(hub).sessions == *(const size_t *)count;
}

bool host_has_sessions(host_t *host, size_t count) {
  return host_reaches(host, has_sessions, &count);
}

void host_loses(host_t *host, peer_t *peer) {
  const size_t left = host_counts(host).sessions - 1;
  peer_cut(peer);
  EXPECT(host_has_sessions(host, left));
}

static int noted(const char *notes, const char *line, bool is_whole) {
  const size_t size = strlen(line);
  int found = 0;
  for (const char *at = notes; *at; at = strchr(at, '\n') + 1)
    found += !strncmp(at, line, size) && (!is_whole || at[size] == '\n');
  return found;
}

bool host_noted(host_t *host, const char *line) {
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += PATIENCE;
  pthread_mutex_lock(&host->lock);
  bool is_noted;
  while (!(is_noted = noted(host->notes, line, true)))
    if (pthread_cond_timedwait(&host->changed, &host->lock, &deadline)) break;
  if (!is_noted) printf("not noted: %s\nbut:\n%s", line, host->notes);
  pthread_mutex_unlock(&host->lock);
  return is_noted;
}

int host_notes(host_t *host, const char *beginning) {
  pthread_mutex_lock(&host->lock);
  const int found = noted(host->notes, beginning, false);
  pthread_mutex_unlock(&host->lock);
  return found;
}

typedef struct query {
  bool (*holds)(relay_hub_t *hub, void *argument);
  void *argument;
  bool answer;
} query_t;

static void ask(relay_hub_t *hub, void *argument) {
  query_t *query = argument;
  query->answer = query->holds(hub, query->argument);
}

bool host_reaches(host_t *host, bool (*holds)(relay_hub_t *hub, void *argument), void *argument) {
  query_t query = {holds, argument, false};
  const time_t deadline = time(NULL) + LONG_PATIENCE;
  for (;;) {
    host_do(host, ask, &query);
    if (query.answer || time(NULL) > deadline) return query.answer;
    usleep(1000); /* before the next attempt */
  }
}

static void finish(relay_hub_t *hub, void *context) {
  host_t *host = context;
  static const char json[] = "{\"type\":\"ok\",\"held\":true}";
  for (size_t i = 0; i < host->held_count; i++)
    relay_session_finish(hub, host->held[i], (relay_bytes_t){json, sizeof json - 1});
  host->held_count = 0;
}

void host_finish_held(host_t *host) {
  host_do(host, finish, host);
}

relay_id_t host_session(const char *welcome) {
  const char *at = welcome ? strstr(welcome, "\"session\":") : NULL;
  return at ? strtoull(at + strlen("\"session\":"), NULL, 10) : 0;
}

static bool is_deserted(relay_hub_t *hub, void *unused) {
  (void)unused;
  const relay_counts_t counts = relay_hub_counts(hub);
  return !counts.sessions && !counts.seats && !counts.exchanges;
}

/* Ends all memberships, and with them all waits. */
static void dismiss(relay_hub_t *hub, relay_id_t room) {
  size_t size;
  char *entries = relay_room_entries(hub, room, 0, &size);
  entries[size - 1] = 0;
  static const char begin[] = "{\"user\":\"";
  for (char *at = entries; (at = strstr(at, begin));) {
    char *name = at += sizeof begin - 1;
    *(at = strchr(at, '"')) = 0;
    relay_room_remove_member(hub, room, relay_user_named(hub, name), "removed", NULL);
    at++;
  }
  free(entries);
}

/* Releases the stored rooms, which keep the frames of their newest messages. */
static void forget_rooms(relay_hub_t *hub, void *unused) {
  (void)unused;
  for (relay_id_t i = 0; i < 256; i++) {
    const relay_id_t room = 1ull << 32 | i; /* a test creates few rooms, so their ids are known */
    if (!relay_room_name(hub, room)) continue;
    dismiss(hub, room);
    /* The first call may only queue the events of changed marks. */
    if (!relay_room_release(hub, room)) relay_room_release(hub, room);
  }
}

static void stop(relay_hub_t *hub, void *unused) {
  (void)unused;
  relay_hub_stop(hub);
}

void host_cut(host_t *host) {
  host_do(host, stop, NULL);
  pthread_join(host->thread, NULL);
  const relay_counts_t counts = relay_hub_counts(host->hub);
  EXPECT_INTEGER(counts.sessions, 0);
  EXPECT_INTEGER(counts.seats, 0);
  EXPECT_INTEGER(counts.watches, 0);
  EXPECT_INTEGER(counts.exchanges, 0);
  relay_http_respond(host->hub, host->exchange, 200, "",
                     (relay_bytes_t){0}); /* a late answer has no effect */
  relay_hub_destroy(host->hub);
  pthread_mutex_destroy(&host->lock);
  pthread_cond_destroy(&host->changed);
  free(host->notes);
  free(host);
}

void host_end(host_t *host) {
  EXPECT(host_reaches(host, is_deserted, NULL));
  host_do(host, forget_rooms, NULL);
  const relay_counts_t counts = host_counts(host);
  EXPECT_INTEGER(counts.sessions, 0);
  EXPECT_INTEGER(counts.seats, 0);
  EXPECT_INTEGER(counts.watches, 0);
  EXPECT_INTEGER(counts.exchanges, 0);
  EXPECT_INTEGER(counts.frames, 0);
  EXPECT_INTEGER(counts.frame_bytes, 0);
  host_cut(host);
}
