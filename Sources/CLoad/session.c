// SPDX-License-Identifier: Apache-2.0
/* One session: its connection, handshake and outbox, and the frames that it receives. events.c
 * handles texts. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The example of RFC 6455, section 1.3. A load generator needs no random key. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

enum { MAX_KEPT_OUTBOX = 16 << 10, MAX_ANSWER = 16 << 10 };

static void watch(load_t *load, load_session_t *session, bool is_new) {
  struct epoll_event event = {.events = EPOLLIN | (session->awaits_writable ? EPOLLOUT : 0),
                              .data.u32 = session->number};
  epoll_ctl(load->poll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, session->descriptor, &event);
}

void load__session_connect(load_t *load, load_session_t *session) {
  session->descriptor = load__dial(load);
  if (session->descriptor < 0) {
    session->state = LOAD_CLOSED;
    load->counts.failed++;
    load__problem(load, "connect: %s", strerror(errno));
    return;
  }
  load->opening++;
  session->state = LOAD_CONNECTING;
  session->awaits_writable = true;
  watch(load, session, true);
}

void load__session_end(load_t *load, load_session_t *session) {
  if (session->state == LOAD_OPEN) {
    load->counts.open--;
    if (session->room != LOAD_NO_ROOM) {
      load_room_t *room = &load->rooms[session->room];
      room->members--;
      load->missing -= (int64_t)(room->newest - session->base - session->own - session->received);
    }
    load->counts.unanswered -= session->unanswered;
    session->unanswered = 0;
  } else if (session->state >= LOAD_CONNECTING && session->state <= LOAD_JOINING) {
    load->opening--;
  } else if (session->state == LOAD_LEAVING) {
    load->leaving--;
  }
  if (session->descriptor >= 0) close(session->descriptor);
  session->descriptor = -1;
  session->state = LOAD_CLOSED;
  free(session->rest);
  free(session->outbox.bytes);
  session->rest = NULL;
  session->rest_size = 0;
  session->outbox = (load_outbox_t){0};
}

void load__session_lost(load_t *load, load_session_t *session) {
  if (session->state == LOAD_OPEN)
    load->counts.closed++;
  else if (session->state != LOAD_LEAVING)
    load->counts.failed++;
  load__session_end(load, session);
}

/* Writes the outbox until the socket blocks, and then polls for a writable socket. */
static void flush(load_t *load, load_session_t *session) {
  load_outbox_t *outbox = &session->outbox;
  while (outbox->begin < outbox->end) {
    const ssize_t size = send(session->descriptor, outbox->bytes + outbox->begin, outbox->end - outbox->begin,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      return; /* the next recv() returns the reason */
    }
    outbox->begin += (size_t)size;
  }
  if (outbox->begin == outbox->end) {
    outbox->begin = outbox->end = 0;
    if (outbox->capacity > MAX_KEPT_OUTBOX || session->state != LOAD_OPEN) {
      free(outbox->bytes);
      *outbox = (load_outbox_t){0};
    }
  }
  const bool waits = outbox->end > 0;
  if (waits == session->awaits_writable) return;
  session->awaits_writable = waits;
  watch(load, session, false);
}

void load__session_put(load_t *load, load_session_t *session, const char *bytes, size_t size) {
  load_outbox_t *outbox = &session->outbox;
  if (outbox->begin) {
    memmove(outbox->bytes, outbox->bytes + outbox->begin, outbox->end - outbox->begin);
    outbox->end -= outbox->begin;
    outbox->begin = 0;
  }
  if (outbox->end + size > outbox->capacity) {
    outbox->capacity = (outbox->end + size) * 2;
    outbox->bytes = load__resize(outbox->bytes, outbox->capacity);
  }
  memcpy(outbox->bytes + outbox->end, bytes, size);
  outbox->end += size;
  if (session->is_dirty) return;
  session->is_dirty = true;
  session->next_dirty = load->dirty;
  load->dirty = session;
}

void load__session_frame(load_t *load, load_session_t *session, uint8_t opcode, const char *payload,
                         size_t size) {
  char header[LOAD_MAX_HEADER];
  load__session_put(load, session, header, load__frame_header(opcode, size, header));
  load__session_put(load, session, payload, size);
  load__frame_mask(session->outbox.bytes + session->outbox.end - size, size);
}

void load__flush(load_t *load) {
  while (load->dirty) {
    load_session_t *session = load->dirty;
    load->dirty = session->next_dirty;
    session->is_dirty = false;
    if (session->descriptor >= 0 && !session->awaits_writable) flush(load, session);
  }
}

