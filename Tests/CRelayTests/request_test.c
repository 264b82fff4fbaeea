// SPDX-License-Identifier: Apache-2.0
/* Requests of sessions, and their replies. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "peer.h"
#include "test.h"

TEST(ids, "request: a reply repeats the id as the client wrote it") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  static const char *const ids[] = {"1",
                                    "0",
                                    "-0",
                                    "-7",
                                    "9007199254740991",
                                    "-9007199254740991",
                                    "\"a\"",
                                    "\"\\u00e9\\/\\\"\"",
                                    "\"\xc3\xa9\"",
                                    "\"0123456789012345678901234567890123456789012345678901234567890123\""};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    char expected[128];
    peer_say(peer, "{\"id\" : %s ,\"type\":\"ping\"}", ids[i]);
    snprintf(expected, sizeof expected, "{\"type\":\"pong\",\"id\":%s,\"time\":", ids[i]);
    EXPECT_CONTAINS(peer_receive(peer), expected);
  }
  peer_leave(peer);
  host_end(host);
}

TEST(bad_ids, "request: an invalid id is a bad request, and the answer has no id") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  static const char *const ids[] = {"9007199254740992",
                                    "-9007199254740992",
                                    "1.0",
                                    "1e3",
                                    "99999999999999999999999",
                                    "\"\"",
                                    "null",
                                    "true",
                                    "[]",
                                    "{}",
                                    "\"01234567890123456789012345678901234567890123456789012345678901234\""};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    peer_say(peer, "{\"type\":\"ping\",\"id\":%s}", ids[i]);
    EXPECT_CONTAINS(peer_receive(peer), "{\"type\":\"error\",\"code\":\"bad_request\"");
  }
  peer_leave(peer);
  host_end(host);
}

/* 128 bytes, the maximum of a key and of a name. */
#define EIGHT "xxxxxxxx"
#define LONG EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT

TEST(wrong_fields, "request: an error for a wrong field has the id, and the session stays open") {
  relay_config_t config = host_config();
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  static const char *const requests[][2] = {
      {"\"type\":\"nonsense\"", "unsupported"},
      {"\"type\":null", "bad_request"},
      {"\"type\":5", "bad_request"},
      {"\"type\":[\"ping\"]", "bad_request"},
      {"\"x\":1", "bad_request"},
      {"\"type\":\"ping\",\"type\":\"ping\"", "bad_request"},
      {"\"type\":\"send\",\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":null,\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":7,\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"\",\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"..\",\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"a b\",\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"a\\u0000\",\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"live.b\",\"body\":1", "not_joined"},
      {"\"type\":\"send\",\"room\":\"live.a\"", "bad_request"},
      {"\"type\":\"send\",\"room\":\"live.a\",\"body\":1,\"key\":\"\"", "bad_request"},
      {"\"type\":\"send\",\"room\":\"live.a\",\"body\":1,\"key\":7", "bad_request"},
      {"\"type\":\"send\",\"room\":[\"live.a\"],\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"a/b\",\"body\":1", "bad_request"},
      {"\"type\":\"send\",\"room\":\"live.a\",\"body\":1,\"key\":\"a\\u0000b\"", "bad_request"},
      {"\"type\":\"send\",\"room\":\"live.a\",\"body\":1,\"key\":\"" LONG "k\"", "bad_request"},
      {"\"type\":\"send\",\"room\":\"live.a\",\"body\":1,\"key\":\"\xc3\xa9" LONG "\"", "bad_request"},
      {"\"type\":\"signal\",\"name\":\"typing\"", "bad_request"},
      {"\"type\":\"signal\",\"room\":\"live.a\",\"name\":5", "bad_request"},
      {"\"type\":\"signal\",\"room\":\"live.a\",\"name\":\"" LONG "n\"", "bad_request"},
      {"\"type\":\"signal\",\"room\":\"live.a\"", "bad_request"},
      {"\"type\":\"signal\",\"room\":\"live.a\",\"name\":\"\"", "bad_request"},
      {"\"type\":\"read\",\"room\":\"live.a\"", "bad_request"},
      {"\"type\":\"read\",\"room\":\"live.a\",\"seq\":1", "bad_request"},
      {"\"type\":\"read\",\"room\":\"live.a\",\"seq\":-1", "bad_request"},
      {"\"type\":\"read\",\"room\":\"live.a\",\"seq\":0.0", "bad_request"},
      {"\"type\":\"read\",\"room\":\"live.a\",\"seq\":1180591620717411303424", "bad_request"},
      {"\"type\":\"received\",\"room\":\"live.a\"", "bad_request"},
      {"\"type\":\"received\",\"seq\":0", "bad_request"},
      {"\"type\":\"received\",\"room\":\"live.a\",\"seq\":1", "bad_request"},
      {"\"type\":\"received\",\"room\":\"live.a\",\"seq\":-1", "bad_request"},
      {"\"type\":\"received\",\"room\":\"live.a\",\"seq\":\"0\"", "bad_request"},
      {"\"type\":\"received\",\"room\":\"live.b\",\"seq\":0", "not_joined"},
      {"\"type\":\"activity\",\"state\":\"asleep\"", "bad_request"},
      {"\"type\":\"activity\",\"state\":1", "bad_request"},
  };
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    char expected[96];
    peer_say(peer, "{\"id\":%zu,%s}", i, requests[i][0]);
    snprintf(expected, sizeof expected, "{\"type\":\"error\",\"id\":%zu,\"code\":\"%s\"", i, requests[i][1]);
    EXPECT_CONTAINS(peer_receive(peer), expected);
  }
  EXPECT(peer_receives_none_with(peer, "error"));
  peer_leave(peer);
  host_end(host);
}

