// SPDX-License-Identifier: Apache-2.0
/* One HTTP connection (RFC 9112): reads requests one after another, and answers them in their order.
 *
 * fill() reads bytes, and relay__connection_write() writes them. While a request waits for its answer, the
 * connection reads nothing, so a client that pipelines has to wait. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "edge.h"

enum { /* milliseconds, and bytes */
       HEAD_DEADLINE = 10000,
       BODY_DEADLINE = 10000,
       WRITE_DEADLINE = 30000, /* without a successful write */
       LINGER_DEADLINE = 2000,
       LINGER_BOUND = 16 << 20,
       READ_SIZE = 16384,
       KEPT_OUT = 16384, /* bytes of buffer that a connection keeps between two writes */
};

static void ready(uv_poll_t *poll, int status, int events);
static void resume(relay__connection_t *connection);

static void poll_for(relay__connection_t *connection, int events) {
  if (connection->polled == events) return;
  connection->polled = (uint8_t)events;
  if (events)
    uv_poll_start(&connection->poll, events, ready);
  else
    uv_poll_stop(&connection->poll);
}

static void set_deadline(relay__connection_t *connection, int64_t delay) {
  relay_hub_t *hub = connection->hub;
  relay__timer_set(hub, &connection->timer, RELAY__TIMER_CONNECTION, hub->clock.loop + delay);
}

static void free_connection(uv_handle_t *handle) {
  free(handle->data);
}

void relay__connection_begin(relay_hub_t *hub, int socket, const relay__address_t *peer,
                             relay__client_t *client, bool is_proxied) {
  relay__connection_t *connection = relay__allocate(sizeof *connection);
  connection->hub = hub;
  connection->socket = socket;
  connection->peer = *peer;
  connection->client = client;
  connection->is_proxied = is_proxied;
  if (uv_poll_init(&hub->loop.uv, &connection->poll, socket)) { /* the kernel cannot poll one more socket */
    relay__connection_ended(hub, client);
    close(socket);
    free(connection);
    return;
  }
  connection->next = hub->edge->http;
  if (hub->edge->http) hub->edge->http->previous = connection;
  hub->edge->http = connection;
  relay__head_begin(&connection->head);
  connection->poll.data = connection;
  poll_for(connection, UV_READABLE);
  set_deadline(connection, HEAD_DEADLINE);
}

/* Frees the connection, but does not close its socket and does not change the count of its address. */
static void dismantle(relay__connection_t *connection) {
  relay_hub_t *hub = connection->hub;
  connection->state = RELAY__CLOSED;
  poll_for(connection, 0);
  relay__timer_clear(hub, &connection->timer);
  if (connection->exchange) relay__exchange_end(connection->exchange);
  if (connection->previous)
    connection->previous->next = connection->next;
  else
    hub->edge->http = connection->next;
  if (connection->next) connection->next->previous = connection->previous;
  relay__head_end(&connection->head);
  free(connection->rest.at);
  connection->rest = (relay__text_t){0};
  uv_close((uv_handle_t *)&connection->poll, free_connection);
}

void relay__connection_cut(relay__connection_t *connection) {
  if (connection->state == RELAY__CLOSED) return;
  const int socket = connection->socket;
  relay__note_churn(connection->hub);
  relay__connection_ended(connection->hub, connection->client);
  dismantle(connection);
  close(socket);
}

bool relay__connection_is_followed(const relay__connection_t *connection) {
  return connection->rest.size > connection->rest_used;
}

/* Closes the relay's side, and discards further bytes of the client, for at most 2 s and 16 MiB. A close with
 * unread bytes would reset the connection, and the client could lose the answer. */
static void linger(relay__connection_t *connection) {
  connection->state = RELAY__LINGERS;
  free(connection->rest.at);
  connection->rest = (relay__text_t){0};
  shutdown(connection->socket, SHUT_WR);
  poll_for(connection, UV_READABLE);
  set_deadline(connection, LINGER_DEADLINE);
}

