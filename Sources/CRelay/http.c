// SPDX-License-Identifier: Apache-2.0
/* HTTP on the port of the sessions: a request is gathered whole, answered from outside, and written
 * when the socket takes it. */
#include "internal.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
  BODY_DEADLINE = 10000,
  WRITE_DEADLINE = 30000, /* without progress */
  CHECK_INTERVAL_MS = 1000,
  COMMENT = 15000,
  STREAM_BOUND = 262144,
  FOLLOWED_BOUND = 8,
  SMALL = 4096, /* bytes of a body or answer that pass even when a bound is reached */
};

const char *relay_http_reason(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 201:
    return "Created";
  case 204:
    return "No Content";
  case 304:
    return "Not Modified";
  case 308:
    return "Permanent Redirect";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 409:
    return "Conflict";
  case 411:
    return "Length Required";
  case 412:
    return "Precondition Failed";
  case 413:
    return "Content Too Large";
  case 415:
    return "Unsupported Media Type";
  case 422:
    return "Unprocessable Content";
  case 426:
    return "Upgrade Required";
  case 429:
    return "Too Many Requests";
  case 503:
    return "Service Unavailable";
  default:
    return status < 500 ? "Error" : "Internal Server Error";
  }
}

static void put_status(relay__text_t *out, int status) {
  char line[128];
  const int size = snprintf(line, sizeof line, "HTTP/1.1 %d %s\r\n", status, relay_http_reason(status));
  relay__put(out, line, (size_t)size);
}

/* Permits a page of another origin to read the answer. An answer that depends on the origin says so to
 * caches. */
static void put_sharing(relay__text_t *out, const relay_hub_t *hub, const relay_exchange_t *exchange) {
  if (!*hub->origins && !exchange->origin) return;
  relay__puts(out, "Vary: Origin\r\n");
  if (!exchange->origin) return;
  relay__puts(out, "Access-Control-Allow-Origin: ");
  relay__puts(out, exchange->origin);
  relay__puts(out, "\r\nAccess-Control-Expose-Headers: Allow, ETag, Retry-After, WWW-Authenticate\r\n");
}

static void put_rest(relay__text_t *out, int status, const char *headers, relay_bytes_t body, bool closes,
                     bool is_head) {
  char line[64];
  relay__puts(out, headers);
  if (closes) relay__puts(out, "Connection: close\r\n");
  if (status != 204 && status != 304) {
    const int size = snprintf(line, sizeof line, "Content-Length: %zu\r\n", body.count);
    relay__put(out, line, (size_t)size);
  }
  relay__puts(out, "\r\n");
  if (!is_head && status != 204 && status != 304) relay__put(out, body.at, body.count);
}

static relay_bytes_t problem(char *at, size_t room, int status, const char *code, const char *detail) {
  const int size = snprintf(at, room,
                            "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\","
                            "\"detail\":\"%s\"}",
                            relay_http_reason(status), status, code, detail);
  return (relay_bytes_t){at, (size_t)size};
}

static const char problem_headers[] = "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n";

/* A copy of a header, NUL-terminated; at: NULL when it is absent, or does not fit. */
static relay_bytes_t header(struct lws *wsi, enum lws_token_indexes token, char *at, size_t room) {
  const int length = lws_hdr_total_length(wsi, token);
  if (length <= 0 || (size_t)length >= room || lws_hdr_copy(wsi, at, (int)room, token) < 0)
    return (relay_bytes_t){0};
  return (relay_bytes_t){at, strlen(at)};
}

static relay_bytes_t custom_header(struct lws *wsi, const char *name, char *at, size_t room) {
  const int name_size = (int)strlen(name);
  const int length = lws_hdr_custom_length(wsi, name, name_size);
  if (length < 0 || (size_t)length >= room || lws_hdr_custom_copy(wsi, at, (int)room, name, name_size) < 0)
    return (relay_bytes_t){0};
  return (relay_bytes_t){at, strlen(at)};
}

/* Whose requests are answered */