TEST(known_types, "request: the hub hands over only the configured types") {
  relay_config_t config = host_config();
  static const relay_request_type_t known[] = {{"join", RELAY_RATE_REQUEST}, {"leave", RELAY_RATE_REQUEST}};
  config.requests = known;
  config.request_count = 2;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  EXPECT_CONTAINS(peer_join(peer, "live.a"), "\"ok\"");
  static const char *const types[] = {"hold", "joi", "joins", "join leave", "\\u006aoin ", " ", ""};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    peer_say(peer, "{\"type\":\"%s\",\"id\":%zu,\"room\":\"live.a\"}", types[i], i);
    EXPECT_CONTAINS(peer_receive(peer), "\"code\":\"unsupported\"");
  }
  EXPECT_INTEGER(host_notes(host, "held"), 0);
  peer_say(peer, "{\"type\":\"lea\\u0076e\",\"room\":\"live.a\"}");
  EXPECT_CONTAINS(peer_receive_with(peer, "\"member\""), "\"left\"");
  peer_leave(peer);
  host_end(host);
}

TEST(without_id, "request: a request without an id gets only an error or a pong") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  peer_say(peer, "{\"type\":\"send\",\"room\":\"live.a\",\"body\":1}");
  peer_say(peer, "{\"type\":\"signal\",\"room\":\"live.a\",\"name\":\"n\"}");
  peer_say(peer, "{\"type\":\"read\",\"room\":\"live.a\",\"seq\":1}");
  peer_say(peer, "{\"type\":\"activity\",\"state\":\"active\"}");
  peer_say(peer, "{\"type\":\"ping\"}");
  EXPECT_CONTAINS(peer_receive(peer), "{\"type\":\"pong\",\"time\":");
  peer_say(peer, "{\"type\":\"signal\",\"room\":\"live.a\"}");
  EXPECT_CONTAINS(peer_receive(peer), "{\"type\":\"error\",\"code\":\"bad_request\"");
  peer_leave(peer);
  host_end(host);
}

