// SPDX-License-Identifier: Apache-2.0
/* A WebSocket and HTTP client for tests. See peer.h. */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 5000 };

static int64_t milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

peer_t *peer_dial(uint16_t port) {
  peer_t *peer = calloc(1, sizeof *peer);
  peer->answers_pings = true;
  peer->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(peer->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const struct timeval patience = {.tv_sec = PATIENCE / 1000};
  setsockopt(peer->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  peer->has_ended = connect(peer->socket, (const struct sockaddr *)&address, sizeof address) != 0;
  return peer;
}

void peer_cut(peer_t *peer) {
  close(peer->socket);
  free(peer->in);
  free(peer->text);
  free(peer->headers);
  free(peer);
}

void peer_leave(peer_t *peer) {
  if (!peer->has_ended && !peer->close_code) peer_frame(peer, true, PEER_CLOSE, "\x03\xe8", 2);
  peer_sees_end(peer);
  peer_cut(peer);
}

bool peer_write(peer_t *peer, const void *bytes, size_t size) {
  for (size_t sent = 0; sent < size;) {
    const ssize_t n = send(peer->socket, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += (size_t)n;
  }
  return true;
}

bool peer_print(peer_t *peer, const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  const int size = vasprintf(&text, format, arguments);
  va_end(arguments);
  const bool is_written = peer_write(peer, text, (size_t)size);
  free(text);
  return is_written;
}

/* Reads more into `in`. */
static bool fill(peer_t *peer, int64_t deadline) {
  if (peer->in_capacity - peer->in_size < 4096) {
    peer->in_capacity = peer->in_capacity ? peer->in_capacity * 2 : 8192;
    peer->in = realloc(peer->in, peer->in_capacity);
  }
  const int64_t rest = deadline - milliseconds();
  struct pollfd poll_for = {.fd = peer->socket, .events = POLLIN};
  if (peer->has_ended || poll(&poll_for, 1, rest > 0 ? (int)rest : 0) != 1) return false;
  const ssize_t n = recv(peer->socket, peer->in + peer->in_size, peer->in_capacity - peer->in_size - 1, 0);
  if (n <= 0) {
    peer->has_ended = true;
    return false;
  }
  peer->in_size += (size_t)n;
  peer->in[peer->in_size] = 0;
  return true;
}

static void use(peer_t *peer, size_t size) {
  peer->in_size -= size;
  memmove(peer->in, peer->in + size, peer->in_size);
  peer->in[peer->in_size] = 0;
}

static void take_text(peer_t *peer, size_t offset, size_t size) {
  peer->text = realloc(peer->text, size + 1);
  memcpy(peer->text, peer->in + offset, size);
  peer->text[size] = 0;
  peer->size = size;
}

/* WebSocket */

bool peer_frame(peer_t *peer, bool is_final, int opcode, const void *payload, size_t size) {
  static const uint8_t mask[4] = {0x5a, 0x01, 0xc3, 0x7e};
  uint8_t *frame = malloc(size + 14), *at = frame;
  *at++ = (uint8_t)((is_final ? 0x80 : 0) | opcode);
  if (size < 126) {
    *at++ = (uint8_t)(0x80 | size);
  } else if (size < 65536) {
    *at++ = 0x80 | 126;
    *at++ = (uint8_t)(size >> 8);
    *at++ = (uint8_t)size;
  } else {
    *at++ = 0x80 | 127;
    for (int shift = 56; shift >= 0; shift -= 8) *at++ = (uint8_t)((uint64_t)size >> shift);
  }
  memcpy(at, mask, 4);
  at += 4;
  for (size_t i = 0; i < size; i++) *at++ = ((const uint8_t *)payload)[i] ^ mask[i % 4];
  const bool is_written = peer_write(peer, frame, (size_t)(at - frame));
  free(frame);
  return is_written;
}

bool peer_say(peer_t *peer, const char *format, ...) {
  char *text;
  va_list arguments;
  va_start(arguments, format);
  const int size = vasprintf(&text, format, arguments);
  va_end(arguments);
  const bool is_written = peer_frame(peer, true, PEER_TEXT, text, (size_t)size);
  free(text);
  return is_written;
}

/* Reads one frame into `text`. Returns its opcode, or -1. */
static int read_frame(peer_t *peer, int64_t deadline) {
  for (;;) {
    const uint8_t *in = (const uint8_t *)peer->in;
    size_t header = 2, size = 0;
    if (peer->in_size >= 2) {
      size = in[1] & 0x7f;
      if (size >= 126) header = size == 126 ? 4 : 10;
    }
    if (peer->in_size >= header) {
      if (header > 2) {
        size = 0;
        for (size_t i = 2; i < header; i++) size = size << 8 | in[i];
      }
      if (peer->in_size >= header + size) {
        const int opcode = in[0] & 0x0f;
        take_text(peer, header, size);
        use(peer, header + size);
        return opcode;
      }
    }
    if (!fill(peer, deadline)) return -1;
  }
}

const char *peer_receive_within(peer_t *peer, int patience) {
  const int64_t deadline = milliseconds() + patience;
  while (!peer->close_code) {
    const int opcode = read_frame(peer, deadline);
    if (opcode < 0) return NULL;
    if (opcode == PEER_TEXT) return peer->text;
    if (opcode == PEER_PING) {
      peer->pings++;
      if (peer->answers_pings) peer_frame(peer, true, PEER_PONG, peer->text, peer->size);
    }
    if (opcode == PEER_CLOSE && peer->size >= 2) {
      peer->close_code = (uint8_t)peer->text[0] << 8 | (uint8_t)peer->text[1];
      peer_frame(peer, true, PEER_CLOSE, peer->text, 2);
    }
  }
  return NULL;
}

const char *peer_receive(peer_t *peer) {
  return peer_receive_within(peer, PATIENCE);
}

const char *peer_receive_with(peer_t *peer, const char *part) {
  const char *text;
  while ((text = peer_receive(peer)) && !strstr(text, part)) continue;
  return text;
}

bool peer_receives_none_with(peer_t *peer, const char *part) {
  peer_say(peer, "{\"type\":\"ping\",\"id\":\"silence\"}");
  for (;;) {
    const char *text = peer_receive(peer);
    if (!text || strstr(text, part)) return false;
    if (strstr(text, "\"id\":\"silence\"")) return true;
  }
}

bool peer_sees_end(peer_t *peer) {
  const int64_t deadline = milliseconds() + PATIENCE;
  while (fill(peer, deadline)) peer->in_size = 0;
  return peer->has_ended;
}

int peer_upgrade(peer_t *peer, const char *path, const char *headers) {
  peer_print(peer,
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
             path, headers);
  return peer_response(peer, false);
}

peer_t *peer_open(uint16_t port, const char *user, const char *fields) {
  peer_t *peer = peer_dial(port);
  peer_upgrade(peer, "/v1/connect", "");
  peer_say(peer, "{\"type\":\"hello\",\"id\":1,\"user\":\"%s\"%s}", user, fields);
  peer_receive(peer);
  return peer;
}

const char *peer_join(peer_t *peer, const char *room) {
  peer_say(peer, "{\"type\":\"join\",\"id\":\"join %s\",\"room\":\"%s\"}", room, room);
  char id[300];
  snprintf(id, sizeof id, "\"id\":\"join %s\"", room);
  return peer_receive_with(peer, id);
}

/* HTTP */

const char *peer_raw_until(peer_t *peer, const char *part) {
  const int64_t deadline = milliseconds() + PATIENCE;
  while (!peer->in || !strstr(peer->in, part))
    if (!fill(peer, deadline)) return NULL;
  return peer->in;
}

int peer_response(peer_t *peer, bool is_head) {
  peer->status = 0;
  const int64_t deadline = milliseconds() + PATIENCE;
  const char *end;
  while (!peer->in_size || !(end = strstr(peer->in, "\r\n\r\n")))
    if (!fill(peer, deadline)) return 0;
  const size_t size = (size_t)(end - peer->in) + 4;
  free(peer->headers);
  peer->headers = strndup(peer->in, size);
  use(peer, size);
  const char *length = strcasestr(peer->headers, "\r\ncontent-length:");
  const size_t body = length && !is_head ? strtoul(length + 17, NULL, 10) : 0;
  while (peer->in_size < body)
    if (!fill(peer, deadline)) return 0;
  take_text(peer, 0, body);
  use(peer, body);
  return peer->status = atoi(peer->headers + strlen("HTTP/1.1 "));
}

void peer_catch_up(peer_t *peer) {
  peer_say(peer, "{\"type\":\"ping\",\"id\":\"so far\"}");
  peer_receive_with(peer, "\"id\":\"so far\"");
}
