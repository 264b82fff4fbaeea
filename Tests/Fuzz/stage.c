// SPDX-License-Identifier: Apache-2.0
/* A hub for fuzzing, with a simulated time. See stage.h. */
#include "stage.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

enum { DESCRIPTORS = 128, BUSY = 2000, SPAN = 120000 };

/* The libraries call these functions in place of those of libc, because symbols of the program are found
 * first. */

static int64_t passed;     /* simulated nanoseconds */
static bool is_stepping;   /* the hub runs; only then the simulated time counts */
static unsigned happening; /* descriptors that were ready since this was set to 0 */

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (syscall(SYS_clock_gettime, clock, time)) return -1;
  if (!is_stepping) return 0;
  const int64_t nanoseconds = time->tv_nsec + passed % 1000000000;
  time->tv_sec += passed / 1000000000 + nanoseconds / 1000000000;
  time->tv_nsec = nanoseconds % 1000000000;
  return 0;
}

int epoll_pwait(int epoll, struct epoll_event *events, int max, int timeout, const sigset_t *signals) {
  (void)timeout; /* a step does not wait */
  const int count = (int)syscall(SYS_epoll_pwait, epoll, events, max, 0, signals, 8);
  /* A TCP socket that is shut down is reported as writable, so that the library sees the error of its write.
   * The sockets here are not TCP. */
  for (int i = 0; i < count; i++)
    if (events[i].events & EPOLLHUP) events[i].events |= EPOLLOUT;
  if (count > 0) happening += (unsigned)count;
  return count;
}

int epoll_wait(int epoll, struct epoll_event *events, int max, int timeout) {
  return epoll_pwait(epoll, events, max, timeout, NULL);
}

/* The policy calls this. */
void host_note(host_t *host, const char *format, ...) {
  (void)host, (void)format;
}

relay_limits_t stage_limits(void) {
  return (relay_limits_t){.frame = 4096,
                          .nesting = 8,
                          .outgoing_queue = 16384,
                          .rooms_per_session = 3,
                          .sessions_per_user = 3,
                          .watched = 2,
                          .hello_timeout = 10000,
                          .idle_timeout = 60000,
                          .heartbeat = 25000,
                          .pong_timeout = 10000,
                          .member_list = 2,
                          .pushed_members = 3,
                          .presence_grace = 200};
}

static void woken(void *context) {
  (void)context;
}

stage_t *stage_open(const relay_limits_t *limits) {
  /* A hub sizes its tables by this limit. */
  static const struct rlimit descriptors = {DESCRIPTORS, DESCRIPTORS};
  setrlimit(RLIMIT_NOFILE, &descriptors);
  passed = 0;
  stage_t *stage = calloc(1, sizeof *stage);
  stage->host.config = (relay_config_t){.address = "127.0.0.1",
                                        .subprotocol = "stillwire.v1.json",
                                        .path = "/v1/connect",
                                        .origins = "http://listed.example",
                                        .trusted_proxies = "127.0.0.0/8 2001:db8::/32",
                                        .limits = *limits};
  const relay_callbacks_t callbacks = {.context = &stage->host, .woken = woken, .happened = policy_happened};
  stage->hub = stage->host.hub = relay_hub_create(&stage->host.config, &callbacks);
  MUST(stage->hub && !relay_hub_listen(stage->hub));
  relay__hub_begin(stage->hub);
  return stage;
}

int stage_connect(stage_t *stage) {
  int ends[2];
  MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
  const int smallest = 1;
  setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
  const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  is_stepping = true;
  relay__connection_accepted(stage->hub, ends[0], (const struct sockaddr *)&from);
  is_stepping = false;
  return ends[1];
}

void stage_step(stage_t *stage) {
  is_stepping = true;
  uv_run(&stage->hub->loop.uv, UV_RUN_NOWAIT);
  is_stepping = false;
}

void stage_settle(stage_t *stage) {
  for (int quiet = 0, steps = 0; quiet < 3; steps++) {
    MUST(steps < BUSY);
    /* If a client has ended its side while bytes wait to be written to it, libwebsockets polls it for up to 5
     * s. */
    if (steps == BUSY / 2) passed += 6000000000;
    happening = 0;
    stage_step(stage);
    quiet = happening || stage->hub->events.queued.count ? 0 : quiet + 1;
  }
}

void stage_pass(stage_t *stage, int64_t milliseconds) {
  for (int i = 0; i < 4; i++) {
    passed += milliseconds * 250000;
    stage_step(stage);
  }
}

void stage_answer_held(stage_t *stage) {
  static const char json[] = "{\"type\":\"ok\",\"held\":true}";
  host_t *host = &stage->host;
  for (size_t i = 0; i < host->held_count && i < 512; i++)
    relay_session_finish(host->hub, host->held[i], (relay_bytes_t){json, sizeof json - 1});
  host->held_count = 0;
  relay_http_stream_end(host->hub, host->exchange);
  relay_http_respond(host->hub, host->exchange, 200, "", (relay_bytes_t){0});
}

static void forget(stage_t *stage, relay_room_t *room) {
  const relay_id_t id = room->id;
  while (room->member_count)
    MUST(!relay_room_remove_member(stage->hub, id, room->members[0]->user->id, "left", NULL));
  /* The first call may only queue the events of changed marks. */
  if (!relay_room_release(stage->hub, id)) relay_room_release(stage->hub, id);
  MUST(!relay_room_name(stage->hub, id));
}

void stage_close(stage_t *stage) {
  relay_hub_t *hub = stage->hub;
  stage_answer_held(stage);
  for (uint32_t i = 0; i < hub->sessions.count; i++) { /* sessions whose hello is still unanswered */
    const relay_session_t *session = hub->sessions.items[i];
    if (session && session->state == RELAY__HELLO)
      relay_session_close(hub, session->id, 4501, "unanswered", -1);
  }
  stage_settle(stage);
  stage_pass(stage, 6000); /* sessions that are closing are cut */
  stage_settle(stage);
  relay_counts_t counts = relay_hub_counts(hub);
  MUST(!counts.sessions && !counts.seats && !counts.watches && !counts.exchanges);
  MUST(!counts.connections && !hub->edge->connections.clients.count);
  for (uint32_t i = 0; i < hub->rooms.count; i++)
    if (hub->rooms.items[i]) forget(stage, hub->rooms.items[i]);
  stage_pass(stage, SPAN); /* graces end, and buckets fill again */
  stage_settle(stage);
  stage_check(hub);
  counts = relay_hub_counts(hub);
  /* During a drain no grace ends, so users may stay in theirs. */
  MUST(!counts.rooms && !counts.members && (!counts.users || hub->drain.is_on) && !counts.timers);
  MUST(!counts.frames && !counts.frame_bytes && !counts.events);
  relay_hub_destroy(hub);
  free(stage);
}
