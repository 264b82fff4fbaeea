// SPDX-License-Identifier: Apache-2.0
/* Publishing: bodies with a time, the schedule of an open or closed loop, and the recording of latencies. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A body is {"at":"<19 digits>","pad":"xxx"}. */
#define BODY_HEAD "{\"at\":\""
#define BODY_MIDDLE "\",\"pad\":\""
#define BODY_TAIL "\"}"

enum {
  HEAD = sizeof BODY_HEAD - 1,
  DIGITS = 19,
  MIDDLE = sizeof BODY_MIDDLE - 1,
  TAIL = sizeof BODY_TAIL - 1
};
enum { MAX_AT_ONCE = 256 };

_Static_assert(HEAD + DIGITS + MIDDLE + TAIL == LOAD_MIN_BODY, "a body without padding");

bool load__body_time(const load_t *load, const char *body, uint64_t *time) {
  if (!load->body || memcmp(body, BODY_HEAD, HEAD)) return false;
  const size_t rest = HEAD + DIGITS;
  if (memcmp(body + rest, load->body + rest, load->body_size - rest)) return false;
  uint64_t value = 0;
  for (int i = HEAD; i < HEAD + DIGITS; i++) {
    const unsigned digit = (unsigned)(body[i] - '0');
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  *time = value;
  return true;
}

static void set_time(char *digits, uint64_t time) {
  for (int i = DIGITS - 1; i >= 0; i--, time /= 10) digits[i] = (char)('0' + time % 10);
}

void load__measured(load_t *load, load_histogram_t *histogram, uint64_t intended) {
  if (intended < load->measured_from || intended >= load->measured_to) return;
  load_histogram_add(histogram, load->now > intended ? load->now - intended : 0);
}

void load_measure(load_t *load, bool is_on) {
  const uint64_t now = load__clock();
  if (is_on) {
    memset(&load->latency, 0, sizeof load->latency);
    memset(&load->event_latency, 0, sizeof load->event_latency);
    load->measured_from = now;
  }
  load->measured_to = is_on ? UINT64_MAX : now;
}

void load_publish(load_t *load, const load_publish_t *publish) {
  load->is_publishing = publish != NULL;
  if (!publish) return;
  load->publish = *publish;
  load->body_size = publish->body;
  load->body = load__resize(load->body, publish->body);
  memset(load->body, 'x', publish->body);
  memcpy(load->body, BODY_HEAD, HEAD);
  memcpy(load->body + HEAD + DIGITS, BODY_MIDDLE, MIDDLE);
  memcpy(load->body + publish->body - TAIL, BODY_TAIL, TAIL);
  uint64_t others = 0;
  for (uint32_t i = 0; i < publish->count; i++) {
    load_session_t *session = &load->sessions[publish->first + i];
    session->is_publisher = true;
    others += load->rooms[session->room].members;
  }
  load->fan_out = others > publish->count ? others / publish->count - 1 : 0;
  load->publish_started = load->now = load__clock();
  load->published_since = 0;
  load->turn = 0;
}

void load__publish_one(load_t *load, load_session_t *session, uint64_t intended) {
  load_room_t *room = &load->rooms[session->room];
  char id[32];
  int id_size = 0;
  if (load->publish.acknowledged) {
    /* The id, which the reply repeats, is the intended time of the message. If two messages have the same
     * time, the second gets one nanosecond more. */
    const uint64_t time = intended - load->started;
    session->last_id = time > session->last_id ? time : session->last_id + 1;
    id_size = snprintf(id, sizeof id, ",\"id\":%llu", (unsigned long long)session->last_id);
    session->unanswered++;
    load->counts.unanswered++;
  }
  static const char body_key[] = ",\"body\":";
  const size_t size = room->send_size + (size_t)id_size + sizeof body_key - 1 + load->body_size + 1;
  char header[LOAD_MAX_HEADER];
  set_time(load->body + HEAD, intended);
  load__session_put(load, session, header, load__frame_header(LOAD_TEXT, size, header));
  load__session_put(load, session, room->send, room->send_size);
  load__session_put(load, session, id, (size_t)id_size);
  load__session_put(load, session, body_key, sizeof body_key - 1);
  load__session_put(load, session, load->body, load->body_size);
  load__session_put(load, session, "}", 1);
  load__frame_mask(session->outbox.bytes + session->outbox.end - size, size);
  load->counts.published++;
  load->published_since++;
  room->newest++;
  session->own++;
  load->missing += (int64_t)room->members - 1;
}

static bool can_take(const load_session_t *session) {
  return session->state == LOAD_OPEN && session->outbox.end - session->outbox.begin < LOAD_MAX_UNREAD;
}

/* Returns the next publisher in turn that is not blocked, or NULL. */
static load_session_t *next_publisher(load_t *load) {
  for (uint32_t i = 0; i < load->publish.count; i++) {
    load_session_t *session = &load->sessions[load->publish.first + load->turn++ % load->publish.count];
    if (can_take(session)) return session;
  }
  return NULL;
}

static uint64_t intended_next(const load_t *load) {
  return load->publish_started + (uint64_t)((double)load->published_since * 1e9 / load->publish.rate);
}

static void fill_windows(load_t *load) {
  for (uint32_t i = 0; i < load->publish.count; i++) {
    load_session_t *session = &load->sessions[load->publish.first + i];
    if (session->state != LOAD_OPEN) continue;
    while (session->unanswered < load->publish.window) load__publish_one(load, session, load->now);
  }
}

void load__publish_due(load_t *load) {
  if (!load->is_publishing) return;
  if (load->publish.window && load->publish.acknowledged) {
    fill_windows(load);
    return;
  }
  for (int i = 0; i < MAX_AT_ONCE; i++) {
    uint64_t intended = load->now;
    if (!load->publish.window && (intended = intended_next(load)) > load->now) break;
    if (load->publish.window && load->missing >= (int64_t)(load->publish.window * load->fan_out)) break;
    load_session_t *session = next_publisher(load);
    if (!session) break;
    load__publish_one(load, session, intended);
  }
}

uint64_t load__publish_next(const load_t *load) {
  if (!load->is_publishing || load->publish.window) return UINT64_MAX;
  return intended_next(load);
}
