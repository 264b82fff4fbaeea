// SPDX-License-Identifier: Apache-2.0
/* Focus reports over HTTP: their connections, the schedule of an open or closed loop, and the events about
 * them. */
#include "internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { PATIENCE = 5000, MAX_REQUEST = 2048 };

static void line_lost(load_t *load, load_line_t *line, const char *why) {
  load__problem(load, "a connection of reports: %s", why);
  load->counts.closed++;
  close(line->descriptor);
  line->descriptor = -1;
}

/* Connects, for at most PATIENCE ms. */
static void line_open(load_t *load, load_line_t *line) {
  *line = (load_line_t){.descriptor = load__dial(load)};
  int error = errno;
  if (line->descriptor >= 0) {
    struct pollfd wait = {.fd = line->descriptor, .events = POLLOUT};
    socklen_t size = sizeof error;
    if (poll(&wait, 1, PATIENCE) < 1)
      error = ETIMEDOUT;
    else
      getsockopt(line->descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (!error && line->descriptor >= 0) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = LOAD_LINES + (uint32_t)(line - load->lines)};
    epoll_ctl(load->poll, EPOLL_CTL_ADD, line->descriptor, &event);
    return;
  }
  load->counts.failed++;
  load__problem(load, "connect: %s", strerror(error));
  if (line->descriptor >= 0) close(line->descriptor);
  line->descriptor = -1;
}

static char *copy(char *old, const char *text) {
  return strcpy(load__resize(old, strlen(text) + 1), text);
}

void load__forget_reports(load_t *load) {
  for (uint32_t i = 0; i < load->line_count; i++)
    if (load->lines[i].descriptor >= 0) close(load->lines[i].descriptor);
  load->line_count = 0;
  free(load->lines);
  free(load->reporters);
  free(load->users);
  free(load->report_fields);
  load->lines = NULL;
  load->reporters = NULL;
  load->users = load->report_fields = NULL;
}

void load_report(load_t *load, const load_reports_t *reports) {
  load->is_reporting = reports != NULL;
  if (!reports) return;
  load__forget_reports(load);
  load->reports = *reports;
  load->users = copy(NULL, reports->users);
  load->users_size = strlen(reports->users);
  load->report_fields = copy(NULL, reports->fields);
  load->reporters = load__resize(NULL, reports->count * sizeof *load->reporters);
  memset(load->reporters, 0, reports->count * sizeof *load->reporters);
  load->lines = load__resize(NULL, reports->connections * sizeof *load->lines);
  for (uint32_t i = 0; i < reports->connections; i++) line_open(load, &load->lines[i]);
  load->line_count = reports->connections;
  load->report_turn = load->line_turn = 0;
  load->reported = 0;
  load->report_started = load->now = load__clock();
}

/* Returns the number of sessions that receive the events about a user. */
static uint32_t mates(const load_t *load, uint32_t user) {
  const uint32_t number = load->reports.first + user;
  if (number >= load->session_count) return 0;
  const load_session_t *session = &load->sessions[number];
  if (session->state != LOAD_OPEN || session->room == LOAD_NO_ROOM) return 0;
  return load->rooms[session->room].members - 1;
}

static void report(load_t *load, load_line_t *line, uint32_t user, uint64_t intended) {
  load_reporter_t *reporter = &load->reporters[user];
  reporter->is_focused = !reporter->is_focused;
  reporter->is_unanswered = true;
  reporter->intended = intended;
  reporter->awaited = mates(load, user);
  /* A false would count 3 s later, so the Focus of the user becomes unknown instead. */
  char body[128], request[MAX_REQUEST];
  const int body_size =
      snprintf(body, sizeof body, "{\"isFocused\":%s,\"device\":\"phone\",\"number\":%llu}",
               reporter->is_focused ? "true" : "null", (unsigned long long)load->reported + 1);
  const int size =
      snprintf(request, sizeof request,
               "PUT /v1/users/%s%u/focus HTTP/1.1\r\nHost: %s\r\n%s"
               "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
               load->users, load->reports.first + user, load->host, load->report_fields, body_size, body);
  line->is_busy = true;
  line->user = user;
  line->size = 0;
  load->reported++;
  load->counts.published++;
  load->counts.unanswered++;
  load->missing += reporter->awaited;
  if (size >= MAX_REQUEST)
    line_lost(load, line, "a request is too long");
  else if (send(line->descriptor, request, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) != size)
    line_lost(load, line, strerror(errno));
}

static load_line_t *free_line(load_t *load) {
  for (uint32_t i = 0; i < load->line_count; i++) {
    load_line_t *line = &load->lines[load->line_turn++ % load->line_count];
    if (line->descriptor >= 0 && !line->is_busy) return line;
  }
  return NULL;
}