static bool is_own_origin(const char *origin, const char *host) {
  const char *rest = !strncmp(origin, "http://", 7)    ? origin + 7
                     : !strncmp(origin, "https://", 8) ? origin + 8
                                                       : NULL;
  return rest && !strcasecmp(rest, host);
}

static bool is_listed(const char *list, const char *text, size_t size) {
  for (const char *at = list; *at;) {
    const size_t length = strcspn(at, " ");
    if (length == size && !strncasecmp(at, text, size)) return true;
    at += length + strspn(at + length, " ");
  }
  return false;
}

/* True if the rule allows the Host, whose `at` is NULL when the request has none. */
static bool answers_host(const relay_hub_t *hub, relay_bytes_t text) {
  relay__host_t host;
  if (hub->config.host_rule == RELAY_HOSTS_ANY) return true;
  if (!text.at || !relay__host_parse(text.at, text.count, &host)) return false;
  if (relay__host_is_loopback(&host) || is_listed(hub->hosts, host.name, host.size)) return true;
  return host.is_address && hub->config.host_rule == RELAY_HOSTS_ADDRESSES;
}

const char relay__origin_refused[] = "the setting origins does not list this Origin";

/* NULL, or why the request is refused with 403. */
static const char *refusal(const relay_hub_t *hub, struct lws *wsi) {
  char host[512], origin[512];
  const relay_bytes_t has_host = header(wsi, WSI_TOKEN_HOST, host, sizeof host);
  if (!answers_host(hub, has_host))
    return hub->config.host_rule == RELAY_HOSTS_LOOPBACK
               ? "the relay answers only a Host that is loopback or listed in the setting hosts"
               : "the relay answers only a Host that is an address, localhost or listed in the setting hosts";
  if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0) return NULL;
  if (!header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin).at) return "the Origin is too long";
  if (*hub->origins ? is_listed(hub->origins, origin, strlen(origin))
                    : has_host.at && is_own_origin(origin, host))
    return NULL;
  return relay__origin_refused;
}

static bool is_session_path(const relay_hub_t *hub, const char *path, size_t size) {
  return size == strlen(hub->path) && !memcmp(path, hub->path, size);
}

/* Returns the origin of the pages that may read the answer, or NULL; `wrong` is the reason of a 403, or NULL.
 *
 * A browser shows a page neither the status of a failed handshake nor an answer without permission. The
 * page's client then reads from a GET of the session path that the Origin is refused. The answer contains
 * nothing but that. */
static char *reading_origin(const relay_hub_t *hub, struct lws *wsi, const char *wrong, bool is_session_get) {
  char origin[512];
  if (wrong) return wrong == relay__origin_refused && is_session_get ? relay__copy_string("*", 1) : NULL;
  if (!*hub->origins || !header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin).at) return NULL;
  return relay__copy_string(origin, strlen(origin));
}

/* The upgrade */

static bool offers_subprotocol(const relay_hub_t *hub, struct lws *wsi) {
  char list[128];
  const int length = lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL);
  if (length <= 0) return true;
  if (!header(wsi, WSI_TOKEN_PROTOCOL, list, sizeof list).at) return false;
  const size_t size = strlen(hub->subprotocol);
  for (const char *at = list; *at;) {
    at += strspn(at, " \t,");
    const size_t next = strcspn(at, " \t,");
    if (next == size && !strncmp(at, hub->subprotocol, size)) return true;
    at += next;
  }
  return false;
}

static int write_refusal(relay_hub_t *hub, struct lws *wsi, int status, const char *code,
                         const char *detail) {
  char json[256], headers[160];
  relay__count_error(hub, code);
  relay__log_refusal(hub, wsi, status, detail);
  relay__count_response(hub, status);
  relay__text_t out = {0};
  snprintf(headers, sizeof headers, "%s", problem_headers);
  if (status == 503)
    snprintf(headers, sizeof headers, "%sRetry-After: %d\r\n", problem_headers,
             1 + (int)relay__drain_retry_after(hub));
  if (status == 426) /* RFC 6455, section 4.4 */
    snprintf(headers, sizeof headers, "%sUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
             problem_headers);
  put_status(&out, status);
  put_rest(&out, status, headers, problem(json, sizeof json, status, code, detail), true, false);
  /* Small enough for the socket's buffer, and the library keeps what does not fit. */
  const int written = lws_write(wsi, (unsigned char *)out.at, out.size, LWS_WRITE_HTTP);
  free(out.at);
  return written < 0 ? -1 : 1;
}

