// SPDX-License-Identifier: Apache-2.0
/* Checks of Host, of Origin, and of WebSocket handshakes. */
#include <strings.h>

#include "edge.h"

enum { KEY_SIZE = 24 /* 16 bytes in base64 */ };

static const relay__refusal_t none = {0};

/* Removes this port from the end of a host. Browsers leave the default port of a scheme out of an Origin. */
static relay_bytes_t without_port(const char *host, size_t size, const char *port) {
  const size_t length = strlen(port);
  const bool has_port = size > length && !memcmp(host + size - length, port, length);
  return (relay_bytes_t){host, has_port ? size - length : size};
}

static bool is_own_origin(relay_bytes_t origin, relay_bytes_t host) {
  static const struct { const char *begin, *port; } schemes[] = {{"http://", ":80"}, {"https://", ":443"}};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    const size_t begin = strlen(schemes[i].begin);
    if (origin.count < begin || strncasecmp(origin.at, schemes[i].begin, begin)) continue;
    const char *rest = (const char *)origin.at + begin;
    const relay_bytes_t named = without_port(rest, origin.count - begin, schemes[i].port);
    const relay_bytes_t own = without_port(host.at, host.count, schemes[i].port);
    return named.count == own.count && !strncasecmp(named.at, own.at, own.count);
  }
  return false;
}

bool relay__is_listed(const char *list, const char *text, size_t size) {
  for (const char *at = list; *at;) {
    const size_t length = strcspn(at, " ");
    if (length == size && !strncasecmp(at, text, size)) return true;
    at += length + strspn(at + length, " ");
  }
  return false;
}

/* True if the rule allows the Host. `text.at` is NULL if the request has none. */
static bool answers_host(const relay_hub_t *hub, relay_bytes_t text) {
  relay__host_t host;
  if (hub->config.host_rule == RELAY_HOSTS_ANY) return true;
  if (!text.at || !relay__host_parse(text.at, text.count, &host)) return false;
  if (relay__host_is_loopback(&host) || relay__is_listed(hub->config.hosts, host.name, host.size))
    return true;
  return host.is_address && hub->config.host_rule == RELAY_HOSTS_ADDRESSES;
}

const char relay__origin_refused[] = "the setting origins does not list this Origin";

static relay__refusal_t forbidden(const char *detail) {
  return (relay__refusal_t){403, "forbidden", detail};
}

relay__refusal_t relay__admission_check(const relay__connection_t *connection) {
  const relay_hub_t *hub = connection->hub;
  const relay_bytes_t host = connection->head.host;
  if (!answers_host(hub, host))
    return forbidden(
        hub->config.host_rule == RELAY_HOSTS_LOOPBACK
            ? "the relay answers only a Host that is loopback or listed in the setting hosts"
            : "the relay answers only a Host that is an address, localhost or listed in the setting hosts");
  const relay_bytes_t origin = relay__head_field(&connection->head, "origin");
  if (!origin.count) return none;
  if (*hub->config.origins)
    return relay__is_listed(hub->config.origins, origin.at, origin.count) ? none
                                                                          : forbidden(relay__origin_refused);
  return host.at && is_own_origin(origin, host) ? none : forbidden(relay__origin_refused);
}

static bool is_session_path(const relay__connection_t *connection) {
  const relay_bytes_t path = connection->head.path;
  return path.count == strlen(connection->hub->config.path) &&
         !memcmp(path.at, connection->hub->config.path, path.count);
}

/* A browser shows a page neither the status of a failed handshake nor an answer that the page may not read.
 * So the client of the page sends a GET to the session path, and any page may read the refusal of its Origin
 * there. That answer contains nothing else. */
char *relay__reading_origin(const relay__connection_t *connection, relay__refusal_t refused) {
  if (refused.status) {
    const bool is_session_get = relay__head_is(&connection->head, "GET") && is_session_path(connection);
    return refused.detail == relay__origin_refused && is_session_get ? relay__copy_string("*", 1) : NULL;
  }
  const relay_bytes_t origin = relay__head_field(&connection->head, "origin");
  if (!*connection->hub->config.origins || !origin.count) return NULL;
  return relay__copy_string(origin.at, origin.count);
}

/* True if the key is 16 bytes in base64 (RFC 6455, section 4.1). */
static bool is_key(relay_bytes_t key) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return key.count == KEY_SIZE && strspn(key.at, alphabet) == KEY_SIZE - 2 &&
         !memcmp((const char *)key.at + KEY_SIZE - 2, "==", 2);
}

relay__refusal_t relay__handshake_check(const relay__connection_t *connection) {
  const relay_hub_t *hub = connection->hub;
  const relay__head_t *head = &connection->head;
  if (!relay__head_is(head, "GET") || !is_session_path(connection))
    return (relay__refusal_t){404, "not_found", "a handshake needs GET and the path of sessions"};
  if (head->is_chunked || head->length)
    return (relay__refusal_t){400, "bad_request", "a handshake has no body"};
  const relay_bytes_t version = relay__head_field(head, "sec-websocket-version");
  if (!version.at || strcmp(version.at, "13"))
    return (relay__refusal_t){426, "unsupported", "Sec-WebSocket-Version must be 13"};
  if (!is_key(relay__head_field(head, "sec-websocket-key")))
    return (relay__refusal_t){400, "bad_request", "Sec-WebSocket-Key must be 16 bytes in base64"};
  if (relay__head_field(head, "sec-websocket-protocol").count &&
      !relay__head_lists_exactly(head, "sec-websocket-protocol", hub->config.subprotocol))
    return (relay__refusal_t){400, "bad_request", "none of the offered subprotocols is known"};
  if (!hub->edge->is_listening || hub->drain.is_on)
    return (relay__refusal_t){503, "unavailable", "the server is shutting down"};
  return none;
}