/* Finds the next user in turn about whom all is known. Returns false if there is none. */
static bool next_user(load_t *load, uint32_t *user) {
  for (uint32_t i = 0; i < load->reports.count; i++) {
    *user = load->report_turn++ % load->reports.count;
    if (!load->reporters[*user].awaited && !load->reporters[*user].is_unanswered) return true;
  }
  return false;
}

static uint64_t intended_next(const load_t *load) {
  return load->report_started + (uint64_t)((double)load->reported * 1e9 / load->reports.rate);
}

void load__report_due(load_t *load) {
  while (load->is_reporting) {
    const bool is_open_loop = load->reports.rate > 0;
    if (!is_open_loop && (load->counts.unanswered || load->missing > 0)) return;
    const uint64_t intended = is_open_loop ? intended_next(load) : load->now;
    uint32_t user;
    load_line_t *line;
    if (intended > load->now || !(line = free_line(load)) || !next_user(load, &user)) return;
    report(load, line, user, intended);
  }
}

uint64_t load__report_next(const load_t *load) {
  if (!load->is_reporting || load->reports.rate <= 0) return UINT64_MAX;
  const uint64_t next = intended_next(load);
  /* A report that is late waits for an answer or an event. */
  return next > load->now ? next : UINT64_MAX;
}

/* Returns the size of the answer in the buffer, or 0 if it is incomplete. */
static size_t answer_size(const load_line_t *line, load_slice_t *body) {
  const char *end = strstr(line->answer, "\r\n\r\n"),
             *length = strcasestr(line->answer, "\r\ncontent-length:");
  if (!end) return 0;
  body->text = end + 4;
  body->length = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
  const size_t size = (size_t)(body->text - line->answer) + body->length;
  return size <= line->size ? size : 0;
}

static bool is_applied(load_t *load, const load_line_t *line, load_slice_t body) {
  if (line->size < 12 || memcmp(line->answer, "HTTP/1.1 200", 12)) {
    const char *end = strchr(line->answer, '\r');
    load__problem(load, "a report: %.*s", end ? (int)(end - line->answer) : 0, line->answer);
    return false;
  }
  load_fields_t fields = load__fields(body);
  while (load__fields_next(&fields))
    if (load__is(fields.key, "applied") && load__is(fields.value, "true")) return true;
  load__problem(load, "a report: the relay did not apply it");
  return false;
}

static void take_answer(load_t *load, load_line_t *line, load_slice_t body) {
  load_reporter_t *reporter = &load->reporters[line->user];
  line->is_busy = reporter->is_unanswered = false;
  load->counts.unanswered--;
  if (is_applied(load, line, body)) {
    load->counts.acknowledged++;
    load__measured(load, &load->latency, reporter->intended);
    return;
  }
  load->counts.refused++;
  load->counts.published--;
  load->missing -= reporter->awaited;
  reporter->awaited = 0;
  reporter->is_focused = !reporter->is_focused;
}

void load__line_ready(load_t *load, uint32_t number) {
  load_line_t *line = &load->lines[number];
  if (line->descriptor < 0) return;
  const ssize_t size =
      recv(line->descriptor, line->answer + line->size, LOAD_MAX_REPLY - line->size, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (size <= 0) {
    line_lost(load, line, size ? strerror(errno) : "the relay has closed it, or an answer is too long");
    return;
  }
  load->now = load__clock();
  load->counts.bytes += (uint64_t)size;
  line->size += (size_t)size;
  line->answer[line->size] = 0;
  load_slice_t body;
  if (!answer_size(line, &body)) return;
  if (line->is_busy)
    take_answer(load, line, body);
  else
    line_lost(load, line, "an answer without a request");
  line->size = 0;
}

void load__announced(load_t *load, const load_session_t *session, load_slice_t user,
                     load_slice_t is_focused) {
  if (!load->users || user.length <= load->users_size || memcmp(user.text, load->users, load->users_size))
    return;
  const uint64_t number =
      load__number((load_slice_t){user.text + load->users_size, user.length - load->users_size});
  if (number == session->number || number < load->reports.first) return;
  if (number - load->reports.first >= load->reports.count) return;
  load_reporter_t *reporter = &load->reporters[number - load->reports.first];
  if (!reporter->intended) return;
  if (load__is(is_focused, "true") != reporter->is_focused) {
    load->counts.altered++;
  } else if (!reporter->awaited) {
    load->counts.duplicates++;
  } else {
    reporter->awaited--;
    load->missing--;
    load->counts.delivered++;
    load__measured(load, &load->event_latency, reporter->intended);
  }
}
