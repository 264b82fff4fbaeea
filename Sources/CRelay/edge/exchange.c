// SPDX-License-Identifier: Apache-2.0
/* One HTTP request and its answer (an exchange): its checks, its event, its answer or stream, and its end. */
#include <stdio.h>
#include <stdlib.h>

#include "edge.h"

enum {
  COMMENT = 15000,       /* ms between two comments of a stream */
  STREAM_BOUND = 262144, /* unsent bytes of a stream */
  SMALL = 4096,          /* bytes of a body or answer that are allowed even if a bound is reached */
};

static const char problem_headers[] = "Content-Type: application/problem+json\r\nCache-Control: no-store\r\n";

static void answer(relay_exchange_t *exchange, int status, const char *headers, relay_bytes_t body) {
  if (exchange->is_answered) return;
  relay__connection_t *connection = exchange->connection;
  relay_hub_t *hub = connection->hub;
  exchange->is_answered = true;
  relay__count_response(hub, status);
  exchange->progress = hub->clock.loop;
  if (hub->drain.is_on || !connection->head.keeps_alive) exchange->closes = true;
  const relay__answer_t whole = {
      .status = status,
      .headers = headers,
      .body = body,
      .is_head = relay__head_is(&connection->head, "HEAD"),
      .is_old = connection->head.is_old,
      .closes = exchange->closes,
  };
  relay__put_status(&exchange->out, hub, status);
  relay__put_sharing(&exchange->out, hub, exchange->origin);
  relay__put_answer(&exchange->out, &whole);
  relay__share_count(hub, exchange);
  relay__connection_write(connection);
}

/* Adds the headers that the status needs. */
static const char *refusal_headers(const relay_hub_t *hub, int status, char *at, size_t capacity) {
  const char *more = "";
  char retry[48] = "";
  if (status == 429) more = "Retry-After: 1\r\n";
  if (status == 426) /* RFC 9110, section 7.8, and RFC 6455, section 4.4 */
    more = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
  if (status == 503)
    snprintf(retry, sizeof retry, "Retry-After: %d\r\n", 1 + (int)relay__drain_retry_after(hub));
  snprintf(at, capacity, "%s%s%s", problem_headers, more, retry);
  return at;
}

void relay__exchange_refuse(relay_exchange_t *exchange, relay__refusal_t refusal) {
  relay_hub_t *hub = exchange->connection->hub;
  char json[320], headers[192];
  relay__count_error(hub, refusal.code);
  relay__log_refusal(hub, exchange->connection, refusal);
  answer(exchange, refusal.status, refusal_headers(hub, refusal.status, headers, sizeof headers),
         relay__problem(json, sizeof json, refusal));
}

static void refuse_busy(relay_exchange_t *exchange, relay__busy_t busy) {
  const bool is_user = busy == RELAY__BUSY_USER;
  relay__exchange_refuse(
      exchange,
      (relay__refusal_t){relay__busy_status(busy), is_user ? "rate_limited" : "unavailable",
                         is_user ? "too many requests in progress or unread answers of this user or address"
                                 : "too many answers are unread"});
}

/* Answers a request without the callbacks, because the hub is held or has ended its service. */
static void answer_held(relay_exchange_t *exchange) {
  static const char live[] = "{\"status\":\"live\"}";
  const relay__head_t *head = &exchange->connection->head;
  const bool is_live = head->path.count == 5 && !memcmp(head->path.at, "/live", 5);
  exchange->closes = true;
  if (is_live && !head->upgrades)
    answer(exchange, 200, "Content-Type: application/json\r\nCache-Control: no-store\r\n",
           (relay_bytes_t){live, sizeof live - 1});
  else
    relay__exchange_refuse(
        exchange, (relay__refusal_t){503, "unavailable", "the node waits for a proof that it leads"});
}

/* True if the client may get an answer from the callbacks now. Otherwise the connection is cut: the hub may
 * have been held since the answer was made. */
static bool may_answer(const relay_exchange_t *exchange) {
  const relay_service_t service = relay__service_read(exchange->connection->hub);
  if (service == RELAY_SERVES || (service == RELAY_HELD && exchange->is_answered_held)) return true;
  relay__connection_cut(exchange->connection);
  return false;
}

