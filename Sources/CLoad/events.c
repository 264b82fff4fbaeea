// SPDX-License-Identifier: Apache-2.0
/* The text frames that a session receives: checks messages and replies, and counts events. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields of a frame that a load uses. */
typedef struct {
  load_slice_t type, id, room, seq, body, epoch, recovered, messages, member_count, code, message, user;
  load_slice_t is_focused;
} load_event_t;

static load_event_t fields_of(load_slice_t text) {
  load_event_t event = {0};
  const struct {
    const char *key;
    load_slice_t *value;
  } known[] = {{"type", &event.type},
               {"id", &event.id},
               {"room", &event.room},
               {"seq", &event.seq},
               {"body", &event.body},
               {"epoch", &event.epoch},
               {"recovered", &event.recovered},
               {"messages", &event.messages},
               {"memberCount", &event.member_count},
               {"code", &event.code},
               {"message", &event.message},
               {"user", &event.user},
               {"isFocused", &event.is_focused}};
  load_fields_t fields = load__fields(text);
  while (load__fields_next(&fields))
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (load__is(fields.key, known[i].key)) {
        *known[i].value = fields.value;
        break;
      }
  return event;
}

void load__join(load_t *load, load_session_t *session) {
  const load_room_t *room = &load->rooms[session->room];
  char text[512];
  int size = snprintf(text, sizeof text, "{\"type\":\"join\",\"id\":\"join\",\"room\":\"%s\"", room->name);
  if (session->was_joined)
    size += snprintf(text + size, sizeof text - (size_t)size, ",\"after\":{\"epoch\":\"%s\",\"seq\":%llu}",
                     room->epoch, (unsigned long long)session->seq);
  text[size++] = '}';
  load__session_frame(load, session, LOAD_TEXT, text, (size_t)size);
}

/* Checks that a message of the room arrives once and in order, and counts it. */
static void take_seq(load_t *load, load_session_t *session, uint64_t seq) {
  if (seq <= session->seq) {
    load->counts.duplicates++;
    return;
  }
  /* The relay does not send a publisher its own messages, so a publisher's seqs have gaps. */
  if (!session->is_publisher) load->counts.gaps += seq - session->seq - 1;
  session->seq = seq;
  session->received++;
  load->counts.delivered++;
  load->missing--;
}

static void take_body(load_t *load, const char *body, size_t size) {
  uint64_t time;
  if (size != load->body_size || !load__body_time(load, body, &time))
    load->counts.altered++;
  else if (!load->publish.acknowledged)
    load__measured(load, &load->latency, time);
}

/* A fast path for messages with the usual order of fields, because a load receives millions of them:
 * it compares the begin of the text, and does not search fields. Returns false if the message has
 * another form. */
static bool take_usual_message(load_t *load, load_session_t *session, load_slice_t text) {
  if (session->room == LOAD_NO_ROOM || session->state != LOAD_OPEN) return false;
  const load_room_t *room = &load->rooms[session->room];
  if (text.length < room->message_size + load->body_size + 2) return false;
  if (memcmp(text.text, room->message, room->message_size)) return false;
  const char *digits = text.text + room->message_size, *body = text.text + text.length - 1 - load->body_size;
  const char *comma = memchr(digits, ',', (size_t)(body - digits));
  const uint64_t seq = comma ? load__number((load_slice_t){digits, (size_t)(comma - digits)}) : 0;
  uint64_t time;
  if (!seq || body < comma + 8 || memcmp(body - 8, ",\"body\":", 8) || !load__body_time(load, body, &time))
    return false;
  take_seq(load, session, seq);
  if (!load->publish.acknowledged) load__measured(load, &load->latency, time);
  return true;
}

static void take_message(load_t *load, load_session_t *session, const load_event_t *event) {
  if (session->room == LOAD_NO_ROOM || !load__is(event->room, load->rooms[session->room].name)) {
    load__problem(load, "a message of a room that was not joined");
    return;
  }
  take_seq(load, session, load__number(event->seq));
  take_body(load, event->body.text, event->body.length);
}

/* Checks the messages in the reply to a repeated join: all from the session's last position to the newest of
 * the room. */