TEST(reads, "request: the policy answers a read of a stored room, if it has an id") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  static const char *const rooms[] = {"live.a", "stored.a"};
  for (int i = 0; i < 2; i++) {
    peer_join(peer, rooms[i]);
    peer_say(peer, "{\"type\":\"send\",\"id\":1,\"room\":\"%s\",\"body\":1}", rooms[i]);
    EXPECT_CONTAINS(peer_receive_with(peer, "\"id\":1"), "\"ok\"");
    peer_say(peer, "{\"type\":\"read\",\"room\":\"%s\",\"seq\":1}", rooms[i]);
    peer_say(peer, "{\"type\":\"received\",\"id\":2,\"room\":\"%s\",\"seq\":1}", rooms[i]);
    EXPECT_TEXT(peer_receive_with(peer, "\"id\":2"), "{\"type\":\"ok\",\"id\":2}");
  }
  EXPECT_INTEGER(host_notes(host, "read"), 0);
  for (int i = 0; i < 2; i++) {
    peer_say(peer, "{\"type\":\"read\",\"id\":\"a\",\"room\":\"%s\",\"seq\":1}", rooms[i]);
    peer_say(peer, "{\"type\":\"ping\",\"id\":3}");
    EXPECT_TEXT(peer_receive(peer), "{\"type\":\"ok\",\"id\":\"a\"}");
    EXPECT_CONTAINS(peer_receive(peer), "\"pong\"");
  }
  EXPECT_INTEGER(host_notes(host, "read"), 1);
  EXPECT(host_noted(host, "read stored.a ann"));
  peer_say(peer, "{\"type\":\"read\",\"id\":4,\"room\":\"stored.a\",\"seq\":2}");
  EXPECT_CONTAINS(peer_receive(peer), "\"bad_request\"");
  peer_leave(peer);
  host_end(host);
}

TEST(too_deep, "request: a frame with too much nesting is a bad request, and the session stays open") {
  relay_config_t config = host_config();
  config.limits.nesting = 8;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  peer_say(peer, "{\"type\":\"send\",\"id\":1,\"room\":\"live.a\",\"body\":[[[[[[[0]]]]]]]}");
  EXPECT_CONTAINS(peer_receive(peer), "\"ok\",\"id\":1");
  peer_say(peer, "{\"type\":\"send\",\"id\":2,\"room\":\"live.a\",\"body\":[[[[[[[[0]]]]]]]]}");
  EXPECT_CONTAINS(peer_receive(peer), "\"bad_request\"");
  EXPECT(peer_receives_none_with(peer, "bye"));
  peer_leave(peer);
  host_end(host);
}

static void receives(peer_t *peer, const char *part, int times) {
  for (int i = 0; i < times; i++) EXPECT_CONTAINS(peer_receive(peer), part);
}

TEST(halves, "request: half of a surrogate pair is a bad request, and the session stays open") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", ""), *other = peer_open(host_port(host), "bob", "");
  peer_join(peer, "live.a");
  peer_join(other, "live.a");
  static const char *const frames[] = {
      "{\"type\":\"send\",\"id\":\"x\",\"room\":\"live.a\",\"body\":\"\\ud83d\"}",
      "{\"type\":\"send\",\"id\":\"x\",\"room\":\"live.a\",\"body\":[1e999,{\"\\udc00\":\"\\\\\"}]}",
      "{\"type\":\"send\",\"id\":\"x\",\"room\":\"live.a\",\"body\":1,\"key\":\"a\\uDBFF\\u0041\"}",
      "{\"type\":\"join\",\"id\":\"x\",\"room\":\"\\ud83d\\ud83d\"}",
      "{\"type\":\"ping\",\"id\":\"x\",\"\\ud800\":1,\"\\ud801\":1}",
  };
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    peer_say(peer, "%s", frames[i]);
    const char *answer = peer_receive_with(peer, "\"type\":\"error\"");
    EXPECT_CONTAINS(answer, "\"id\":\"x\",\"code\":\"bad_request\"");
    EXPECT_CONTAINS(answer, "half of a surrogate pair, at byte ");
  }
  peer_say(peer, "{\"type\":\"ping\",\"id\":\"\\ud83d\"}");
  EXPECT_LACKS(peer_receive_with(peer, "\"type\":\"error\""), "\"id\"");
  peer_say(peer, "{\"type\":\"send\",\"id\":9,\"room\":\"live.a\",\"body\":\"\\ud83d\\ude00\"}");
  EXPECT_CONTAINS(peer_receive_with(peer, "\"id\":9"), "\"type\":\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(other, "\"type\":\"message\""), "\"body\":\"\\ud83d\\ude00\"");
  EXPECT(peer_receives_none_with(other, "\"type\":\"message\""));
  peer_leave(other);
  peer_leave(peer);
  host_end(host);
}

