// SPDX-License-Identifier: Apache-2.0
/* WebSocket frames of clients: in fragments, too large, of a wrong type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static void is_closed(peer_t *peer, int code) {
  char bye[48];
  snprintf(bye, sizeof bye, "\"type\":\"bye\",\"code\":%d", code);
  EXPECT_CONTAINS(peer_receive_with(peer, "\"type\":\"bye\""), bye);
  EXPECT(peer_receive(peer) == NULL);
  EXPECT_INTEGER(peer->close_code, code);
  EXPECT(peer_sees_end(peer));
  peer_cut(peer);
}

static const char ping[] = "{\"type\":\"ping\",\"id\":\"in pieces\"}";

TEST(fragments, "frame: fragments with pings between them are one message") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  for (size_t piece = 1; piece < sizeof ping; piece += 5) {
    for (size_t at = 0; at < sizeof ping - 1; at += piece) {
      const size_t rest = sizeof ping - 1 - at;
      peer_frame(peer, rest <= piece, at ? PEER_CONTINUATION : PEER_TEXT, ping + at,
                 rest < piece ? rest : piece);
      if (rest > piece) peer_frame(peer, true, PEER_PING, "between", 7);
    }
    EXPECT_CONTAINS(peer_receive(peer), "\"pong\",\"id\":\"in pieces\"");
  }
  peer_leave(peer);
  host_end(host);
}

TEST(empty_fragments,
     "frame: a message may have empty fragments at its begin, in its middle and at its end") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_frame(peer, false, PEER_TEXT, "", 0);
  peer_frame(peer, false, PEER_CONTINUATION, ping, 10);
  peer_frame(peer, false, PEER_CONTINUATION, "", 0);
  peer_frame(peer, false, PEER_CONTINUATION, ping + 10, sizeof ping - 11);
  peer_frame(peer, true, PEER_CONTINUATION, "", 0);
  EXPECT_CONTAINS(peer_receive(peer), "\"pong\",\"id\":\"in pieces\"");
  peer_leave(peer);
  host_end(host);
}

TEST(bytes_alone, "frame: a client may write each byte separately, from the handshake on") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  static const char handshake[] = "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                  "Sec-WebSocket-Version: 13\r\n\r\n";
  for (size_t i = 0; i < sizeof handshake - 1; i++) peer_write(peer, handshake + i, 1);
  EXPECT_INTEGER(peer_response(peer, false), 101);
  static const char hello[] = "\x81\xa3\0\0\0\0{\"type\":\"hello\",\"user\":\"ann\",\"a\":7}";
  for (size_t i = 0; i < sizeof hello - 1; i++) peer_write(peer, hello + i, 1);
  EXPECT_CONTAINS(peer_receive(peer), "welcome");
  peer_leave(peer);
  host_end(host);
}

/* Returns a ping of exactly `size` bytes. */
static char *padded_ping(size_t size) {
  char *frame = malloc(size + 1);
  memset(frame, 'x', size);
  frame[size] = 0;
  static const char begin[] = "{\"type\":\"ping\",\"id\":1,\"pad\":\"";
  memcpy(frame, begin, sizeof begin - 1);
  memcpy(frame + size - 2, "\"}", 2);
  return frame;
}

TEST(sizes, "frame: the hub reads each size of message up to the limit") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  static const size_t sizes[] = {125,  126,  127,  511,  512,   513,   1024,
                                 2047, 2048, 2049, 4096, 65534, 65535, 65536};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *frame = padded_ping(sizes[i]);
    peer_frame(peer, true, PEER_TEXT, frame, sizes[i]);
    EXPECT_CONTAINS(peer_receive(peer), "\"pong\",\"id\":1");
    free(frame);
  }
  peer_leave(peer);
  host_end(host);
}

TEST(over_the_limit, "frame: a message over the limit closes with 4505, whole or in fragments") {
  host_t *host = host_start(NULL);
  char *frame = padded_ping(65537);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_frame(peer, true, PEER_TEXT, frame, 65537);
  EXPECT_CONTAINS(peer_receive(peer), "\"code\":\"too_large\"");
  is_closed(peer, 4505);
  peer = peer_open(host_port(host), "ann", "");
  peer_frame(peer, false, PEER_TEXT, frame, 40000);
  peer_frame(peer, true, PEER_CONTINUATION, frame + 40000, 25537);
  is_closed(peer, 4505);
  /* A message without an end. */
  peer = peer_open(host_port(host), "ann", "");
  peer_frame(peer, false, PEER_TEXT, "", 0);
  for (int i = 0; i < 66; i++) peer_frame(peer, false, PEER_CONTINUATION, frame, 1000);
  is_closed(peer, 4505);
  free(frame);
  host_end(host);
}

TEST(binary, "frame: a binary message closes with 4500") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_frame(peer, true, PEER_BINARY, ping, sizeof ping - 1);
  EXPECT_CONTAINS(peer_receive(peer), "\"code\":\"bad_request\"");
  is_closed(peer, 4500);
  host_end(host);
}

TEST(broken, "frame: text that is not a JSON object in UTF-8 closes with 4500") {
  host_t *host = host_start(NULL);
  static const char *const frames[] = {"",
                                       " ",
                                       "ping",
                                       "[]",
                                       "7",
                                       "\"ping\"",
                                       "{\"type\":\"ping\"",
                                       "{\"type\":\"ping\"}}",
                                       "{\"type\":\"ping\",}",
                                       "{\"type\":\"ping\",\"body\":\"\xff\"}",
                                       "{\"type\":\"ping\",\"a\":\"\xed\xa0\x80\"}",
                                       "{\"type\":\"ping\",\"a\":\"\xc0\xaf\"}",
                                       "\xef\xbb\xbf{\"type\":\"ping\"}"};
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    peer_t *peer = peer_open(host_port(host), "ann", "");
    peer_frame(peer, true, PEER_TEXT, frames[i], strlen(frames[i]));
    EXPECT_CONTAINS(peer_receive(peer), "\"code\":\"bad_request\"");
    is_closed(peer, 4500);
  }
  host_end(host);
}

TEST(broken_framing, "frame: a frame that violates RFC 6455 ends the connection") {
  host_t *host = host_start(NULL);
  static const char *const frames[] = {
      "\x83\x80\0\0\0\0",     /* an unused opcode */
      "\x80\x81\0\0\0\0x",    /* a continuation without a begin */
      "\xc1\x81\0\0\0\0x",    /* a reserved bit */
      "\x09\x80\0\0\0\0",     /* a ping in fragments */
      "\x89\xfe\0\x7e\0\0\0", /* a long ping */
  };
  static const size_t sizes[] = {6, 7, 7, 6, 7};
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    peer_t *peer = peer_open(host_port(host), "ann", "");
    peer_write(peer, frames[i], sizes[i]);
    EXPECT(peer_receive(peer) == NULL);
    EXPECT(peer->close_code == 1002 || peer->has_ended);
    peer_leave(peer);
  }
  host_end(host);
}

TEST(after_the_close, "frame: frames behind a refused frame are ignored") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", ""), *other = peer_open(host_port(host), "bob", "");
  peer_join(other, "live.a");
  peer_join(peer, "live.a");
  peer_frame(peer, true, PEER_BINARY, "x", 1);
  for (int i = 0; i < 50; i++) peer_say(peer, "{\"type\":\"send\",\"room\":\"live.a\",\"body\":%d}", i);
  is_closed(peer, 4500);
  EXPECT(peer_receives_none_with(other, "\"message\""));
  peer_leave(other);
  host_end(host);
}
