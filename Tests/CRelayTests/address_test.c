// SPDX-License-Identifier: Apache-2.0
/* Addresses, networks, and who is behind a proxy. */
#include "address.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static relay__address_t address(const char *text) {
  relay__address_t parsed = {{0}};
  EXPECT(relay__address_parse(text, strlen(text), &parsed));
  return parsed;
}

static bool has(const char *network, const char *text) {
  relay__network_t parsed;
  const relay__address_t inside = address(text);
  EXPECT(relay__network_parse(network, strlen(network), &parsed));
  return relay__network_has(&parsed, &inside);
}

TEST(networks, "address: a network has what its first bits say") {
  EXPECT(has("10.0.0.0/8", "10.255.1.2"));
  EXPECT(!has("10.0.0.0/8", "11.0.0.0"));
  EXPECT(has("192.168.4.0/22", "192.168.7.255"));
  EXPECT(!has("192.168.4.0/22", "192.168.8.0"));
  EXPECT(has("127.0.0.1", "127.0.0.1"));
  EXPECT(!has("127.0.0.1", "127.0.0.2"));
  EXPECT(has("0.0.0.0/0", "203.0.113.7"));
  EXPECT(!has("0.0.0.0/0", "2001:db8::1"));
  EXPECT(has("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT(!has("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT(has("::/0", "10.0.0.1"));
  EXPECT(has("10.0.0.0/8", "::ffff:10.1.2.3"));
  EXPECT(has("::1", "::1"));
}

TEST(bad_networks, "address: what is no network is refused") {
  const char *const bad[] = {"",       "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x",
                             "10.0.0", "::/129",      "::/1000",   "localhost",   "10.0.0.0/ 8",
                             "[::1]",  "::1/064000",  "1.2.3.4.5", "/8"};
  relay__network_t network;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    EXPECT(!relay__network_parse(bad[i], strlen(bad[i]), &network));
}

static bool same(const char *one, const char *other) {
  const relay__address_t a = relay__address_client(address(one)), b = relay__address_client(address(other));
  return !memcmp(&a, &b, sizeof a);
}

TEST(clients, "address: an IPv6 /64 is one client, each IPv4 address one of its own") {
  EXPECT(same("2001:db8:1:2:3::", "2001:db8:1:2:ffff::1"));
  EXPECT(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
  EXPECT(!same("10.0.0.1", "10.0.0.2"));
  EXPECT(same("10.0.0.1", "::ffff:10.0.0.1"));
  EXPECT(same("10.0.0.1:5000", "10.0.0.1"));
  EXPECT(same("[2001:db8::1]:80", "2001:db8::1"));
}

/* Behind proxies in 10.0.0.0/8 and at fd00::1; NULL: nobody is known. */
static void is_forwarded(const char *header, const char *expected) {
  relay__network_t trusted[2];
  relay__address_t found = {{0}};
  relay__network_parse("10.0.0.0/8", 10, &trusted[0]);
  relay__network_parse("fd00::1", 7, &trusted[1]);
  /* From the heap, so that a read beyond the header is found. */
  char *copy = strdup(header);
  const bool is_known = relay__address_forwarded(copy, trusted, 2, &found);
  free(copy);
  if (!expected) {
    EXPECT(!is_known);
    return;
  }
  const relay__address_t wanted = address(expected);
  EXPECT(is_known && !memcmp(&found, &wanted, sizeof found));
}

TEST(forwarded, "address: who is behind proxies is the last who is none of them") {
  is_forwarded("203.0.113.7", "203.0.113.7");
  is_forwarded("203.0.113.7, 10.0.0.2", "203.0.113.7");
  is_forwarded("203.0.113.7,10.0.0.2\t, fd00::1", "203.0.113.7");
  is_forwarded("198.51.100.1, 203.0.113.7", "203.0.113.7"); /* the first is what the client invented */
  is_forwarded("10.0.0.9, 203.0.113.7, 10.0.0.2", "203.0.113.7");
  is_forwarded("10.0.0.9, 10.0.0.2", "10.0.0.9");
  is_forwarded("[2001:db8::1]:4711", "2001:db8::1");
  is_forwarded("203.0.113.7:1234", "203.0.113.7");
  is_forwarded("unknown, 10.0.0.2", "10.0.0.2");
  is_forwarded("203.0.113.7, _hidden", NULL);
  is_forwarded("203.0.113.7, ,", "203.0.113.7");
  is_forwarded("", NULL);
  is_forwarded(" , ", NULL);
}