int relay__http_upgrade(relay_hub_t *hub, struct lws *wsi, const char *protocol) {
  /* The library would speak HTTP/2, and has answered what it does not know before it asks. */
  if (!protocol || strcasecmp(protocol, "websocket")) return -1;
  char *path;
  int size;
  const int method = lws_http_get_uri_and_method(wsi, &path, &size);
  const char *malformed = relay__head_fault(wsi);
  if (malformed) return write_refusal(hub, wsi, 400, "bad_request", malformed);
  const char *wrong = refusal(hub, wsi);
  if (wrong) return write_refusal(hub, wsi, 403, "forbidden", wrong);
  if (method != LWSHUMETH_GET || !is_session_path(hub, path, (size_t)size))
    return write_refusal(hub, wsi, 404, "not_found", "sessions connect elsewhere");
  char version[8];
  if (!header(wsi, WSI_TOKEN_VERSION, version, sizeof version).at || strcmp(version, "13"))
    return write_refusal(hub, wsi, 426, "unsupported", "Sec-WebSocket-Version must be 13");
  if (!offers_subprotocol(hub, wsi))
    return write_refusal(hub, wsi, 400, "bad_request", "none of the offered subprotocols is known");
  if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_AUTHORIZATION) >= LONGEST_HEADER)
    return write_refusal(hub, wsi, 400, "bad_request", "the Authorization header is too long");
  relay__client_t *client;
  if (!relay__client_admit(hub, wsi, &client))
    return write_refusal(hub, wsi, 429, "rate_limited", "too many connections from this address");
  relay__client_release(hub, client); /* the session takes it again when it is there */
  if (!hub->is_listening || hub->drain.is_on)
    return write_refusal(hub, wsi, 503, "unavailable", "the server is shutting down");
  return 0;
}

/* Requests */

/* The library does not read before the answer is out, but polls on, and would find what it does not read for
 * ever. Its flow control stops that, and stops writing as well: it is on while there is nothing to write. */
static void rest(relay_exchange_t *exchange) {
  lws_rx_flow_control(exchange->wsi, 0);
}

static void want_to_write(relay_exchange_t *exchange) {
  lws_rx_flow_control(exchange->wsi, 1);
  lws_callback_on_writable(exchange->wsi);
}

static const char *const methods[] = {
    [LWSHUMETH_GET] = "GET",   [LWSHUMETH_POST] = "POST",       [LWSHUMETH_OPTIONS] = "OPTIONS",
    [LWSHUMETH_PUT] = "PUT",   [LWSHUMETH_PATCH] = "PATCH",     [LWSHUMETH_DELETE] = "DELETE",
    [LWSHUMETH_HEAD] = "HEAD", [LWSHUMETH_CONNECT] = "CONNECT",
};

static bool has_buffered(const relay_hub_t *hub) {
  return lws_service_adjust_timeout(hub->context, 1, 0) == 0;
}

typedef enum following { NOT_FOLLOWED, FOLLOWED, UNKNOWN } following_t;

static void control_followed(const relay_hub_t *hub, int enable) {
  for (uint32_t i = 0; i < hub->followed_count; i++) {
    const relay_exchange_t *exchange = relay__slots_find(&hub->exchanges, hub->followed[i]);
    if (exchange) lws_rx_flow_control(exchange->wsi, enable);
  }
}