static void end_answer(relay__connection_t *connection) {
  const bool closes = connection->exchange->closes;
  relay__exchange_end(connection->exchange);
  relay__head_end(&connection->head);
  if (closes) {
    linger(connection);
    return;
  }
  relay__head_begin(&connection->head);
  memset(&connection->chunks, 0, sizeof connection->chunks);
  connection->state = RELAY__READS_HEAD;
  poll_for(connection, UV_READABLE);
  set_deadline(connection, connection->hub->limits.idle_timeout);
  resume(connection);
}

/* Sets the timer of an exchange with a whole request. */
static void arm_exchange(relay__connection_t *connection) {
  relay_exchange_t *exchange = connection->exchange;
  const int64_t deadline =
      exchange->out.size > exchange->out_sent ? exchange->progress + WRITE_DEADLINE : INT64_MAX;
  int64_t due = exchange->is_stream && exchange->comment_at < deadline ? exchange->comment_at : deadline;
  if (due == INT64_MAX)
    relay__timer_clear(connection->hub, &connection->timer);
  else
    relay__timer_set(connection->hub, &connection->timer, RELAY__TIMER_CONNECTION, due);
}

/* Polls for a writable socket. */
static void wait_to_write(relay__connection_t *connection) {
  const bool is_stream = connection->exchange->is_stream;
  const bool reads = connection->state == RELAY__READS_BODY;
  poll_for(connection, UV_WRITABLE | (is_stream ? UV_DISCONNECT : 0) | (reads ? UV_READABLE : 0));
  if (!reads) arm_exchange(connection);
}

/* Called when the exchange has new bytes, and when the socket is writable again. After the last byte, a
 * stream waits for more bytes, a final answer ends the exchange, and 100 (Continue) lets the client send its
 * body. It may free the exchange or the connection. */
void relay__connection_write(relay__connection_t *connection) {
  relay_exchange_t *exchange = connection->exchange;
  if (exchange->is_answered) connection->state = exchange->is_stream ? RELAY__STREAMS : RELAY__WAITS;
  while (exchange->out_sent < exchange->out.size) {
    const ssize_t sent = send(connection->socket, exchange->out.at + exchange->out_sent,
                              exchange->out.size - exchange->out_sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      wait_to_write(connection);
      return;
    }
    if (sent < 0) {
      relay__connection_cut(connection);
      return;
    }
    exchange->out_sent += (size_t)sent;
    exchange->progress = connection->hub->clock.loop;
  }
  exchange->out.size = exchange->out_sent = 0;
  if (exchange->out.capacity > KEPT_OUT) {
    free(exchange->out.at);
    exchange->out = (relay__text_t){0};
  }
  relay__share_count(connection->hub, exchange);
  if (exchange->is_stream && !exchange->closes) {
    poll_for(connection, UV_DISCONNECT);
    arm_exchange(connection);
  } else if (exchange->is_answered) {
    end_answer(connection);
  } else {
    poll_for(connection, UV_READABLE); /* 100 (Continue) is written, so the body follows */
  }
}

/* Hands over a whole request. Nothing more is read until it is answered. */
static void hand_over(relay__connection_t *connection) {
  connection->state = RELAY__WAITS;
  relay__timer_clear(connection->hub, &connection->timer);
  relay__share_count(connection->hub, connection->exchange);
  relay__exchange_deliver(connection->exchange);
}

static void begin_request(relay__connection_t *connection) {
  connection->state = RELAY__WAITS;
  relay_exchange_t *exchange = relay__exchange_begin(connection);
  const relay__head_t *head = &connection->head;
  if (connection->state != RELAY__WAITS || exchange->is_answered) return;
  if (head->upgrades && !connection->hub->config.is_standby) {
    connection->state = RELAY__UPGRADES;
  } else if (head->is_chunked || head->length) {
    connection->state = RELAY__READS_BODY;
    set_deadline(connection, BODY_DEADLINE);
  } else {
    hand_over(connection);
  }
}

static size_t read_head(relay__connection_t *connection, const char *at, size_t size) {
  if (!connection->head.read) set_deadline(connection, HEAD_DEADLINE);
  size_t used;
  const relay__head_result_t result = relay__head_read(&connection->head, at, size, &used);
  if (result != RELAY__HEAD_MORE) begin_request(connection);
  return used;
}

