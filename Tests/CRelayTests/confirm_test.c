// SPDX-License-Identifier: Apache-2.0
/* relay_session_confirm(): the confirmation that pushed frames have arrived. */
#include <stdio.h>

#include "host.h"
#include "peer.h"
#include "test.h"

typedef struct query {
  relay_id_t session;
  uint32_t number;
  size_t sessions; /* of the user */
} query_t;

static void push_and_confirm(relay_hub_t *hub, void *argument) {
  query_t *query = argument;
  const relay_bytes_t json = {"{\"type\":\"news\"}", 15};
  relay_session_push(hub, query->session, json);
  query->number = relay_session_confirm(hub, query->session);
  relay_id_t sessions[4];
  query->sessions = relay_user_sessions(hub, relay_session_user(hub, query->session), sessions, 4);
  if (query->sessions) EXPECT(sessions[query->sessions - 1] == query->session);
}

static query_t queried(host_t *host, relay_id_t session) {
  query_t query = {.session = session};
  host_do(host, push_and_confirm, &query);
  return query;
}

TEST(confirmed, "confirm: the pong to a ping behind a frame confirms that the frame has arrived") {
  host_t *host = host_start(NULL);
  peer_t *other = peer_open(host_port(host), "ann", ""), *peer = peer_open(host_port(host), "ann", "");
  const relay_id_t session = host_session(peer->text);
  for (int number = 1; number <= 3; number++) {
    const query_t query = queried(host, session);
    EXPECT_INTEGER(query.number, number);
    EXPECT_INTEGER(query.sessions, 2);
    EXPECT_CONTAINS(peer_receive(peer), "news");
    EXPECT(peer_receive_within(peer, 50) == NULL);
    char note[32];
    snprintf(note, sizeof note, "confirmed %d", number);
    EXPECT(host_noted(host, note));
  }
  EXPECT_INTEGER(host_notes(host, "confirmed"), 3);
  EXPECT_INTEGER(peer->pings, 3);
  peer_leave(other);
  peer_leave(peer);
  host_end(host);
}

TEST(queried_again, "confirm: a request during an open ping gets its own ping") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  const relay_id_t session = host_session(peer->text);
  peer->answers_pings = false;
  EXPECT_INTEGER(queried(host, session).number, 1);
  EXPECT_CONTAINS(peer_receive(peer), "news");
  EXPECT_INTEGER(queried(host, session).number, 2);
  EXPECT_CONTAINS(peer_receive(peer), "news");
  EXPECT(peer_receive_within(peer, 50) == NULL);
  EXPECT_INTEGER(host_notes(host, "confirmed"), 0);
  peer->answers_pings = true;
  const uint32_t first = 1;
  peer_frame(peer, true, PEER_PONG, &first, sizeof first);
  EXPECT(peer_receive_within(peer, 50) == NULL);
  EXPECT(host_noted(host, "confirmed 1"));
  EXPECT(host_noted(host, "confirmed 2"));
  EXPECT_INTEGER(peer->pings, 2);
  peer_leave(peer);
  host_end(host);
}

static void query_alone(relay_hub_t *hub, void *argument) {
  query_t *query = argument;
  query->number = relay_session_confirm(hub, query->session);
}

TEST(queried_later, "confirm: the hub sends the ping even if no other frame waits") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  query_t query = {.session = host_session(peer->text)};
  EXPECT(peer_receive_within(peer, 20) == NULL); /* all frames are written */
  host_do(host, query_alone, &query);
  EXPECT_INTEGER(query.number, 1);
  EXPECT(peer_receive_within(peer, 50) == NULL);
  EXPECT(host_noted(host, "confirmed 1"));
  peer_leave(peer);
  host_end(host);
}

TEST(not_confirmed, "confirm: no confirmation follows if the client answers no ping or is gone") {
  relay_config_t config = host_config();
  config.limits.pong_timeout = 100;
  host_t *host = host_start(&config);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  const relay_id_t session = host_session(peer->text);
  peer->answers_pings = false;
  EXPECT(peer_receive_within(peer, 20) == NULL); /* so that its last sign of life is before the ping */
  EXPECT_INTEGER(queried(host, session).number, 1);
  EXPECT_CONTAINS(peer_receive_with(peer, "bye"), "\"code\":4004");
  EXPECT_INTEGER(queried(host, session).number, 0);
  EXPECT_INTEGER(queried(host, session).sessions, 0);
  EXPECT_INTEGER(host_notes(host, "confirmed"), 0);
  peer_leave(peer);
  host_end(host);
}