/* Returns whether bytes came behind the request. libwebsockets 4.1.6 says only that some connection has
 * unread bytes, except those under flow control. So the answer follows from a comparison: with this
 * connection under flow control and without. Connections that are known to have such bytes are under flow
 * control meanwhile. The result is UNKNOWN while another one has some, which few have for longer than an
 * iteration. */
static following_t following(const relay_hub_t *hub, const relay_exchange_t *exchange) {
  if (!exchange->is_followed && !has_buffered(hub)) {
    /* This connection may be under flow control itself. */
    lws_rx_flow_control(exchange->wsi, 1);
    if (!has_buffered(hub)) return NOT_FOLLOWED;
  }
  control_followed(hub, 0);
  lws_rx_flow_control(exchange->wsi, 0);
  const bool others_are = has_buffered(hub);
  lws_rx_flow_control(exchange->wsi, 1);
  const bool any_are = has_buffered(hub);
  control_followed(hub, 1);
  return others_are ? UNKNOWN : any_are ? FOLLOWED : NOT_FOLLOWED;
}

static void cut(relay_exchange_t *exchange);

static void forget_followed(relay_hub_t *hub, relay_exchange_t *exchange) {
  if (!exchange->is_followed) return;
  exchange->is_followed = false;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < hub->followed_count; i++)
    if (hub->followed[i] != exchange->id) hub->followed[kept++] = hub->followed[i];
  hub->followed_count = kept;
}

/* Remembers a request with something behind it while its answer is written. Past the bound the oldest is cut,
 * so that clients that pipeline and read nothing cost the others nothing. It stays in the list until it is
 * closed, because its bytes count until then. */
static void note_followed(relay_hub_t *hub, relay_exchange_t *exchange) {
  if (exchange->is_followed) return;
  exchange->is_followed = true;
  hub->followed =
      relay__grow(hub->followed, hub->followed_count, &hub->followed_capacity, sizeof *hub->followed, 8);
  hub->followed[hub->followed_count++] = exchange->id;
  if (hub->followed_count <= FOLLOWED_BOUND) return;
  relay_exchange_t *late =
      relay__slots_find(&hub->exchanges, hub->followed[hub->followed_count - 1 - FOLLOWED_BOUND]);
  if (late && !late->is_cut) cut(late);
}

static void answer(relay_hub_t *hub, relay_exchange_t *exchange, int status, const char *headers,
                   relay_bytes_t body) {
  if (exchange->is_answered) return;
  exchange->is_answered = true;
  relay__count_response(hub, status);
  exchange->progress = hub->clock;
  relay__timer_set(hub, &exchange->timer, RELAY__TIMER_EXCHANGE, hub->clock + CHECK_INTERVAL_MS);
  /* Bytes behind the request are in the library's buffer, from where 4.1.6 reads the body of a request
   * wrongly and for ever. Closing makes the client send them again (RFC 9112, section 9.3.2). */
  const following_t followed = exchange->is_told ? following(hub, exchange) : NOT_FOLLOWED;
  if (followed == FOLLOWED) note_followed(hub, exchange);
  if (hub->drain.is_on || followed != NOT_FOLLOWED) exchange->closes = true;
  put_status(&exchange->out, status);
  put_sharing(&exchange->out, hub, exchange);
  put_rest(&exchange->out, status, headers, body, exchange->closes, exchange->is_head);
  relay__share_count(hub, exchange);
  want_to_write(exchange);
}

static void refuse(relay_hub_t *hub, relay_exchange_t *exchange, int status, const char *code,
                   const char *detail) {
  char json[256];
  relay__count_error(hub, code);
  relay__log_refusal(hub, exchange->wsi, status, detail);
  answer(hub, exchange, status, problem_headers, problem(json, sizeof json, status, code, detail));
}