TEST(request_rate, "rate: requests above the burst are refused for a while, malformed ones too") {
  relay_config_t config = host_config();
  config.limits.request_rate = 0.5;
  config.limits.request_burst = 6;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  for (int i = 0; i < 3; i++) peer_say(peer, "{\"type\":\"ping\"}");
  for (int i = 0; i < 3; i++) peer_say(peer, "{\"type\":\"x\",\"a\":1,\"a\":2}");
  peer_say(peer, "{\"type\":\"ping\",\"id\":7}");
  peer_say(peer, "{\"type\":\"x\",\"a\":1,\"a\":2}");
  receives(peer, "pong", 3);
  receives(peer, "bad_request", 3);
  const char *text = peer_receive(peer);
  EXPECT_CONTAINS(text, "{\"type\":\"error\",\"id\":7,\"code\":\"rate_limited\"");
  EXPECT_CONTAINS(text, "\"temporary\":true,\"retryAfter\":");
  EXPECT_CONTAINS(peer_receive(peer), "rate_limited");
  peer_leave(peer);
  host_end(host);
}

TEST(send_rate,
     "rate: sends and signals have their own rate, and one acknowledgement in 250 ms needs no token") {
  relay_config_t config = host_config();
  config.limits.send_rate = 0.1;
  config.limits.send_burst = 3;
  config.limits.request_rate = 0.1;
  config.limits.request_burst = 2;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  peer_join(peer, "live.a");
  peer_say(peer, "{\"type\":\"ping\",\"id\":0}");
  EXPECT_CONTAINS(peer_receive(peer), "pong");
  for (int i = 0; i < 2; i++) peer_say(peer, "{\"type\":\"send\",\"id\":1,\"room\":\"live.a\",\"body\":1}");
  peer_say(peer, "{\"type\":\"signal\",\"id\":1,\"room\":\"live.a\",\"name\":\"n\"}");
  peer_say(peer, "{\"type\":\"send\",\"id\":2,\"room\":\"live.a\",\"body\":1}");
  receives(peer, "\"ok\",\"id\":1", 3);
  EXPECT_CONTAINS(peer_receive(peer), "\"id\":2,\"code\":\"rate_limited\"");
  peer_say(peer, "{\"type\":\"received\",\"id\":3,\"room\":\"live.a\",\"seq\":2}");
  peer_say(peer, "{\"type\":\"read\",\"id\":4,\"room\":\"live.a\",\"seq\":2}");
  EXPECT_CONTAINS(peer_receive(peer), "\"ok\",\"id\":3");
  EXPECT_CONTAINS(peer_receive(peer), "\"id\":4,\"code\":\"rate_limited\"");
  /* The rate gives no token for 10 s, but an acknowledgement is free again. */
  const char *text = NULL;
  for (int i = 0; i < 200 && !(text && strstr(text, "\"ok\",\"id\":5")); i++) {
    usleep(10000);
    peer_say(peer, "{\"type\":\"received\",\"id\":5,\"room\":\"live.a\",\"seq\":2}");
    text = peer_receive(peer);
  }
  EXPECT_CONTAINS(text, "\"ok\",\"id\":5");
  peer_leave(peer);
  host_end(host);
}

TEST(flood, "rate: the hub closes a session with 4006 after 1,000 refusals in 10 s") {
  relay_config_t config = host_config();
  config.limits.request_rate = 0.1;
  config.limits.request_burst = 1;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  for (int i = 0; i < 1005; i++) peer_say(peer, "{\"type\":\"ping\"}");
  int refusals = 0;
  const char *text;
  while ((text = peer_receive(peer))) {
    refusals += strstr(text, "rate_limited") != NULL;
    if (strstr(text, "\"bye\"")) EXPECT_CONTAINS(text, "\"reconnect\":true");
  }
  EXPECT_INTEGER(refusals, 1000);
  EXPECT_INTEGER(peer->close_code, 4006);
  peer_leave(peer);
  host_end(host);
}
