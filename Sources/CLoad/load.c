// SPDX-License-Identifier: Apache-2.0
/* A load: its rooms, sessions, problems and counts, and load_run(), the loop on epoll. */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512 };
static const uint64_t SECOND = 1000000000, CALM = 300000000;

uint64_t load__clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void *load__resize(void *memory, size_t size) {
  void *resized = realloc(memory, size);
  if (resized) return resized;
  fputs("stillwire: out of memory\n", stderr);
  abort();
}

void load__problem(load_t *load, const char *format, ...) {
  char text[LOAD_MAX_PROBLEM];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  int i = 0;
  while (i < LOAD_MAX_PROBLEMS - 1 && load->problems[i].times && strcmp(load->problems[i].text, text)) i++;
  if (i == LOAD_MAX_PROBLEMS - 1) strcpy(text, "others");
  strcpy(load->problems[i].text, text);
  load->problems[i].times++;
}

const char *load_problem(const load_t *load, uint32_t number, uint64_t *times) {
  if (number >= LOAD_MAX_PROBLEMS || !load->problems[number].times) return NULL;
  *times = load->problems[number].times;
  return load->problems[number].text;
}

load_t *load_create(const char *host, uint16_t port, char *why, size_t why_size) {
  load_t *load = calloc(1, sizeof *load);
  if (!load) {
    snprintf(why, why_size, "%s", strerror(ENOMEM));
    return NULL;
  }
  load->poll = epoll_create1(EPOLL_CLOEXEC);
  load->host = malloc(strlen(host) + 16);
  if (load->poll < 0 || !load->host) {
    snprintf(why, why_size, "%s", strerror(errno));
    load_destroy(load);
    return NULL;
  }
  /* An IPv6 address has brackets in the header Host (RFC 3986, section 3.2.2). */
  sprintf(load->host, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
  load->started = load->now = load__clock();
  load->has_precise_wait = true;
  if (load__find(load, host, port, why, why_size)) return load;
  load_destroy(load);
  return NULL;
}

void load_destroy(load_t *load) {
  for (uint32_t i = 0; i < load->session_count; i++) {
    load__session_end(load, &load->sessions[i]);
    free(load->sessions[i].hello);
  }
  for (uint32_t i = 0; i < load->room_count; i++) {
    free(load->rooms[i].name);
    free(load->rooms[i].message);
    free(load->rooms[i].send);
  }
  load__forget_reports(load);
  if (load->poll >= 0) close(load->poll);
  free(load->sessions);
  free(load->rooms);
  free(load->queue);
  free(load->host);
  free(load->body);
  free(load->welcome);
  free(load->buffer);
  free(load);
}

bool load_is_local(const load_t *load) {
  return load->is_local;
}

static char *text_of(const char *format, const char *name, size_t *size) {
  char *text = load__resize(NULL, strlen(format) + strlen(name) + 1);
  const int length = sprintf(text, format, name);
  if (size) *size = (size_t)length;
  return text;
}

uint32_t load_room(load_t *load, const char *name) {
  if (load->room_count == load->room_capacity) {
    load->room_capacity = load->room_capacity ? 2 * load->room_capacity : 64;
    load->rooms = load__resize(load->rooms, load->room_capacity * sizeof *load->rooms);
  }
  load_room_t *room = &load->rooms[load->room_count];
  *room = (load_room_t){.name = text_of("%s", name, NULL)};
  room->message = text_of("{\"type\":\"message\",\"room\":\"%s\",\"seq\":", name, &room->message_size);
  room->send = text_of("{\"type\":\"send\",\"room\":\"%s\"", name, &room->send_size);
  return load->room_count++;
}

uint32_t load_session(load_t *load, const char *hello, uint32_t room) {
  if (load->session_count == load->session_capacity) {
    load->session_capacity = load->session_capacity ? 2 * load->session_capacity : 64;
    load->sessions = load__resize(load->sessions, load->session_capacity * sizeof *load->sessions);
    load->queue = load__resize(load->queue, load->session_capacity * sizeof *load->queue);
  }
  load_session_t *session = &load->sessions[load->session_count];
  *session = (load_session_t){
      .descriptor = -1, .number = load->session_count, .room = room, .hello = text_of("%s", hello, NULL)};
  return load->session_count++;
}

static void enqueue(load_t *load, load_session_t *session, uint64_t at) {
  if (session->state != LOAD_CLOSED) return;
  session->state = LOAD_QUEUED;
  session->since = at;
  load->queue[(load->queue_begin + load->queue_count++) % load->session_capacity] = session->number;
}

void load_open(load_t *load, uint32_t first, uint32_t count, double rate) {
  const uint64_t now = load__clock();
  for (uint32_t i = 0; i < count; i++)
    enqueue(load, &load->sessions[first + i], now + (rate > 0 ? (uint64_t)(i * 1e9 / rate) : 0));
}

static void leave(load_t *load, load_session_t *session) {
  if (session->state != LOAD_OPEN) return;
  const int descriptor = session->descriptor;
  /* load__session_end() removes the session from all sums now, but must not close its connection: that still
   * waits for the answer to the close frame. */
  session->descriptor = -1;
  load_outbox_t outbox = session->outbox;
  session->outbox = (load_outbox_t){0};
  char *rest = session->rest;
  const size_t rest_size = session->rest_size;
  session->rest = NULL;
  load__session_end(load, session);
  session->descriptor = descriptor;
  session->outbox = outbox;
  session->rest = rest;
  session->rest_size = rest_size;
  session->state = LOAD_LEAVING;
  load->leaving++;
  load__session_frame(load, session, LOAD_CLOSE, "\x03\xe8", 2);
}

void load_cut(load_t *load, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    load_session_t *session = &load->sessions[first + i];
    if (session->state < LOAD_CONNECTING) continue;
    /* A reset, as at the loss of a network. It also keeps no port in TIME_WAIT. */
    setsockopt(session->descriptor, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    load__session_end(load, session);
  }
}

void load_flap(load_t *load, uint32_t first, uint32_t count, double rate) {
  load->flap_first = first;
  load->flap_count = count;
  load->flap_rate = rate;
  load->flap_started = load__clock();
  load->flapped = 0;
}

static uint64_t flap_next(const load_t *load) {
  if (load->flap_rate <= 0) return UINT64_MAX;
  return load->flap_started + (uint64_t)((double)load->flapped * 1e9 / load->flap_rate);
}

static void flap_due(load_t *load) {
  uint64_t due;
  while ((due = flap_next(load)) <= load->now) {
    load_session_t *session = &load->sessions[load->flap_first + load->flapped++ % load->flap_count];
    if (session->state == LOAD_OPEN)
      leave(load, session);
    else if (session->state == LOAD_CLOSED)
      enqueue(load, session, due);
    else
      continue; /* it is still opening or leaving */
    load->counts.flaps++;
  }
}

static uint64_t open_next(const load_t *load) {
  if (!load->queue_count || load->opening >= LOAD_MAX_OPENING) return UINT64_MAX;
  return load->sessions[load->queue[load->queue_begin]].since;
}

static void open_due(load_t *load) {
  while (open_next(load) <= load->now) {
    load_session_t *session = &load->sessions[load->queue[load->queue_begin]];
    load->queue_begin = (load->queue_begin + 1) % load->session_capacity;
    load->queue_count--;
    load__session_connect(load, session);
  }
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static int wait_for_events(load_t *load, struct epoll_event *events, uint64_t until) {
  const uint64_t now = load__clock();
  const uint64_t wait = until > now ? until - now : 0;
  if (load->has_precise_wait) {
    const struct timespec time = {(time_t)(wait / SECOND), (long)(wait % SECOND)};
    const int count = epoll_pwait2(load->poll, events, EVENTS, &time, NULL);
    if (count >= 0 || errno != ENOSYS) return count;
    load->has_precise_wait = false; /* Linux before 5.11 has no epoll_pwait2() */
  }
  return epoll_wait(load->poll, events, EVENTS, (int)(wait / 1000000));
}

static bool has_come(const load_t *load, load_until_t until) {
  switch (until) {
  case LOAD_OPENED:
    return !load->queue_count && !load->opening && !load->leaving;
  case LOAD_SETTLED:
    return load->missing <= 0 && !load->counts.unanswered;
  case LOAD_CALM:
    return load->now >= load->last_frame + CALM;
  case LOAD_TIME:
    break;
  }
  return false;
}

/* True if the relay has ended all sessions, so that nothing more can happen. */
static bool is_deserted(const load_t *load) {
  return load->counts.closed && !load->counts.open && !load->queue_count && !load->opening &&
         load->flap_rate <= 0;
}

bool load_run(load_t *load, load_until_t until, double seconds) {
  struct epoll_event events[EVENTS];
  load->now = load__clock();
  const uint64_t end = load->now + (uint64_t)(seconds * 1e9);
  if (until == LOAD_CALM) load->last_frame = load->now;
  for (;;) {
    load->now = load__clock();
    flap_due(load);
    open_due(load);
    load__publish_due(load);
    load__report_due(load);
    load__flush(load);
    if (has_come(load, until)) return true;
    if (load->now >= end || is_deserted(load)) return until == LOAD_TIME;
    uint64_t next =
        earlier(earlier(end, open_next(load)), earlier(flap_next(load), load__publish_next(load)));
    next = earlier(next, load__report_next(load));
    if (until == LOAD_CALM) next = earlier(next, load->last_frame + CALM);
    const int count = wait_for_events(load, events, next);
    for (int i = 0; i < count; i++) {
      const uint32_t number = events[i].data.u32;
      if (number >= LOAD_LINES) {
        load__line_ready(load, number - LOAD_LINES);
        continue;
      }
      load_session_t *session = &load->sessions[number];
      if (session->descriptor >= 0) load__session_ready(load, session, events[i].events);
    }
  }
}

load_counts_t load_counts(const load_t *load) {
  load_counts_t counts = load->counts;
  counts.missing = load->missing > 0 ? (uint64_t)load->missing : 0;
  for (uint32_t i = 0; i < load->session_count; i++) {
    const load_session_t *session = &load->sessions[i];
    if (session->events > counts.max_events) counts.max_events = session->events;
    if (session->was_joined) counts.skipped += load__numbers_missing(&session->acknowledged);
  }
  return counts;
}

const load_histogram_t *load_latency(const load_t *load) {
  return &load->latency;
}
const load_histogram_t *load_event_latency(const load_t *load) {
  return &load->event_latency;
}
const load_histogram_t *load_opening(const load_t *load) {
  return &load->opening_time;
}

void load_forget_openings(load_t *load) {
  memset(&load->opening_time, 0, sizeof load->opening_time);
}

uint32_t load_misinformed(const load_t *load, uint32_t first, uint32_t count, uint64_t member_count) {
  uint32_t misinformed = 0;
  for (uint32_t i = first; i < first + count; i++)
    if (load->sessions[i].state == LOAD_OPEN && load->sessions[i].member_count != member_count) misinformed++;
  return misinformed;
}

const char *load_welcome(const load_t *load) {
  return load->welcome;
}
