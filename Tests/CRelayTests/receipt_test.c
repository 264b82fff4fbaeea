// SPDX-License-Identifier: Apache-2.0
/* Receipts, as clients see them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "peer.h"
#include "test.h"

static void say_mark(peer_t *peer, const char *type, const char *room, int seq) {
  peer_say(peer, "{\"type\":\"%s\",\"id\":9,\"room\":\"%s\",\"seq\":%d}", type, room, seq);
}

static void fill(peer_t *peer, const char *room, int count) {
  for (int i = 0; i < count; i++) {
    peer_say(peer, "{\"type\":\"send\",\"id\":8,\"room\":\"%s\",\"body\":1}", room);
    EXPECT_CONTAINS(peer_receive_with(peer, "\"id\":8"), "\"ok\"");
  }
}

TEST(marks_sent,
     "receipt: others get receipts of received and read messages, and the reader's sessions of read ones") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", ""),
         *other = peer_open(host_port(host), "bob", "");
  peer_join(ann, "marked.a");
  peer_join(bob, "marked.a");
  fill(ann, "marked.a", 3);
  say_mark(bob, "received", "marked.a", 2);
  EXPECT_CONTAINS(
      peer_receive_with(ann, "receipt"),
      "{\"type\":\"receipt\",\"room\":\"marked.a\",\"user\":\"bob\",\"seq\":2,\"kind\":\"received\"}");
  say_mark(bob, "read", "marked.a", 3);
  EXPECT_CONTAINS(peer_receive_with(ann, "receipt"), "\"user\":\"bob\",\"seq\":3,\"kind\":\"read\"");
  EXPECT_CONTAINS(peer_receive_with(other, "receipt"), "\"seq\":3,\"kind\":\"read\"");
  say_mark(bob, "read", "marked.a", 2); /* a lower mark causes no receipt */
  say_mark(bob, "received", "marked.a", 3);
  EXPECT(peer_receives_none_with(bob, "receipt"));
  EXPECT(peer_receives_none_with(ann, "receipt"));
  EXPECT(peer_receives_none_with(other, "receipt"));
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(other);
  host_end(host);
}

TEST(joined, "receipt: receipts of one iteration become one of each kind, with the newest seq") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "marked.a");
  peer_join(bob, "marked.a");
  fill(ann, "marked.a", 6);
  char frames[1024];
  size_t size = 0;
  for (int seq = 1; seq <= 6; seq++) { /* one write, so that the hub reads them in one iteration */
    char text[100];
    const int length = snprintf(text, sizeof text, "{\"type\":\"%s\",\"room\":\"marked.a\",\"seq\":%d}",
                                seq > 4 ? "received" : "read", seq);
    frames[size++] = (char)0x81;
    frames[size++] = (char)(0x80 | length);
    for (int i = 0; i < 4; i++) frames[size++] = 0;
    for (int i = 0; i < length; i++) frames[size++] = text[i];
  }
  peer_write(bob, frames, size);
  int received = 0, read = 0, newest_received = 0, newest_read = 0;
  while (newest_received < 6 || newest_read < 4) {
    const char *text = peer_receive_with(ann, "receipt");
    EXPECT(text != NULL);
    if (!text) break;
    const int seq = atoi(strstr(text, "\"seq\":") + 6);
    const bool is_read = strstr(text, "\"read\"");
    *(is_read ? &read : &received) += 1;
    EXPECT(seq > (is_read ? newest_read : newest_received));
    *(is_read ? &newest_read : &newest_received) = seq;
  }
  EXPECT(read + received < 6);
  EXPECT(peer_receives_none_with(ann, "receipt"));
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}

TEST(quiet_rooms, "receipt: in a room without receipts only the reader's other sessions get them") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", ""),
         *other = peer_open(host_port(host), "bob", "");
  peer_join(ann, "stored.a");
  peer_join(bob, "stored.a");
  fill(ann, "stored.a", 1);
  say_mark(bob, "received", "stored.a", 1);
  say_mark(bob, "read", "stored.a", 1);
  EXPECT_CONTAINS(peer_receive_with(other, "receipt"), "\"kind\":\"read\"");
  EXPECT(peer_receives_none_with(ann, "receipt"));
  peer_leave(ann);
  peer_leave(bob);
  peer_leave(other);
  host_end(host);
}

TEST(large_rooms, "receipt: in a large room only the reader's other sessions get them") {
  relay_config_t config = host_config();
  config.limits.member_list = 2;
  host_t *host = host_start(&config);
  peer_t *peers[3], *other = peer_open(host_port(host), "c", "");
  const char *const names[] = {"a", "b", "c"};
  for (int i = 0; i < 3; i++) {
    peers[i] = peer_open(host_port(host), names[i], "");
    peer_join(peers[i], "marked.a");
  }
  fill(peers[0], "marked.a", 1);
  say_mark(peers[2], "read", "marked.a", 1);
  EXPECT_CONTAINS(peer_receive_with(other, "receipt"), "\"user\":\"c\"");
  EXPECT(peer_receives_none_with(peers[0], "receipt"));
  for (int i = 0; i < 3; i++) peer_leave(peers[i]);
  peer_leave(other);
  host_end(host);
}

TEST(gone, "receipt: a member who leaves in the same iteration causes no receipt and no fault") {
  host_t *host = host_start(NULL);
  peer_t *ann = peer_open(host_port(host), "ann", ""), *bob = peer_open(host_port(host), "bob", "");
  peer_join(ann, "marked.a");
  peer_join(bob, "marked.a");
  fill(ann, "marked.a", 1);
  peer_say(bob, "{\"type\":\"read\",\"room\":\"marked.a\",\"seq\":1}");
  peer_say(bob, "{\"type\":\"leave\",\"id\":1,\"room\":\"marked.a\"}");
  EXPECT_CONTAINS(peer_receive_with(bob, "\"id\":1"), "\"ok\"");
  EXPECT_CONTAINS(peer_receive_with(ann, "\"left\""), "bob");
  peer_leave(ann);
  peer_leave(bob);
  host_end(host);
}