static void take_recovered(load_t *load, load_session_t *session, const load_event_t *event,
                           uint64_t newest) {
  if (!load__is(event->recovered, "true")) {
    load->counts.unrecovered++;
    return;
  }
  load_fields_t messages = load__fields(event->messages);
  while (load__fields_next(&messages)) {
    const load_event_t message = fields_of(messages.value);
    const uint64_t seq = load__number(message.seq);
    if (seq <= session->seq) {
      load->counts.duplicates++;
      continue;
    }
    load->counts.gaps += seq - session->seq - 1;
    session->seq = seq;
    load->counts.recovered++;
    uint64_t time;
    if (message.body.length != load->body_size || !load__body_time(load, message.body.text, &time))
      load->counts.altered++;
  }
  if (newest > session->seq) load->counts.gaps += newest - session->seq;
}

static void opened(load_t *load, load_session_t *session) {
  session->state = LOAD_OPEN;
  load->opening--;
  load->counts.open++;
  load_histogram_add(&load->opening_time, load->now > session->since ? load->now - session->since : 0);
}

static void take_joined(load_t *load, load_session_t *session, const load_event_t *event) {
  load_room_t *room = &load->rooms[session->room];
  const uint64_t newest = load__number(event->seq);
  if (!room->is_known) {
    room->is_known = true;
    room->newest = newest;
    snprintf(room->epoch, sizeof room->epoch, "%.*s", (int)event->epoch.length, event->epoch.text);
  }
  if (session->was_joined) take_recovered(load, session, event, newest);
  session->was_joined = true;
  session->seq = session->base = newest;
  session->received = session->own = 0;
  session->acknowledged = load__numbers(newest);
  session->member_count = load__number(event->member_count);
  room->members++;
  load->missing += (int64_t)(room->newest - newest);
  opened(load, session);
}

static void take_reply(load_t *load, load_session_t *session, const load_event_t *event) {
  if (session->state == LOAD_JOINING && load__is(event->id, "join")) {
    take_joined(load, session, event);
    return;
  }
  if (session->state != LOAD_OPEN || !session->unanswered) {
    load__problem(load, "a reply without a request");
    return;
  }
  session->unanswered--;
  load->counts.unanswered--;
  load->counts.acknowledged++;
  load->counts.duplicates +=
      (uint64_t)load__numbers_add(&session->acknowledged, load__number(event->seq), &load->counts.gaps);
  const uint64_t intended = load->started + load__number(event->id);
  load__measured(load, &load->latency, intended);
  if (load->is_publishing && load->publish.window) load__publish_one(load, session, load->now);
}

static void take_error(load_t *load, load_session_t *session, const load_event_t *event) {
  load__problem(load, "error: %.*s: %.*s", (int)event->code.length, event->code.text,
                (int)event->message.length, event->message.text);
  if (session->state != LOAD_OPEN) {
    load__session_lost(load, session);
    return;
  }
  if (!session->own) return;
  load_room_t *room = &load->rooms[session->room];
  load->counts.refused++;
  load->counts.published--;
  room->newest--;
  session->own--;
  load->missing -= (int64_t)room->members - 1;
  if (!event->id.text || !session->unanswered) return;
  session->unanswered--;
  load->counts.unanswered--;
}

/* Handles a text frame by its type. A session without a room is open after `welcome`, any other one after the
 * reply to its join. Frames of a session that is leaving are ignored. */
void load__text(load_t *load, load_session_t *session, load_slice_t text) {
  if (session->state == LOAD_LEAVING) return;
  if (take_usual_message(load, session, text)) return;
  const load_event_t event = fields_of(text);
  if (load__is(event.type, "message")) {
    take_message(load, session, &event);
  } else if (load__is(event.type, "ok")) {
    take_reply(load, session, &event);
  } else if (load__is(event.type, "welcome")) {
    if (!load->welcome) {
      load->welcome = load__resize(NULL, text.length + 1);
      memcpy(load->welcome, text.text, text.length);
      load->welcome[text.length] = 0;
    }
    if (session->state == LOAD_JOINING && session->room == LOAD_NO_ROOM) opened(load, session);
  } else if (load__is(event.type, "error")) {
    take_error(load, session, &event);
  } else if (load__is(event.type, "bye")) {
    /* The close frame that follows has the same code and reason. */
  } else {
    session->events++;
    if (event.member_count.text) session->member_count = load__number(event.member_count);
    if (load__is(event.type, "presence")) {
      load->counts.presence++;
      load__announced(load, session, event.user, event.is_focused);
    } else if (load__is(event.type, "member")) {
      load->counts.member++;
    } else if (load__is(event.type, "counts")) {
      load->counts.counts++;
    } else {
      load->counts.others++;
    }
  }
}
