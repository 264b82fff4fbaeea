// SPDX-License-Identifier: Apache-2.0
/* Resolves the relay's host, and opens sockets to it. */
#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE = 5000, DIALS_PER_SOURCE = 4096, SOURCES = 200 };

/* Connects to an address, for at most PATIENCE ms. Returns the socket, or -1 with errno. */
static int try_address(const struct addrinfo *address) {
  const int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  int error = 0;
  if (connect(descriptor, address->ai_addr, address->ai_addrlen)) {
    error = errno;
    struct pollfd wait = {.fd = descriptor, .events = POLLOUT};
    socklen_t size = sizeof error;
    if (error == EINPROGRESS) {
      if (poll(&wait, 1, PATIENCE) < 1)
        error = ETIMEDOUT;
      else
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (!error) return descriptor;
  close(descriptor);
  errno = error;
  return -1;
}

/* True if both ends of the connection have the same address: then the relay runs on this machine. */
static bool is_local(int descriptor) {
  struct sockaddr_storage own = {0}, other = {0};
  socklen_t own_size = sizeof own, other_size = sizeof other;
  if (getsockname(descriptor, (struct sockaddr *)&own, &own_size)) return false;
  if (getpeername(descriptor, (struct sockaddr *)&other, &other_size)) return false;
  if (own.ss_family != other.ss_family) return false;
  if (own.ss_family == AF_INET)
    return ((struct sockaddr_in *)&own)->sin_addr.s_addr == ((struct sockaddr_in *)&other)->sin_addr.s_addr;
  return !memcmp(&((struct sockaddr_in6 *)&own)->sin6_addr, &((struct sockaddr_in6 *)&other)->sin6_addr, 16);
}

bool load__find(load_t *load, const char *host, uint16_t port, char *why, size_t why_size) {
  char service[8];
  snprintf(service, sizeof service, "%u", port);
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo *addresses = NULL;
  const int error = getaddrinfo(host, service, &hints, &addresses);
  if (error) {
    snprintf(why, why_size, "%s: %s", host, gai_strerror(error));
    return false;
  }
  int descriptor = -1;
  for (const struct addrinfo *each = addresses; each && descriptor < 0; each = each->ai_next) {
    if ((descriptor = try_address(each)) < 0) continue;
    memcpy(&load->address, each->ai_addr, each->ai_addrlen);
    load->address_size = each->ai_addrlen;
  }
  if (descriptor < 0) snprintf(why, why_size, "no relay at %s port %u: %s", host, port, strerror(errno));
  freeaddrinfo(addresses);
  if (descriptor < 0) return false;
  load->is_local = is_local(descriptor);
  const struct sockaddr_in *four = (const struct sockaddr_in *)&load->address;
  load->is_loopback4 = load->address.ss_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == 127;
  close(descriptor);
  return true;
}

int load__dial(load_t *load) {
  const int descriptor = socket(load->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (load->is_loopback4) {
    /* An address has 28,000 ports, and a port is in use for a minute after its connection. So connections
     * over loopback use several source addresses. */
    const uint32_t source = 0x7f000001 + load->dials++ / DIALS_PER_SOURCE % SOURCES;
    const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    bind(descriptor, (const struct sockaddr *)&own, sizeof own);
  }
  if (!connect(descriptor, (const struct sockaddr *)&load->address, load->address_size)) return descriptor;
  const int error = errno;
  if (error == EINPROGRESS) return descriptor;
  close(descriptor);
  errno = error;
  return -1;
}
