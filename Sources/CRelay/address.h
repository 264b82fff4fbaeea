// SPDX-License-Identifier: Apache-2.0
/* address.h -- where a client comes from. IPv4 addresses are kept as IPv4-mapped IPv6 ones. */
#ifndef RELAY_ADDRESS_H
#define RELAY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct relay__address {
  uint8_t bytes[16];
} relay__address_t;

/* All addresses whose first `bits` bits are these. */
typedef struct relay__network {
  relay__address_t address;
  uint8_t bits;
} relay__network_t;

relay__address_t relay__address_of(const struct sockaddr *socket);
/* An address, as X-Forwarded-For spells it: with or without a port, IPv6 perhaps in brackets. */
bool relay__address_parse(const char *text, size_t size, relay__address_t *address);
/* The addresses that count as one client: an IPv4 address, or the /64 of an IPv6 one. */
relay__address_t relay__address_client(relay__address_t address);

/* "10.0.0.0/8", "2001:db8::/32", or an address alone. */
bool relay__network_parse(const char *text, size_t size, relay__network_t *network);
bool relay__network_has(const relay__network_t *network, const relay__address_t *address);

/* Who is behind trusted proxies: the last address of the header that is none of theirs, else the first.
 * false when the header is empty, or when what the last trusted proxy wrote is no address. */
bool relay__address_forwarded(const char *header, const relay__network_t *trusted, size_t count,
                              relay__address_t *address);

#endif
