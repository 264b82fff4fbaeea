// SPDX-License-Identifier: Apache-2.0
/* Addresses, networks, clients behind proxies, and the header Host. */
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

TEST(networks, "address: a network contains the addresses with its first bits") {
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

TEST(bad_networks, "address: text that is not a network is rejected") {
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

TEST(clients, "address: an IPv6 /64 is one client, and each IPv4 address is one client") {
  EXPECT(same("2001:db8:1:2:3::", "2001:db8:1:2:ffff::1"));
  EXPECT(!same("2001:db8:1:2::1", "2001:db8:1:3::1"));
  EXPECT(!same("10.0.0.1", "10.0.0.2"));
  EXPECT(same("10.0.0.1", "::ffff:10.0.0.1"));
  EXPECT(same("10.0.0.1:5000", "10.0.0.1"));
  EXPECT(same("[2001:db8::1]:80", "2001:db8::1"));
}

/* Expects this client behind proxies in 10.0.0.0/8 and at fd00::1; NULL: the client is unknown. */
static void is_forwarded(const char *header, const char *expected) {
  relay__network_t trusted[2];
  relay__address_t found = {{0}};
  relay__network_parse("10.0.0.0/8", 10, &trusted[0]);
  relay__network_parse("fd00::1", 7, &trusted[1]);
  /* On the heap, so that the sanitizer sees a read beyond the header. */
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

TEST(forwarded, "address: the client behind proxies is the last address that is not a trusted proxy") {
  is_forwarded("203.0.113.7", "203.0.113.7");
  is_forwarded("203.0.113.7, 10.0.0.2", "203.0.113.7");
  is_forwarded("203.0.113.7,10.0.0.2\t, fd00::1", "203.0.113.7");
  is_forwarded("198.51.100.1, 203.0.113.7", "203.0.113.7"); /* the client has forged the first */
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

TEST(hosts, "address: a Host is a name or an address with an optional port") {
  static const struct {
    const char *text, *name;
    int port;
    bool is_address, is_loopback;
  } valid[] = {
      {"localhost", "localhost", -1, false, true},
      {"LocalHost:80", "LocalHost", 80, false, true},
      {"127.0.0.1:8080", "127.0.0.1", 8080, true, true},
      {"127.255.0.9", "127.255.0.9", -1, true, true},
      {"[::1]", "::1", -1, true, true},
      {"[::1]:65535", "::1", 65535, true, true},
      {"[::ffff:127.0.0.1]:0", "::ffff:127.0.0.1", 0, true, true},
      {"10.0.0.1:00080", "10.0.0.1", 80, true, false},
      {"[::2]", "::2", -1, true, false},
      {"[2001:db8::1]:443", "2001:db8::1", 443, true, false},
      {"chat.example", "chat.example", -1, false, false},
      {"chat.example.:443", "chat.example.", 443, false, false},
      {"localhost.evil.example", "localhost.evil.example", -1, false, false},
      {"127.0.0.1.evil.example", "127.0.0.1.evil.example", -1, false, false},
      {"a-b_c.xn--p1ai", "a-b_c.xn--p1ai", -1, false, false},
      {"1.2.3.4a", "1.2.3.4a", -1, false, false},
  };
  for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
    relay__host_t host;
    if (!EXPECT(relay__host_parse(valid[i].text, strlen(valid[i].text), &host)))
      EXPECT_TEXT(valid[i].text, "");
    EXPECT_BYTES(host.name, host.size, valid[i].name);
    EXPECT_INTEGER(host.port, valid[i].port);
    EXPECT_INTEGER(host.is_address, valid[i].is_address);
    EXPECT_INTEGER(relay__host_is_loopback(&host), valid[i].is_loopback);
    if (host.is_address) EXPECT_INTEGER(relay__address_is_loopback(&host.address), valid[i].is_loopback);
  }
}

TEST(bad_hosts, "address: a text that is not a host with an optional port is rejected as Host") {
  static const char *const bad[] = {
      "",
      ":80",
      "localhost:",
      "localhost:abc",
      "localhost:1:80",
      "localhost:-1",
      "localhost:+1",
      "localhost:65536",
      "localhost:000080",
      "localhost: 80",
      " localhost",
      "localhost ",
      "localhost,evil",
      "localhost;evil",
      "localhost/",
      "a@localhost",
      "127.0.0.1@evil",
      "127.0.0.256",
      "127.0.1",
      "1270.0.0.1",
      "2130706433",
      "0x7f.1.1.1",
      "::1",
      "[::1",
      "::1]",
      "[::1]80",
      "[::1]:",
      "[::1]:x",
      "[127.0.0.1]",
      "[localhost]",
      "[]",
      "[::1%lo]",
      "a..b",
      ".localhost",
      "..",
      "local host",
      "local\thost",
      "caf\xc3\xa9.example",
      "localhost%00",
      "[[::1]]",
  };
  relay__host_t host;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!EXPECT(!relay__host_parse(bad[i], strlen(bad[i]), &host))) EXPECT_TEXT(bad[i], "");
  EXPECT(!relay__host_parse("localhost\0.evil", 15, &host));
  EXPECT(!relay__host_parse("127.0.0.1\0", 10, &host));
  EXPECT(!relay__host_parse("[::1\0]", 6, &host));
  char name[300];
  memset(name, 'a', sizeof name);
  EXPECT(relay__host_parse(name, 63, &host));
  EXPECT(!relay__host_parse(name, 64, &host));
  for (size_t i = 49; i < sizeof name; i += 50) name[i] = '.';
  EXPECT(relay__host_parse(name, 253, &host));
  EXPECT(!relay__host_parse(name, 254, &host));
}