static void refuse_busy(relay_hub_t *hub, relay_exchange_t *exchange, relay__busy_t busy) {
  static const char headers[] = "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n"
                                "Retry-After: 1\r\n";
  const bool is_user = busy == RELAY__BUSY_USER;
  const char *code = is_user ? "rate_limited" : "unavailable";
  const char *detail = is_user ? "too many requests under way or answers unread, of this user or address"
                               : "too many answers are unread";
  const int status = relay__busy_status(busy);
  char json[256];
  relay__count_error(hub, code);
  relay__log_refusal(hub, exchange->wsi, status, detail);
  answer(hub, exchange, status, headers, problem(json, sizeof json, status, code, detail));
}

/* Copies a text behind the others; its place is an offset until all are there. */
static relay_bytes_t keep(relay_exchange_t *exchange, relay_bytes_t bytes) {
  if (!bytes.at) return bytes;
  const size_t offset = exchange->fields.size + 1; /* 0 stays "absent" */
  relay__put(&exchange->fields, bytes.at, bytes.count);
  relay__put(&exchange->fields, "", 1);
  return (relay_bytes_t){(const void *)(uintptr_t)offset, bytes.count};
}

static void place(const relay_exchange_t *exchange, relay_bytes_t *bytes) {
  if (bytes->at) bytes->at = exchange->fields.at + (uintptr_t)bytes->at - 1;
}

static void tell(relay_hub_t *hub, relay_exchange_t *exchange) {
  exchange->is_told = true;
  rest(exchange);
  relay__timer_set(hub, &exchange->timer, RELAY__TIMER_EXCHANGE, hub->clock + CHECK_INTERVAL_MS);
  exchange->http.body = (relay_bytes_t){exchange->body.at, exchange->body.size};
  relay_event_t *event = relay__event(hub, RELAY_EVENT_HTTP, NULL);
  event->exchange = exchange->id;
  event->http = &exchange->http;
}

/* -1 when it is there and not all digits. */
static int64_t content_length(struct lws *wsi) {
  char digits[24];
  if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0) return 0;
  if (!header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, digits, 16).at) return -1;
  int64_t length = 0;
  for (const char *at = digits; *at; at++) {
    if (*at < '0' || *at > '9') return -1;
    length = length * 10 + *at - '0';
  }
  return length;
}

static void read_fields(relay_exchange_t *exchange, struct lws *wsi, int method, const char *path,
                        size_t size) {
  char text[LONGEST_HEADER + 1];
  relay_http_t *http = &exchange->http;
  const char *name = method >= 0 && method < (int)LWS_ARRAY_SIZE(methods) ? methods[method] : NULL;
  if (!name) name = "?";
  http->method = keep(exchange, (relay_bytes_t){name, strlen(name)});
  char *whole = relay__copy_string(path, size);
  /* The library decodes a plus like a form does, so that it cannot be told from a space, which no name has.
   */
  for (size_t i = 0; i < size; i++)
    if (whole[i] == ' ') whole[i] = '+';
  http->path = keep(exchange, (relay_bytes_t){whole, size});
  free(whole);
  relay__text_t query = {0};
  int length;
  for (int i = 0; (length = lws_hdr_copy_fragment(wsi, text, sizeof text, WSI_TOKEN_HTTP_URI_ARGS, i)) >= 0;
       i++) {
    if (!length) continue;
    if (query.size) relay__put(&query, "", 1); /* decoded, so a NUL is what cannot be part of one */
    relay__put(&query, text, (size_t)length);
  }
  http->query = keep(exchange, (relay_bytes_t){query.at, query.size});
  free(query.at);
  http->authorization = keep(exchange, header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, text, sizeof text));
  http->if_none_match = keep(exchange, header(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH, text, sizeof text));
  http->if_match = keep(exchange, header(wsi, WSI_TOKEN_HTTP_IF_MATCH, text, sizeof text));
  http->user = keep(exchange, custom_header(wsi, "x-stillwire-user:", text, sizeof text));
  http->idempotency_key = keep(exchange, custom_header(wsi, "idempotency-key:", text, sizeof text));
  http->content_type = keep(exchange, header(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, text, sizeof text));
  http->accept_encoding = keep(exchange, header(wsi, WSI_TOKEN_HTTP_ACCEPT_ENCODING, text, sizeof text));
  relay_bytes_t *const all[] = {&http->method,          &http->path,          &http->query,
                                &http->authorization,   &http->if_none_match, &http->user,
                                &http->idempotency_key, &http->content_type,  &http->if_match,
                                &http->accept_encoding};
  for (size_t i = 0; i < LWS_ARRAY_SIZE(all); i++) place(exchange, all[i]);
}

