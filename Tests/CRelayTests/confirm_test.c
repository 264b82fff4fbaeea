// SPDX-License-Identifier: Apache-2.0
/* relay_session_confirm(): the confirmation that pushed frames have arrived. */
#include <stdio.h>

#include "host.h"
#include "peer.h"
#include "test.h"

typedef struct question {
  relay_id_t session;
  uint32_t number;
  size_t sessions; /* of the user */
} question_t;

static void ask(relay_hub_t *hub, void *argument) {
  question_t *question = argument;
  const relay_bytes_t json = {"{\"type\":\"news\"}", 15};
  relay_session_push(hub, question->session, json);
  question->number = relay_session_confirm(hub, question->session);
  relay_id_t sessions[4];
  question->sessions = relay_user_sessions(hub, relay_session_user(hub, question->session), sessions, 4);
  if (question->sessions) EXPECT(sessions[question->sessions - 1] == question->session);
}

static question_t asked(host_t *host, relay_id_t session) {
  question_t question = {.session = session};
  host_do(host, ask, &question);
  return question;
}

TEST(confirmed, "confirm: the pong to a ping behind a frame confirms that the frame has arrived") {
  host_t *host = host_start(NULL);
  peer_t *other = peer_open(host_port(host), "ann", ""), *peer = peer_open(host_port(host), "ann", "");
  const relay_id_t session = host_session(peer->text);
  for (int number = 1; number <= 3; number++) {
    const question_t question = asked(host, session);
    EXPECT_INTEGER(question.number, number);
    EXPECT_INTEGER(question.sessions, 2);
    EXPECT_CONTAINS(peer_hear(peer), "news");
    EXPECT(peer_hear_within(peer, 50) == NULL);
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

TEST(asked_again, "confirm: a request during an open ping gets its own ping") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  const relay_id_t session = host_session(peer->text);
  peer->answers_pings = false;
  EXPECT_INTEGER(asked(host, session).number, 1);
  EXPECT_CONTAINS(peer_hear(peer), "news");
  EXPECT_INTEGER(asked(host, session).number, 2);
  EXPECT_CONTAINS(peer_hear(peer), "news");
  EXPECT(peer_hear_within(peer, 50) == NULL);
  EXPECT_INTEGER(host_notes(host, "confirmed"), 0);
  peer->answers_pings = true;
  const uint32_t first = 1;
  peer_frame(peer, true, PEER_PONG, &first, sizeof first);
  EXPECT(peer_hear_within(peer, 50) == NULL);
  EXPECT(host_noted(host, "confirmed 1"));
  EXPECT(host_noted(host, "confirmed 2"));
  EXPECT_INTEGER(peer->pings, 2);
  peer_leave(peer);
  host_end(host);
}

static void ask_alone(relay_hub_t *hub, void *argument) {
  question_t *question = argument;
  question->number = relay_session_confirm(hub, question->session);
}

TEST(asked_later, "confirm: the hub sends the ping even if no other frame waits") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_open(host_port(host), "ann", "");
  question_t question = {.session = host_session(peer->text)};
  EXPECT(peer_hear_within(peer, 20) == NULL); /* all frames are written */
  host_do(host, ask_alone, &question);
  EXPECT_INTEGER(question.number, 1);
  EXPECT(peer_hear_within(peer, 50) == NULL);
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
  EXPECT(peer_hear_within(peer, 20) == NULL); /* so that its last sign of life is before the ping */
  EXPECT_INTEGER(asked(host, session).number, 1);
  EXPECT_CONTAINS(peer_hear_of(peer, "bye"), "\"code\":4004");
  EXPECT_INTEGER(asked(host, session).number, 0);
  EXPECT_INTEGER(asked(host, session).sessions, 0);
  EXPECT_INTEGER(host_notes(host, "confirmed"), 0);
  peer_leave(peer);
  host_end(host);
}