static void upgrade(load_t *load, load_session_t *session) {
  char request[512];
  const int size = snprintf(request, sizeof request,
                            "GET /v1/connect HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\n"
                            "Connection: Upgrade\r\nSec-WebSocket-Key: " KEY "\r\n"
                            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: stillwire.v1.json\r\n\r\n",
                            load->host);
  session->state = LOAD_UPGRADING;
  session->awaits_writable = false;
  watch(load, session, false);
  load__session_put(load, session, request, (size_t)size);
}

/* Returns the size of the answer to the handshake; 0 if it is incomplete or a refusal. */
static size_t take_answer(load_t *load, load_session_t *session, const char *bytes, size_t size) {
  const char *end = memmem(bytes, size, "\r\n\r\n", 4);
  if (!end && size < MAX_ANSWER) return 0;
  const size_t answer = end ? (size_t)(end + 4 - bytes) : size;
  if (!end || answer < 12 || memcmp(bytes, "HTTP/1.1 101", 12) ||
      !memmem(bytes, answer, ACCEPT, strlen(ACCEPT))) {
    const char *line = memchr(bytes, '\r', answer);
    load__problem(load, "handshake: %.*s", (int)(line ? line - bytes : 0), bytes);
    load__session_lost(load, session);
    return 0;
  }
  session->state = LOAD_JOINING;
  load__session_frame(load, session, LOAD_TEXT, session->hello, strlen(session->hello));
  if (session->room != LOAD_NO_ROOM) load__join(load, session);
  return answer;
}

static void take_close(load_t *load, load_session_t *session, const load_frame_t *frame) {
  if (session->state != LOAD_LEAVING) {
    const uint8_t *code = (const uint8_t *)frame->payload;
    if (frame->length >= 2)
      load__problem(load, "close: %d %.*s", code[0] << 8 | code[1], (int)frame->length - 2,
                    frame->payload + 2);
    else
      load__problem(load, "close: no code");
  }
  load__session_lost(load, session);
}

/* Handles whole frames and returns their size in bytes. The session may be closed afterwards. */
static size_t take(load_t *load, load_session_t *session, const char *bytes, size_t size) {
  size_t taken = 0;
  if (session->state == LOAD_UPGRADING && !(taken = take_answer(load, session, bytes, size))) return 0;
  while (session->state != LOAD_CLOSED) {
    load_frame_t frame;
    const ptrdiff_t whole = load__frame_read(bytes + taken, size - taken, &frame);
    if (!whole) break;
    if (whole < 0) {
      load__problem(load, "a frame that a relay does not send");
      load__session_lost(load, session);
      break;
    }
    taken += (size_t)whole;
    load->counts.frames++;
    switch (frame.opcode) {
    case LOAD_TEXT:
      load__text(load, session, (load_slice_t){frame.payload, frame.length});
      break;
    case LOAD_PING:
      load->counts.pings++;
      load__session_frame(load, session, LOAD_PONG, frame.payload, frame.length);
      break;
    case LOAD_CLOSE:
      take_close(load, session, &frame);
      break;
    case LOAD_PONG:
      break;
    default:
      load__problem(load, "a frame with opcode %d", frame.opcode);
    }
  }
  return taken;
}

static void keep(load_session_t *session, const char *bytes, size_t size) {
  if (size != session->rest_size) {
    free(session->rest);
    session->rest = size ? load__resize(NULL, size) : NULL;
    session->rest_size = size;
  }
  if (size) memcpy(session->rest, bytes, size);
}

static void receive(load_t *load, load_session_t *session) {
  const size_t before = session->rest_size;
  if (before + LOAD_READ > load->buffer_size) {
    load->buffer_size = 2 * (before + LOAD_READ);
    load->buffer = load__resize(load->buffer, load->buffer_size);
  }
  const ssize_t size = recv(session->descriptor, load->buffer + before, LOAD_READ, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (size <= 0) {
    if (session->state != LOAD_LEAVING)
      load__problem(load, "connection lost: %s", size ? strerror(errno) : "ended without a close frame");
    load__session_lost(load, session);
    return;
  }
  load->now = load->last_frame = load__clock();
  load->counts.bytes += (uint64_t)size;
  if (before) memcpy(load->buffer, session->rest, before);
  const size_t whole = before + (size_t)size;
  const size_t taken = take(load, session, load->buffer, whole);
  if (session->state == LOAD_CLOSED) return;
  keep(session, load->buffer + taken, whole - taken);
}

void load__session_ready(load_t *load, load_session_t *session, uint32_t events) {
  if (session->state == LOAD_CONNECTING) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(session->descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) {
      load__problem(load, "connect: %s", strerror(error));
      load__session_lost(load, session);
    } else if (events & EPOLLOUT) {
      upgrade(load, session);
    }
    return;
  }
  if (events & EPOLLOUT) flush(load, session);
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(load, session);
}