int relay__http_request(relay_hub_t *hub, struct lws *wsi, relay_exchange_t **at, const char *path,
                        size_t size) {
  relay__http_closed(hub, at);
  relay_exchange_t *exchange = relay__allocate(sizeof *exchange);
  *at = exchange;
  exchange->wsi = wsi;
  exchange->id = relay__slots_add(&hub->exchanges, exchange);
  char *uri;
  int uri_size;
  const int method = lws_http_get_uri_and_method(wsi, &uri, &uri_size);
  exchange->is_head = method == LWSHUMETH_HEAD;
  exchange->length = content_length(wsi);
  const bool has_length = lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0;
  /* Without a length there is no body (RFC 9112, section 6.3). libwebsockets 4.1.6 expects one of 100 MB
   * after these methods and never reads the next request, so this one is the connection's last. */
  exchange->lacks_length =
      !has_length && (method == LWSHUMETH_POST || method == LWSHUMETH_PUT || method == LWSHUMETH_PATCH);
  const char *malformed = relay__head_fault(wsi);
  const char *wrong = refusal(hub, wsi);
  const bool is_session_get = method == LWSHUMETH_GET && is_session_path(hub, uri, (size_t)uri_size);
  if (!malformed) exchange->origin = reading_origin(hub, wsi, wrong, is_session_get);
  lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0); /* the library's content timeout; ours is the exchange's */
  exchange->closes = true;
  relay__busy_t busy = RELAY__NOT_BUSY;
  if (malformed)
    refuse(hub, exchange, 400, "bad_request", malformed);
  else if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0)
    refuse(hub, exchange, 411, "bad_request", "Transfer-Encoding is not understood: send Content-Length");
  else if (exchange->length < 0)
    refuse(hub, exchange, 400, "bad_request", "Content-Length must be digits");
  else if (!relay__client_admit(hub, wsi, &exchange->client))
    refuse(hub, exchange, 429, "rate_limited", "too many connections from this address");
  else if (wrong)
    refuse(hub, exchange, 403, "forbidden", wrong);
  else if (exchange->length > hub->limits.frame)
    refuse(hub, exchange, 413, "too_large", "the body is over the limit `frame`");
  else if ((busy = relay__share_begin(hub, exchange)))
    refuse_busy(hub, exchange, busy);
  else
    exchange->closes = exchange->lacks_length;
  if (exchange->is_answered) return 0;
  read_fields(exchange, wsi, method, path, size);
  if (exchange->length) {
    relay__timer_set(hub, &exchange->timer, RELAY__TIMER_EXCHANGE, hub->clock + BODY_DEADLINE);
    return 0;
  }
  tell(hub, exchange);
  return 0;
}

int relay__http_body(relay_hub_t *hub, relay_exchange_t *exchange, const void *at, size_t size) {
  if (!exchange || exchange->is_told || exchange->is_answered || !size) return 0;
  if (exchange->body.size + size > (size_t)exchange->length) return -1;
  relay__put(&exchange->body, at, size);
  relay__share_count(hub, exchange);
  const relay__busy_t busy =
      exchange->body.size > SMALL ? relay__share_allows(hub, exchange, exchange->body.size) : RELAY__NOT_BUSY;
  if (busy) {
    exchange->closes = true; /* the rest of the body is not read */
    refuse_busy(hub, exchange, busy);
  }
  return 0;
}

int relay__http_body_complete(relay_hub_t *hub, relay_exchange_t *exchange) {
  if (exchange && !exchange->is_told && !exchange->is_answered) tell(hub, exchange);
  return 0;
}