/* Returns the refusal of a request with a valid head; status 0: it is accepted. */
static relay__refusal_t check(relay_exchange_t *exchange, relay__refusal_t admission) {
  const relay__connection_t *connection = exchange->connection;
  const relay__head_t *head = &connection->head;
  if (!relay__client_admit(connection, &exchange->client))
    return (relay__refusal_t){429, "rate_limited", "too many connections from this address"};
  if (admission.status) return admission;
  if (head->upgrades) return relay__handshake_check(connection);
  if (head->length > connection->hub->limits.frame)
    return (relay__refusal_t){413, "too_large", "the body is longer than the limit `limits.frame`"};
  return (relay__refusal_t){0};
}

/* http.c calls this when a head is whole or refused. The first of these checks that fails is the answer: the
 * head itself, the limit of the client's address, Host and Origin, the handshake or the length of the body,
 * and the bounds of shares.c. A head with status 400 is not trusted, so its Origin is ignored. */
relay_exchange_t *relay__exchange_begin(relay__connection_t *connection) {
  relay_hub_t *hub = connection->hub;
  const relay__head_t *head = &connection->head;
  relay_exchange_t *exchange = relay__allocate(sizeof *exchange);
  connection->exchange = exchange;
  exchange->connection = connection;
  relay__connection_find_client(connection);
  exchange->id = relay__slots_add(&hub->edge->exchanges, exchange);
  exchange->progress = hub->clock.loop;
  relay__refusal_t refusal = head->refusal;
  if (head->is_whole && refusal.status != 400) {
    const relay__refusal_t admission = relay__admission_check(connection);
    exchange->origin = relay__reading_origin(connection, admission);
    if (!refusal.status) refusal = check(exchange, admission);
  }
  if (refusal.status) {
    exchange->closes = true;
    relay__exchange_refuse(exchange, refusal);
    return exchange;
  }
  exchange->is_answered_held =
      !head->upgrades && relay__is_listed(hub->config.held_paths, head->path.at, head->path.count);
  if (hub->service.state != RELAY_SERVES &&
      !(hub->service.state == RELAY_HELD && exchange->is_answered_held)) {
    answer_held(exchange);
    return exchange;
  }
  exchange->http = (relay_http_t){.method = {head->method, strlen(head->method)},
                                  .path = head->path,
                                  .query = head->query,
                                  .fields = head->fields,
                                  .field_count = head->field_count,
                                  .is_local = relay__address_is_loopback(&connection->address)};
  memcpy(exchange->http.address, connection->address.bytes, sizeof exchange->http.address);
  /* A handshake is finished at once, so it does not count as a request in progress. */
  const bool opens_session = head->upgrades && !hub->config.is_standby;
  if (head->upgrades) exchange->closes = true;
  const relay__busy_t busy = opens_session ? RELAY__NOT_BUSY : relay__share_begin(hub, exchange);
  if (busy) {
    exchange->closes = true;
    refuse_busy(exchange, busy);
  }
  return exchange;
}

void relay__exchange_grown(relay_exchange_t *exchange) {
  relay_hub_t *hub = exchange->connection->hub;
  relay__share_count(hub, exchange);
  if (exchange->body.size <= SMALL) return;
  const relay__busy_t busy = relay__share_allows(hub, exchange, exchange->body.size);
  if (!busy) return;
  exchange->closes = true; /* the rest of the body is not read */
  refuse_busy(exchange, busy);
}

void relay__exchange_deliver(relay_exchange_t *exchange) {
  exchange->is_delivered = true;
  exchange->http.body = (relay_bytes_t){exchange->body.at, exchange->body.size};
  relay_event_t *event = relay__event(exchange->connection->hub, RELAY_EVENT_HTTP, NULL);
  event->exchange = exchange->id;
  event->http = &exchange->http;
}

void relay__exchange_continue(relay_exchange_t *exchange) {
  relay__puts(&exchange->out, "HTTP/1.1 100 Continue\r\n\r\n");
  relay__connection_write(exchange->connection);
}

void relay__exchange_end(relay_exchange_t *exchange) {
  relay__connection_t *connection = exchange->connection;
  relay_hub_t *hub = connection->hub;
  connection->exchange = NULL;
  if (exchange->is_stream) relay__event(hub, RELAY_EVENT_HTTP_CLOSED, NULL)->exchange = exchange->id;
  relay__share_end(hub, exchange);
  relay__slots_remove(&hub->edge->exchanges, exchange->id);
  relay__drain_ended(hub, &hub->edge->exchanges);
  relay__client_release(hub, exchange->client);
  free(exchange->body.at);
  free(exchange->out.at);
  free(exchange->origin);
  free(exchange);
}

void relay__exchange_comment(relay_exchange_t *exchange) {
  relay_hub_t *hub = exchange->connection->hub;
  if (hub->clock.loop < exchange->comment_at) return;
  exchange->comment_at = hub->clock.loop + COMMENT;
  relay_http_stream_write(hub, exchange->id, (relay_bytes_t){":\n\n", 3});
}