static size_t read_body(relay__connection_t *connection, const char *at, size_t size) {
  relay_exchange_t *exchange = connection->exchange;
  const relay_hub_t *hub = connection->hub;
  relay__chunks_result_t result = RELAY__CHUNKS_MORE;
  size_t used;
  if (connection->head.is_chunked) {
    result = relay__chunks_read(&connection->chunks, at, size, &used, &exchange->body, hub->limits.frame);
  } else {
    const size_t missing = (size_t)connection->head.length - exchange->body.size;
    used = size < missing ? size : missing;
    relay__put(&exchange->body, at, used);
    if (used == missing) result = RELAY__CHUNKS_WHOLE;
  }
  if (result == RELAY__CHUNKS_BAD || result == RELAY__CHUNKS_TOO_LARGE) {
    exchange->closes = true;
    relay__exchange_refuse(
        exchange,
        result == RELAY__CHUNKS_BAD
            ? (relay__refusal_t){400, "bad_request", "the chunks of the body are malformed"}
            : (relay__refusal_t){413, "too_large", "the body is longer than the limit `limits.frame`"});
    return size;
  }
  relay__exchange_grown(exchange);
  if (connection->state == RELAY__READS_BODY && result == RELAY__CHUNKS_WHOLE) hand_over(connection);
  return used;
}

/* Hands the socket over to a session, and ends the HTTP connection. `behind` has the bytes behind the
 * handshake. */
static void give_to_session(relay__connection_t *connection, const char *behind, size_t size) {
  relay_hub_t *hub = connection->hub;
  relay__head_t head = connection->head;  /* kept for relay__websocket_adopt() */
  char *const rest = connection->rest.at; /* kept too, because `behind` may point into it */
  const relay__upgrade_t upgrade = {
      .socket = connection->socket,
      .key = relay__head_field(&head, "sec-websocket-key"),
      .has_subprotocol = relay__head_field(&head, "sec-websocket-protocol").count > 0,
      .authorization = relay__head_field(&head, "authorization"),
      .behind = {behind, size},
      .address = connection->address,
      .connection_client = connection->client,
      .session_client = connection->exchange->client,
  };
  connection->exchange->client = NULL;
  memset(&connection->head, 0, sizeof connection->head);
  connection->rest.at = NULL;
  dismantle(connection);
  relay__websocket_adopt(hub, &upgrade);
  relay__head_end(&head);
  free(rest);
}

/* Parses bytes until a request is whole. Returns the number of bytes that it used. */
static size_t consume(relay__connection_t *connection, const char *at, size_t size) {
  size_t used = 0;
  while (used < size) {
    if (connection->state == RELAY__READS_HEAD)
      used += read_head(connection, at + used, size - used);
    else if (connection->state == RELAY__READS_BODY)
      used += read_body(connection, at + used, size - used);
    else
      break;
  }
  const bool waits_for_100 = connection->state == RELAY__READS_BODY && connection->head.expects_continue;
  if (waits_for_100 && !connection->exchange->body.size) {
    connection->head.expects_continue = false;
    relay__exchange_continue(connection->exchange);
  }
  return used;
}

/* Parses the bytes behind the request that was just answered. */
static void resume(relay__connection_t *connection) {
  relay__text_t *rest = &connection->rest;
  if (!rest->size) return;
  connection->rest_used +=
      consume(connection, rest->at + connection->rest_used, rest->size - connection->rest_used);
  if (connection->state == RELAY__UPGRADES)
    give_to_session(connection, rest->at + connection->rest_used, rest->size - connection->rest_used);
  if (connection->state == RELAY__CLOSED) return;
  if (connection->rest_used < rest->size) return;
  free(rest->at);
  *rest = (relay__text_t){0};
  connection->rest_used = 0;
}

