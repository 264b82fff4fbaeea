// SPDX-License-Identifier: Apache-2.0
/* address.h -- addresses of clients, networks of proxies, and the header Host. An IPv4 address is stored as
 * an IPv4-mapped IPv6 address. */
#ifndef RELAY_ADDRESS_H
#define RELAY_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct relay__address {
  uint8_t bytes[16];
} relay__address_t;

/* The addresses that have the same first `bits` bits as `address`. */
typedef struct relay__network {
  relay__address_t address;
  uint8_t bits;
} relay__network_t;

relay__address_t relay__address_of(const struct sockaddr *socket);
/* Parses an address of X-Forwarded-For: with or without a port, an IPv6 address also in brackets. */
bool relay__address_parse(const char *text, size_t size, relay__address_t *address);
/* Writes the address as text, an IPv4 address with dots. Returns `text`. */
enum { RELAY__ADDRESS_TEXT = 46 };
char *relay__address_print(relay__address_t address, char text[static RELAY__ADDRESS_TEXT]);
/* Returns the address that a client counts for: an IPv4 address as it is, or the /64 of an IPv6 address. */
relay__address_t relay__address_client(relay__address_t address);

/* Parses a network such as "10.0.0.0/8" or "2001:db8::/32", or a single address. */
bool relay__network_parse(const char *text, size_t size, relay__network_t *network);
bool relay__network_has(const relay__network_t *network, const relay__address_t *address);

/* Finds the client behind trusted proxies: the last address in the header that is not a trusted proxy, else
 * the first. Returns false if the header is empty, or if its last item is not an address. */
bool relay__address_forwarded(const char *header, const relay__network_t *trusted, size_t count,
                              relay__address_t *address);

/* A parsed Host field. `name` points into the parsed text: a host name, or an address without brackets. */
typedef struct relay__host {
  const char *name;
  size_t size;
  bool is_address;          /* the field names an IPv4 or IPv6 address, which DNS cannot rebind */
  relay__address_t address; /* set if `is_address` */
  int port;                 /* -1: the field has no port */
} relay__host_t;

/* Parses the whole value of a Host field: a host name, an IPv4 address or an IPv6 address in brackets, and an
 * optional port of digits from 0 to 65535. Returns false for every other text: an empty one, an empty port,
 * spaces, a list, a user name, a name whose last label is a number (browsers read it as an IPv4 address). */
bool relay__host_parse(const char *text, size_t size, relay__host_t *host);
/* True if the address is in 127.0.0.0/8 or ::1. */
bool relay__address_is_loopback(const relay__address_t *address);
/* True if the host is `localhost`, in 127.0.0.0/8 or ::1. */
bool relay__host_is_loopback(const relay__host_t *host);

#endif