/* The library looks at its timeouts only when something happens; a dead socket is something. */
static void cut(relay_exchange_t *exchange) {
  exchange->is_cut = true;
  shutdown(lws_get_socket_fd(exchange->wsi), SHUT_RDWR);
  want_to_write(exchange);
}

/* The library does not read while it answers, so whether the client has closed is looked up here. Who only
 * waits for an answer may have closed its side. */
static void look_after(relay_hub_t *hub, relay_exchange_t *exchange) {
  struct pollfd end = {.fd = lws_get_socket_fd(exchange->wsi), .events = exchange->is_stream ? POLLRDHUP : 0};
  const bool has_ended = poll(&end, 1, 0) > 0;
  if (exchange->out_sent == exchange->out.size && !lws_partial_buffered(exchange->wsi))
    exchange->progress = hub->clock;
  /* With unread bytes in its buffer, the library asks to write again and again, and never reads them. */
  const bool spins = exchange->is_stream && following(hub, exchange) == FOLLOWED;
  if (exchange->is_stream && exchange->out_sent == exchange->out.size) rest(exchange);
  if (has_ended || spins || hub->clock >= exchange->progress + WRITE_DEADLINE) {
    cut(exchange);
    return;
  }
  if (exchange->is_stream && hub->clock >= exchange->comment_at) {
    exchange->comment_at = hub->clock + COMMENT;
    relay_http_stream_write(hub, exchange->id, (relay_bytes_t){":\n\n", 3});
  }
  relay__timer_set(hub, &exchange->timer, RELAY__TIMER_EXCHANGE, hub->clock + CHECK_INTERVAL_MS);
}

void relay__http_timer(relay_hub_t *hub, relay_exchange_t *exchange) {
  if (exchange->is_told || exchange->is_answered) {
    look_after(hub, exchange);
    return;
  }
  exchange->closes = true;
  refuse(hub, exchange, 408, "bad_request", "the body did not come within 10 s");
}

/* Whether nothing more will come; answers may still go. */
static bool has_closed_side(const relay_exchange_t *exchange) {
  struct pollfd side = {.fd = lws_get_socket_fd(exchange->wsi), .events = POLLRDHUP};
  return poll(&side, 1, 0) > 0;
}

/* Until the socket is full. false: it is broken. */
static bool write_out(const relay_hub_t *hub, relay_exchange_t *exchange) {
  const relay__text_t *out = &exchange->out;
  while (exchange->out_sent < out->size && !lws_partial_buffered(exchange->wsi)) {
    size_t size = out->size - exchange->out_sent;
    if (size > RELAY__WRITE) size = RELAY__WRITE;
    if (lws_write(exchange->wsi, (unsigned char *)out->at + exchange->out_sent, size, LWS_WRITE_HTTP) < 0)
      return false;
    exchange->out_sent += size;
    exchange->progress = hub->clock;
  }
  return true;
}

int relay__http_writable(relay_hub_t *hub, relay_exchange_t **at) {
  relay_exchange_t *exchange = *at;
  if (!exchange) return 0;
  if (exchange->is_cut || !write_out(hub, exchange)) return -1;
  if (lws_partial_buffered(exchange->wsi)) { /* the library has a part of it */
    lws_callback_on_writable(exchange->wsi);
    return 0;
  }
  exchange->out.size = exchange->out_sent = 0;
  relay__share_count(hub, exchange);
  if (exchange->is_stream) rest(exchange);
  if (!exchange->is_answered || exchange->is_stream) return 0;
  /* Something may have come since the answer was begun. */
  const bool closes = exchange->closes || following(hub, exchange) != NOT_FOLLOWED;
  struct lws *wsi = exchange->wsi;
  relay__http_closed(hub, at);
  return closes || lws_http_transaction_completed(wsi) ? -1 : 0;
}

