// SPDX-License-Identifier: Apache-2.0
/* Log lines for the operator: their text, and the rates of lines that clients can cause. */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static void is_refused(host_t *host, const char *headers, int status) {
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "GET /what HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", headers);
  EXPECT_INTEGER(peer_response(peer, false), status);
  peer_cut(peer);
}

#define SETTING " (--origins, STILLWIRE_ORIGINS)"

TEST(origin, "log: the line about a refused Origin names the Origin and the setting that allows it") {
  host_t *host = host_start(NULL);
  is_refused(host, "Origin: http://evil.example\r\n", 403);
  EXPECT(host_noted(
      host, "log info refused with 403 from 127.0.0.1: the setting origins does not list this Origin: Origin "
            "\"http://evil.example\"" SETTING));
  is_refused(host, "Origin: http://\"e\xc3vil\r\n", 403);
  EXPECT(host_noted(
      host, "log info refused with 403 from 127.0.0.1: the setting origins does not list this Origin: Origin "
            "\"http://?e?vil\"" SETTING));
  char origin[400] = "Origin: ";
  memset(origin + 8, 'a', 200);
  strcpy(origin + 208, "\r\n");
  is_refused(host, origin, 403);
  EXPECT(host_noted(
      host, "log info refused with 403 from 127.0.0.1: the setting origins does not list this Origin: Origin "
            "\"(200 bytes)\"" SETTING));
  host_end(host);
}

TEST(refusal_rate, "log: the hub logs 5 refusals in 10 s, and then the number of the others") {
  host_t *host = host_start(NULL);
  host_set_clock(host, 1000);
  for (int i = 0; i < 12; i++) is_refused(host, "Origin: null\r\n", 403);
  EXPECT_INTEGER(host_notes(host, "log info refused with 403"), 5);
  host_set_clock(host, 10999);
  is_refused(host, "Origin: null\r\n", 403);
  EXPECT_INTEGER(host_notes(host, "log info refused with 403"), 5);
  host_set_clock(host, 11000);
  is_refused(host, "Origin: null\r\n", 403);
  EXPECT(host_noted(host, "log info refused: 8 more"));
  EXPECT_INTEGER(host_notes(host, "log info refused with 403"), 6);
  host_end(host);
}

/* Expects a line about the session `id`. The line has the id in base 36. */
static void is_noted(host_t *host, relay_id_t id, const char *what) {
  char name[16] = "", line[128];
  for (; id; id /= 36) {
    memmove(name + 1, name, sizeof name - 1);
    *name = "0123456789abcdefghijklmnopqrstuvwxyz"[id % 36];
  }
  name[sizeof name - 1] = 0;
  snprintf(line, sizeof line, "log debug session %s %s", name, what);
  if (!EXPECT(host_noted(host, line))) EXPECT_TEXT(host->notes, line);
}

TEST(sessions, "log: the hub logs the begin and the end of a session at the level debug") {
  relay_config_t config = host_config();
  config.logs_debug = true;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  relay_id_t id = host_session(peer->text);
  is_noted(host, id, "begins, from 127.0.0.1");
  peer_leave(peer);
  is_noted(host, id, "ends, closed by the client with 1000");
  peer = peer_open(host_port(host), "ann", "");
  id = host_session(peer->text);
  peer_cut(peer);
  is_noted(host, id, "ends, lost with 1006");
  peer = peer_open(host_port(host), "ann", "");
  id = host_session(peer->text);
  peer_frame(peer, true, PEER_BINARY, "{}", 2);
  while (peer_receive(peer)) continue;
  EXPECT(peer_sees_end(peer));
  char closed[64];
  snprintf(closed, sizeof closed, "ends, closed by the relay with %d", peer->close_code);
  EXPECT(host_notes(host, "log debug session ") >= 6);
  EXPECT(strstr(host->notes, closed) != NULL);
  peer_cut(peer);
  host_end(host);
}

TEST(quiet_sessions, "log: without the level debug the hub logs no sessions") {
  host_t *host = host_start(NULL);
  peer_leave(peer_open(host_port(host), "ann", ""));
  host_end(host);
}

TEST(refused_requests, "log: the hub logs refused requests of sessions, with their own rate") {
  relay_config_t config = host_config();
  config.limits.request_rate = 0.001;
  config.limits.request_burst = 1;
  host_t *host = host_start(&config);
  host_set_clock(host, 1000);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  for (int i = 0; i < 9; i++) {
    peer_say(peer, "{\"type\":\"watch\",\"id\":1,\"users\":[]}");
    peer_receive_with(peer, "\"id\":1");
  }
  EXPECT_INTEGER(host_notes(host, "log info a request of session "), 5);
  is_refused(host, "Origin: null\r\n", 403);
  EXPECT_INTEGER(host_notes(host, "log info refused with 403"), 1);
  peer_leave(peer);
  host_end(host);
}
