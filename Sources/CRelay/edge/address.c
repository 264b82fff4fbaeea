// SPDX-License-Identifier: Apache-2.0
/* Addresses, networks, and the headers X-Forwarded-For and Host. See address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

relay__address_t relay__address_of(const struct sockaddr *socket) {
  relay__address_t address = {{0}};
  if (socket->sa_family == AF_INET6) {
    memcpy(address.bytes, &((const struct sockaddr_in6 *)(const void *)socket)->sin6_addr, 16);
  } else {
    memcpy(address.bytes, mapped, sizeof mapped);
    memcpy(address.bytes + 12, &((const struct sockaddr_in *)(const void *)socket)->sin_addr, 4);
  }
  return address;
}

static bool parse(const char *text, size_t size, relay__address_t *address) {
  char copy[INET6_ADDRSTRLEN];
  if (!size || size >= sizeof copy) return false;
  memcpy(copy, text, size);
  copy[size] = 0;
  if (inet_pton(AF_INET6, copy, address->bytes) == 1) return true;
  memcpy(address->bytes, mapped, sizeof mapped);
  return inet_pton(AF_INET, copy, address->bytes + 12) == 1;
}

bool relay__address_parse(const char *text, size_t size, relay__address_t *address) {
  if (size && text[0] == '[') {
    const char *end = memchr(text, ']', size);
    return end && parse(text + 1, (size_t)(end - text) - 1, address);
  }
  if (parse(text, size, address)) return true;
  const char *port = memchr(text, ':', size);
  return port && parse(text, (size_t)(port - text), address);
}

static bool is_mapped(const relay__address_t *address) {
  return !memcmp(address->bytes, mapped, sizeof mapped);
}

char *relay__address_print(relay__address_t address, char text[static RELAY__ADDRESS_TEXT]) {
  _Static_assert(RELAY__ADDRESS_TEXT >= INET6_ADDRSTRLEN, "the longest address fits");
  if (is_mapped(&address))
    inet_ntop(AF_INET, address.bytes + 12, text, RELAY__ADDRESS_TEXT);
  else
    inet_ntop(AF_INET6, address.bytes, text, RELAY__ADDRESS_TEXT);
  return text;
}

relay__address_t relay__address_client(relay__address_t address) {
  if (!is_mapped(&address)) memset(address.bytes + 8, 0, 8);
  return address;
}

bool relay__network_parse(const char *text, size_t size, relay__network_t *network) {
  const char *slash = memchr(text, '/', size);
  if (!parse(text, slash ? (size_t)(slash - text) : size, &network->address)) return false;
  const unsigned max_bits = is_mapped(&network->address) && memchr(text, '.', size) ? 32 : 128;
  unsigned bits = max_bits;
  if (slash) {
    const char *const end = text + size;
    bits = 0;
    if (slash + 1 == end || end - slash > 4) return false;
    for (const char *at = slash + 1; at < end; at++) {
      if (*at < '0' || *at > '9') return false;
      bits = bits * 10 + (unsigned)(*at - '0');
    }
    if (bits > max_bits) return false;
  }
  network->bits = (uint8_t)(128 - max_bits + bits);
  return true;
}

bool relay__network_has(const relay__network_t *network, const relay__address_t *address) {
  const size_t whole = network->bits / 8, rest = network->bits % 8;
  if (memcmp(network->address.bytes, address->bytes, whole)) return false;
  return !rest || (network->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

static bool is_trusted(const relay__network_t *trusted, size_t count, const relay__address_t *address) {
  for (size_t i = 0; i < count; i++)
    if (relay__network_has(&trusted[i], address)) return true;
  return false;
}

/* Each proxy appends the address of its own client. Items before the first untrusted address may be forged,
 * so the header is read from its end. */
bool relay__address_forwarded(const char *header, const relay__network_t *trusted, size_t count,
                              relay__address_t *address) {
  bool is_known = false;
  for (const char *end = header + strlen(header);;) {
    const char *begin = end;
    while (begin > header && begin[-1] != ',') begin--;
    const char *first = begin, *last = end;
    while (first < last && (*first == ' ' || *first == '\t')) first++;
    while (last > first && (last[-1] == ' ' || last[-1] == '\t')) last--;
    relay__address_t found;
    if (first < last) { /* empty items are skipped (RFC 9110, section 5.6.1) */
      if (!relay__address_parse(first, (size_t)(last - first), &found)) return is_known;
      *address = found;
      is_known = true;
      if (!is_trusted(trusted, count, &found)) return true;
    }
    if (begin == header) return is_known;
    end = begin - 1;
  }
}

static bool is_digits(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (text[i] < '0' || text[i] > '9') return false;
  return size;
}

/* Returns the port, or -1 if the text is not a number from 0 to 65535. */
static int port_of(const char *text, size_t size) {
  int port = 0;
  if (!is_digits(text, size) || size > 5) return -1;
  for (size_t i = 0; i < size; i++) port = port * 10 + text[i] - '0';
  return port <= 65535 ? port : -1;
}

/* True for labels of 1 to 63 letters, digits, `-` and `_`, with dots between them, and at most 253 bytes. A
 * dot at the end is allowed. The last label must not be a number. */
static bool is_host_name(const char *text, size_t size) {
  if (size && text[size - 1] == '.') size--;
  if (!size || size > 253) return false;
  size_t label = 0; /* the begin of the label */
  for (size_t i = 0; i < size; i++) {
    const char c = text[i];
    if (c == '.') {
      if (i == label || i - label > 63) return false;
      label = i + 1;
    } else if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                 c == '_')) {
      return false;
    }
  }
  return size > label && size - label <= 63 && !is_digits(text + label, size - label);
}

bool relay__host_parse(const char *text, size_t size, relay__host_t *host) {
  const bool is_bracketed = size && text[0] == '[';
  const char *end = memchr(text, is_bracketed ? ']' : ':', size);
  if (is_bracketed && !end) return false;
  const char *name = text + is_bracketed;
  const size_t name_size = (size_t)((end ? end : text + size) - name);
  const size_t used = (size_t)(name - text) + name_size + is_bracketed;
  *host = (relay__host_t){.name = name, .size = name_size, .port = -1};
  if (used < size) {
    if (text[used] != ':') return false;
    host->port = port_of(text + used + 1, size - used - 1);
    if (host->port < 0) return false;
  }
  if (is_bracketed && !memchr(name, ':', name_size)) return false; /* an IPv4 address has no brackets */
  /* parse() copies the text up to a NUL, so a NUL must not reach it. */
  host->is_address = !memchr(name, 0, name_size) && parse(name, name_size, &host->address);
  return host->is_address || (!is_bracketed && is_host_name(name, name_size));
}

bool relay__address_is_loopback(const relay__address_t *address) {
  static const uint8_t loopback[16] = {[15] = 1};
  if (is_mapped(address)) return address->bytes[12] == 127;
  return !memcmp(address->bytes, loopback, sizeof loopback);
}

bool relay__host_is_loopback(const relay__host_t *host) {
  static const char localhost[] = "localhost";
  if (!host->is_address)
    return host->size == sizeof localhost - 1 && !strncasecmp(host->name, localhost, host->size);
  return relay__address_is_loopback(&host->address);
}