/* Reads from the socket, and parses the bytes. */
static void fill(relay__connection_t *connection) {
  char bytes[READ_SIZE];
  const ssize_t size = recv(connection->socket, bytes, sizeof bytes, 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (size <= 0) {
    relay__connection_cut(connection);
    return;
  }
  if (connection->state == RELAY__LINGERS) {
    connection->discarded += (size_t)size;
    if (connection->discarded > LINGER_BOUND) relay__connection_cut(connection);
    return;
  }
  const size_t used = consume(connection, bytes, (size_t)size);
  if (connection->state == RELAY__UPGRADES) give_to_session(connection, bytes + used, (size_t)size - used);
  if (used == (size_t)size || connection->state == RELAY__CLOSED || connection->state == RELAY__LINGERS)
    return;
  relay__put(&connection->rest, bytes + used, (size_t)size - used);
  if (connection->exchange) relay__share_count(connection->hub, connection->exchange);
}

/* True if no answer can reach the client. A client that has only closed its own side still waits for one. */
static bool has_left(const relay__connection_t *connection) {
  struct pollfd end = {.fd = connection->socket};
  return poll(&end, 1, 0) > 0;
}

/* Handles an event of a connection that waits for its answer. It reads nothing, and polls only for the end of
 * the client: first for the end of the client's side (UV_DISCONNECT). After that event, which libuv would
 * report repeatedly, it polls for an error or the end of both sides. libuv reports these two in any
 * poll, and UV_PRIORITIZED is a poll that normally reports nothing else. */
static void note_end(relay__connection_t *connection, int events) {
  if (has_left(connection))
    relay__connection_cut(connection);
  else if (events & UV_PRIORITIZED) /* urgent data, which the relay ignores */
    poll_for(connection, 0);
  else if (!(events & UV_READABLE))
    poll_for(connection, UV_PRIORITIZED);
  else
    poll_for(connection, UV_DISCONNECT);
}

static void ready(uv_poll_t *poll, int status, int events) {
  relay__connection_t *connection = poll->data;
  relay__clock_read(connection->hub);
  if (status < 0) {
    relay__connection_cut(connection);
    return;
  }
  if (events & UV_WRITABLE) {
    relay__connection_write(connection);
    return;
  }
  switch ((relay__connection_state_t)connection->state) {
  case RELAY__READS_HEAD:
  case RELAY__READS_BODY:
  case RELAY__LINGERS:
    fill(connection);
    return;
  case RELAY__WAITS:
    note_end(connection, events);
    return;
  case RELAY__STREAMS:
    if (events & UV_DISCONNECT) relay__connection_cut(connection);
    return;
  case RELAY__UPGRADES:
  case RELAY__CLOSED:
    return;
  }
}

static void refuse_late(relay__connection_t *connection, const char *detail) {
  relay_exchange_t *exchange = connection->exchange;
  const relay__refusal_t refusal = {408, "bad_request", detail};
  if (!exchange) {
    connection->head.refusal = refusal;
    connection->state = RELAY__WAITS;
    relay__exchange_begin(connection);
    return;
  }
  exchange->closes = true;
  relay__exchange_refuse(exchange, refusal);
}

void relay__connection_timer(relay__connection_t *connection) {
  const relay_hub_t *hub = connection->hub;
  relay_exchange_t *exchange = connection->exchange;
  switch ((relay__connection_state_t)connection->state) {
  case RELAY__READS_HEAD:
    if (connection->head.read)
      refuse_late(connection, "the head of the request was not received within 10 s");
    else
      relay__connection_cut(connection);
    return;
  case RELAY__READS_BODY:
    refuse_late(connection, "the body was not received within 10 s");
    return;
  case RELAY__WAITS:
  case RELAY__STREAMS:
    if (exchange->out.size > exchange->out_sent && hub->clock.loop >= exchange->progress + WRITE_DEADLINE)
      relay__connection_cut(connection);
    else if (exchange->is_stream)
      relay__exchange_comment(exchange);
    if (connection->state != RELAY__CLOSED && !connection->timer.index) arm_exchange(connection);
    return;
  case RELAY__LINGERS:
    relay__connection_cut(connection);
    return;
  case RELAY__UPGRADES:
  case RELAY__CLOSED:
    return;
  }
}