void relay__http_closed(relay_hub_t *hub, relay_exchange_t **at) {
  relay_exchange_t *exchange = *at;
  if (!exchange) return;
  *at = NULL;
  if (exchange->is_stream) relay__event(hub, RELAY_EVENT_HTTP_CLOSED, NULL)->exchange = exchange->id;
  relay__timer_clear(hub, &exchange->timer);
  forget_followed(hub, exchange);
  relay__share_end(hub, exchange);
  relay__slots_remove(&hub->exchanges, exchange->id);
  relay__drain_ended(hub, &hub->exchanges);
  relay__client_release(hub, exchange->client);
  free(exchange->body.at);
  free(exchange->out.at);
  free(exchange->fields.at);
  free(exchange->origin);
  free(exchange);
}

/* The functions of relay.h */

/* A change was made when its answer comes, so this answer is sent even when a bound is reached. */
static bool changes_nothing(const relay_exchange_t *exchange) {
  return exchange->http.method.at && !strcmp(exchange->http.method.at, "GET");
}

int relay_http_respond(relay_hub_t *hub, relay_id_t id, int status, const char *headers, relay_bytes_t body) {
  relay_exchange_t *exchange = relay__slots_find(&hub->exchanges, id);
  if (!exchange) return status;
  /* After a body the library reads before it lets us write, and closes when it reads an end: who has only
   * closed its side is written to here and now. Others are not, as they would go on before the library knows
   * that this request is done. */
  const bool is_half_closed =
      exchange->is_told && (exchange->length || exchange->lacks_length) && has_closed_side(exchange);
  if (is_half_closed) exchange->closes = true;
  const relay__busy_t busy = body.count > SMALL && changes_nothing(exchange)
                                 ? relay__share_allows(hub, exchange, body.count)
                                 : RELAY__NOT_BUSY;
  if (busy)
    refuse_busy(hub, exchange, busy);
  else
    answer(hub, exchange, status, headers, body);
  if (is_half_closed) write_out(hub, exchange);
  return busy ? relay__busy_status(busy) : status;
}

void relay_http_stream(relay_hub_t *hub, relay_id_t id, const char *headers) {
  relay_exchange_t *exchange = relay__slots_find(&hub->exchanges, id);
  if (!exchange || exchange->is_answered) return;
  if (following(hub, exchange) == FOLLOWED) {
    refuse(hub, exchange, 400, "bad_request", "nothing can follow the request of a stream");
    return;
  }
  exchange->is_answered = exchange->is_stream = true;
  relay__count_response(hub, 200);
  put_status(&exchange->out, 200);
  put_sharing(&exchange->out, hub, exchange);
  relay__puts(&exchange->out, headers);
  relay__puts(&exchange->out, "Connection: close\r\n\r\n");
  exchange->progress = hub->clock;
  exchange->comment_at = hub->clock + COMMENT;
  relay__timer_set(hub, &exchange->timer, RELAY__TIMER_EXCHANGE, hub->clock + CHECK_INTERVAL_MS);
  want_to_write(exchange);
}

bool relay_http_stream_write(relay_hub_t *hub, relay_id_t id, relay_bytes_t bytes) {
  relay_exchange_t *exchange = relay__slots_find(&hub->exchanges, id);
  if (!exchange || !exchange->is_stream) return false;
  const size_t unsent = exchange->out.size - exchange->out_sent + bytes.count;
  if (unsent > STREAM_BOUND || (unsent > SMALL && relay__share_allows(hub, exchange, unsent))) {
    cut(exchange);
    return false;
  }
  if (exchange->out_sent > STREAM_BOUND) { /* what is out already would stay until all is */
    exchange->out.size -= exchange->out_sent;
    memmove(exchange->out.at, exchange->out.at + exchange->out_sent, exchange->out.size);
    exchange->out_sent = 0;
  }
  relay__put(&exchange->out, bytes.at, bytes.count);
  relay__share_count(hub, exchange);
  want_to_write(exchange);
  return true;
}

void relay_http_stream_end(relay_hub_t *hub, relay_id_t id) {
  relay_exchange_t *exchange = relay__slots_find(&hub->exchanges, id);
  if (exchange && exchange->is_stream) cut(exchange);
}