/* The functions of relay.h */

static relay_exchange_t *find(const relay_hub_t *hub, relay_id_t id) {
  relay__expect_thread(hub);
  return relay__slots_find(&hub->edge->exchanges, id);
}

/* The answer to a request that may have changed something is sent even if a bound is reached. */
static bool changes_nothing(const relay_exchange_t *exchange) {
  return exchange->http.method.at && !strcmp(exchange->http.method.at, "GET");
}

int relay_http_respond(relay_hub_t *hub, relay_id_t id, int status, const char *headers, relay_bytes_t body) {
  relay_exchange_t *exchange = find(hub, id);
  if (!exchange || !may_answer(exchange)) return status;
  const relay__busy_t busy = body.count > SMALL && changes_nothing(exchange)
                                 ? relay__share_allows(hub, exchange, body.count)
                                 : RELAY__NOT_BUSY;
  if (busy)
    refuse_busy(exchange, busy);
  else
    answer(exchange, status, headers, body);
  return busy ? relay__busy_status(busy) : status;
}

void relay_http_stream(relay_hub_t *hub, relay_id_t id, const char *headers) {
  relay_exchange_t *exchange = find(hub, id);
  if (!exchange || exchange->is_answered || !may_answer(exchange)) return;
  if (relay__connection_is_followed(exchange->connection)) {
    exchange->closes = true;
    relay__exchange_refuse(
        exchange, (relay__refusal_t){400, "bad_request", "no bytes may follow the request of a stream"});
    return;
  }
  exchange->is_answered = exchange->is_stream = true;
  relay__count_response(hub, 200);
  relay__put_status(&exchange->out, hub, 200);
  relay__put_sharing(&exchange->out, hub, exchange->origin);
  relay__puts(&exchange->out, headers);
  relay__puts(&exchange->out, "Connection: close\r\n\r\n");
  exchange->progress = hub->clock.loop;
  exchange->comment_at = hub->clock.loop + COMMENT;
  relay__connection_write(exchange->connection);
}

bool relay_http_stream_write(relay_hub_t *hub, relay_id_t id, relay_bytes_t bytes) {
  relay_exchange_t *exchange = find(hub, id);
  if (!exchange || !exchange->is_stream || exchange->closes || !may_answer(exchange)) return false;
  const size_t unsent = exchange->out.size - exchange->out_sent + bytes.count;
  if (unsent > STREAM_BOUND || (unsent > SMALL && relay__share_allows(hub, exchange, unsent))) {
    relay__connection_cut(exchange->connection);
    return false;
  }
  if (exchange->out_sent > STREAM_BOUND) { /* free sent bytes, which otherwise stay until all are sent */
    exchange->out.size -= exchange->out_sent;
    memmove(exchange->out.at, exchange->out.at + exchange->out_sent, exchange->out.size);
    exchange->out_sent = 0;
  }
  relay__put(&exchange->out, bytes.at, bytes.count);
  relay__share_count(hub, exchange);
  /* If the socket is blocked, the connection writes when the socket is writable. */
  if (!(exchange->connection->polled & UV_WRITABLE)) relay__connection_write(exchange->connection);
  return find(hub, id);
}

size_t relay_http_stream_unsent(const relay_hub_t *hub, relay_id_t id) {
  const relay_exchange_t *exchange = find(hub, id);
  return exchange && exchange->is_stream ? exchange->out.size - exchange->out_sent : 0;
}

void relay_http_stream_finish(relay_hub_t *hub, relay_id_t id) {
  relay_exchange_t *exchange = find(hub, id);
  if (!exchange || !exchange->is_stream || exchange->closes) return;
  exchange->closes = true;
  if (!(exchange->connection->polled & UV_WRITABLE)) relay__connection_write(exchange->connection);
}

void relay_http_stream_end(relay_hub_t *hub, relay_id_t id) {
  relay_exchange_t *exchange = find(hub, id);
  if (exchange && exchange->is_stream) relay__connection_cut(exchange->connection);
}

char *relay_address_print(const uint8_t bytes[16], char text[RELAY_ADDRESS_TEXT]) {
  _Static_assert((int)RELAY_ADDRESS_TEXT == (int)RELAY__ADDRESS_TEXT, "the buffers have the same size");
  relay__address_t address;
  memcpy(address.bytes, bytes, sizeof address.bytes);
  return relay__address_print(address, text);
}
