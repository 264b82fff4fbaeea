// SPDX-License-Identifier: Apache-2.0
/* Counters of messages, closes and answers. All current numbers are 0 after all clients have left. */
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static void read_stats(relay_hub_t *hub, void *stats) {
  *(relay_stats_t *)stats = relay_hub_stats(hub);
}

static relay_stats_t stats_of(host_t *host) {
  relay_stats_t stats;
  host_do(host, read_stats, &stats);
  return stats;
}

static uint64_t closes(const relay_stats_t *stats, uint16_t code) {
  for (int i = 0; i < RELAY_CLOSES; i++)
    if (relay_close_codes[i] == code) return stats->closes[i];
  return UINT64_MAX;
}

static uint64_t errors(const relay_stats_t *stats, const char *name) {
  for (int i = 0; i < RELAY_ERRORS; i++)
    if (!strcmp(relay_error_names[i], name)) return stats->errors[i];
  return UINT64_MAX;
}

static uint64_t observations(const relay_histogram_t *histogram) {
  uint64_t sum = 0;
  for (int i = 0; i <= RELAY_BUCKETS; i++) sum += histogram->counts[i];
  return sum;
}

TEST(messages, "stats: a message counts once as a message, and once as a delivery for each session") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_t *eve = peer_open(host_port(host), "eve", "");
  peer_t *const all[] = {ann, bob, eve};
  for (int i = 0; i < 3; i++) peer_join(all[i], "live.a");
  for (int i = 0; i < 3; i++) peer_join(all[i], "stored.a");
  const relay_stats_t before = stats_of(host);
  const char *const frames[] = {
      "{\"type\":\"send\",\"id\":1,\"room\":\"live.a\",\"body\":1}",
      "{\"type\":\"send\",\"id\":2,\"room\":\"stored.a\",\"body\":1}",
      "{\"type\":\"signal\",\"id\":3,\"room\":\"live.a\",\"name\":\"typing\"}",
      "{\"type\":\"send\",\"id\":4,\"room\":\"live.b\",\"body\":1}",
  };
  size_t bytes = 0;
  for (int i = 0; i < 4; i++) {
    char id[16] = "\"id\":1";
    id[5] = (char)('1' + i);
    bytes += strlen(frames[i]);
    peer_say(ann, "%s", frames[i]);
    peer_receive_with(ann, id);
  }
  peer_receive_with(bob, "\"signal\"");
  peer_receive_with(eve, "\"signal\"");
  const relay_stats_t after = stats_of(host);
  EXPECT_INTEGER(after.messages_live - before.messages_live, 1);
  EXPECT_INTEGER(after.messages_stored - before.messages_stored, 1);
  EXPECT_INTEGER(after.signals - before.signals, 1);
  EXPECT_INTEGER(after.deliveries - before.deliveries, 6);
  EXPECT_INTEGER(observations(&after.fan_out) - observations(&before.fan_out), 2);
  EXPECT_INTEGER(after.frames_received - before.frames_received, 4);
  EXPECT_INTEGER(after.bytes_received - before.bytes_received, bytes);
  EXPECT_INTEGER(after.frames_sent - before.frames_sent, 4 + 6);
  EXPECT(after.bytes_sent - before.bytes_sent > 4 * 20 + 6 * 40);
  EXPECT_INTEGER(errors(&after, "not_joined") - errors(&before, "not_joined"), 1);
  EXPECT_INTEGER(after.sessions, 3);
  EXPECT_INTEGER(after.connections, 3);
  for (int i = 0; i < 3; i++) peer_leave(all[i]);
  host_end(host);
}

static bool all_left(relay_hub_t *hub, void *argument) {
  const relay_counts_t counts = relay_hub_counts(hub);
  (void)argument;
  return !counts.sessions && !counts.users && !counts.seats && !relay_hub_outbox_bytes(hub) && !counts.frames;
}

TEST(closes_of_sessions, "stats: the end of a session counts once, with one close code") {
  host_t *host = host_start(NULL);
  peer_t *clean = peer_open(host_port(host), "ann", ""), *cut = peer_open(host_port(host), "bob", "");
  peer_t *refused = peer_open(host_port(host), "eve", ""), *odd = peer_open(host_port(host), "odd", "");
  peer_leave(clean);
  peer_cut(cut);
  peer_frame(odd, true, PEER_CLOSE, "\x0f\xa0", 2);
  EXPECT(peer_sees_end(odd));
  peer_leave(odd);
  peer_say(refused, "[]");
  peer_receive_with(refused, "\"bye\"");
  peer_leave(refused);
  EXPECT(host_reaches(host, all_left, NULL));
  const relay_stats_t stats = stats_of(host);
  EXPECT_INTEGER(closes(&stats, 1000), 1);
  EXPECT_INTEGER(closes(&stats, 1006), 1);
  EXPECT_INTEGER(closes(&stats, 4500), 1);
  EXPECT_INTEGER(closes(&stats, 4000), 0); /* the client has sent 4000, and not the hub */
  EXPECT_INTEGER(closes(&stats, 0), 1);
  EXPECT_INTEGER(stats.went_online, 4);
  EXPECT_INTEGER(stats.went_offline, 4);
  EXPECT_INTEGER(errors(&stats, "bad_request"), 1);
  host_end(host);
}

TEST(responses, "stats: an HTTP answer counts by its status") {
  host_t *host = host_start(NULL);
  peer_t *peer = peer_dial(host_port(host));
  peer_print(peer, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n");
  EXPECT_INTEGER(peer_response(peer, false), 400);
  peer_cut(peer);
  peer = peer_dial(host_port(host));
  EXPECT_INTEGER(peer_upgrade(peer, "/elsewhere", ""), 404);
  peer_cut(peer);
  const relay_stats_t stats = stats_of(host);
  EXPECT_INTEGER(stats.responses[4], 2);
  EXPECT_INTEGER(errors(&stats, "bad_request"), 1);
  EXPECT_INTEGER(errors(&stats, "not_found"), 1);
  host_end(host);
}
