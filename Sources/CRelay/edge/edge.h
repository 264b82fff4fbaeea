// SPDX-License-Identifier: Apache-2.0
/* edge.h -- the sockets of a hub: admission of connections, HTTP, and the handover of a connection to a
 * session. All functions run on the hub's thread.
 *
 *   edge.c         makes and ends the edge
 *   listener.c     accepts sockets, or refuses connections
 *   connections.c  counts the connections of each address, and finds the address behind a proxy
 *   address.c      addresses, networks and the field Host
 *   http.c         one HTTP connection: reads requests, writes answers, and hands over handshakes
 *   head.c         parses and checks the head of a request
 *   chunks.c       decodes a chunked body
 *   exchange.c     one request and its answer
 *   answer.c       the text of answers
 *   admission.c    the rules about Host, Origin and the handshake
 *   refusals.c     logs refusals
 *   shares.c       bounds requests in progress and their bytes
 *   pipe.c         a descriptor that libwebsockets closes twice
 *   websocket.c    sessions over libwebsockets */
#ifndef RELAY_EDGE_H
#define RELAY_EDGE_H

#include "../link.h"
#include "address.h"
#include "chunks.h"
#include "head.h"

typedef struct relay__connection relay__connection_t;
typedef struct relay_exchange relay_exchange_t;
typedef struct relay__websockets relay__websockets_t;

typedef struct relay__connections {
  uint32_t count;         /* HTTP connections and sessions */
  relay__names_t clients; /* counts by address; empty if `connections_per_address` is 0 */
  relay__network_t *trusted;
  uint32_t trusted_count, trusted_capacity;
} relay__connections_t;

/* The sockets of a hub. */
struct relay__edge {
  const relay__link_calls_t *calls;
  uv_poll_t listener;
  uv_timer_t accept_again;
  uv_timer_t quiet;          /* due when connections have not changed for a while */
  uint32_t churn;            /* begins and ends of connections since memory was returned last */
  int listener_fd, spare_fd; /* -1: there is none */
  uint16_t port;
  bool is_listening;
  int64_t starved; /* on the loop's clock: when the lack of descriptors was logged last; 0: never */
  relay__connections_t connections;
  relay__connection_t *http; /* the first of the HTTP connections */
  relay__slots_t exchanges;
  relay__names_t shares; /* relay__share_t, of the requests in progress */
  size_t exchange_bytes; /* bytes that these requests hold */
  size_t stranger_bytes; /* the part of these bytes that requests of unknown callers hold */
  relay__websockets_t *websockets;
  int kept_pipe; /* see relay__pipe_keep() */
};

/* connections.c */

/* The count of an address: its connections; behind a trusted proxy, its sessions and requests. */
struct relay__client {
  relay__named_t named; /* relay__address_client() */
  uint32_t count;
};

/* Raises the limit of open files as far as the process may, at most to 1,000,000, and returns it. */
unsigned relay__descriptors(void);
void relay__connections_open(relay__connections_t *connections, const relay_config_t *config);
void relay__connections_close(relay__connections_t *connections);
/* True if the address is a trusted proxy's. */
bool relay__connections_trust(const relay__connections_t *connections, const relay__address_t *address);
/* Counts one more connection or request for the address. Returns NULL if the limit is reached. */
relay__client_t *relay__client_retain(relay_hub_t *hub, relay__address_t address);
/* Counts the begin or end of a connection. After 1,000 of them, and then 1 s without another, the edge
 * returns free memory to the system. */
void relay__note_churn(relay_hub_t *hub);
/* An accepted connection has ended. `client` is the count that includes it, or NULL. */
void relay__connection_ended(relay_hub_t *hub, relay__client_t *client);
/* Sets `address` and `is_forwarded` from the head of the request. */
void relay__connection_find_client(relay__connection_t *connection);
/* Counts a request or a session behind a trusted proxy for its client. Sets `*client`, which the caller
 * releases with relay__client_release(), or NULL if nothing is counted. Returns false if the limit is
 * reached. */
bool relay__client_admit(const relay__connection_t *connection, relay__client_t **client);

/* refusals.c */

/* Logs a refusal, at a bounded rate. `connection` may be NULL. */
void relay__log_refusal(relay_hub_t *hub, const relay__connection_t *connection, relay__refusal_t refusal);

/* listener.c */

/* Begins HTTP on the socket of a new connection, or refuses the connection and closes the socket. */
void relay__connection_accepted(relay_hub_t *hub, int socket, const struct sockaddr *from);

/* http.c */

typedef enum relay__connection_state {
  RELAY__READS_HEAD,
  RELAY__READS_BODY,
  RELAY__UPGRADES, /* the handshake is whole and allowed */
  RELAY__WAITS,    /* for the answer, or until the answer is written */
  RELAY__STREAMS,
  RELAY__LINGERS, /* the answer is written: discards further bytes of the client, see linger() in http.c */
  RELAY__CLOSED,
} relay__connection_state_t;

struct relay__connection {
  relay_hub_t *hub;
  relay__connection_t *next, *previous; /* in the hub's list */
  uv_poll_t poll;
  relay__timer_t timer; /* of the state */
  int socket;
  uint8_t state, polled; /* relay__connection_state_t; events of libuv */
  bool is_proxied;       /* the peer is a trusted proxy */
  bool is_forwarded;     /* and its header has the address of the client */
  relay__address_t peer;
  relay__address_t address; /* of the client: `peer`, or the address in the header of the proxy */
  relay__client_t *client;  /* the count that includes the connection; NULL: it is not counted */
  relay__head_t head;       /* of the request that is being read or answered */
  relay__chunks_t chunks;
  relay__text_t rest; /* bytes behind that request */
  size_t rest_used;   /* bytes of `rest` that are parsed */
  size_t discarded;   /* bytes discarded in RELAY__LINGERS */
  relay_exchange_t *exchange;
};

/* Begins HTTP on a socket. `client` is the count that includes the connection, or NULL. */
void relay__connection_begin(relay_hub_t *hub, int socket, const relay__address_t *peer,
                             relay__client_t *client, bool is_proxied);
void relay__connection_timer(relay__connection_t *connection);
/* Writes the bytes of the exchange until the socket blocks. */
void relay__connection_write(relay__connection_t *connection);
/* Closes the connection at once. */
void relay__connection_cut(relay__connection_t *connection);
/* True if the client has sent bytes behind the request. */
bool relay__connection_is_followed(const relay__connection_t *connection);

/* exchange.c */

struct relay_exchange {
  relay__connection_t *connection;
  relay_id_t id;
  relay__client_t *client; /* the count of an address behind a trusted proxy; NULL: not counted here */
  struct relay__share *share;
  size_t counted; /* the bytes of this request in the counts of `share` and of the hub */
  relay__text_t body, out;
  size_t out_sent;
  relay_http_t http;
  char *origin;       /* the value of Access-Control-Allow-Origin, or NULL */
  int64_t comment_at; /* on the loop's clock: the next comment of a stream */
  int64_t progress;   /* on the loop's clock: the last write, or the begin of the answer */
  bool is_delivered, is_answered, is_stream, closes;
  bool is_answered_held; /* its path is in `held_paths` */
};

/* Begins the request of the head that was read. A refused request is answered at once, which may free the
 * exchange: check the state of the connection before you use the result. */
relay_exchange_t *relay__exchange_begin(relay__connection_t *connection);
/* Counts received bytes of the body. If they exceed a bound, the request is refused, which may free the
 * exchange. */
void relay__exchange_grown(relay_exchange_t *exchange);
/* Queues RELAY_EVENT_HTTP for the whole request. */
void relay__exchange_deliver(relay_exchange_t *exchange);
void relay__exchange_refuse(relay_exchange_t *exchange, relay__refusal_t refusal);
/* Sends a comment of a stream if one is due. */
void relay__exchange_comment(relay_exchange_t *exchange);
/* Sends 100 (Continue). */
void relay__exchange_continue(relay_exchange_t *exchange);
void relay__exchange_end(relay_exchange_t *exchange);

/* answer.c */

typedef struct relay__answer {
  int status;
  const char *headers; /* whole lines */
  relay_bytes_t body;
  bool is_head; /* the method is HEAD, whose answer has no body */
  bool is_old;  /* the request uses HTTP/1.0 */
  bool closes;  /* the connection closes after the answer */
} relay__answer_t;

/* Appends a status line and the date. */
void relay__put_status(relay__text_t *out, relay_hub_t *hub, int status);
/* Appends the headers that permit the pages of `origin` (NULL: none) to read the answer (Fetch, "HTTP CORS
 * protocol"). */
void relay__put_sharing(relay__text_t *out, const relay_hub_t *hub, const char *origin);
/* Appends the other headers and the body. */
void relay__put_answer(relay__text_t *out, const relay__answer_t *answer);
/* Writes a problem document (RFC 9457). */
relay_bytes_t relay__problem(char *at, size_t capacity, relay__refusal_t refusal);

/* admission.c */

/* The detail of a 403 because of the Origin. relay__log_refusal() compares the pointer. */
extern const char relay__origin_refused[];

/* Returns 403 if Host or Origin is not allowed; status 0: both are allowed. */
relay__refusal_t relay__admission_check(const relay__connection_t *connection);
/* Returns the refusal of a WebSocket handshake (RFC 6455, section 4.2); status 0: the handshake
 * is allowed. */
relay__refusal_t relay__handshake_check(const relay__connection_t *connection);
/* Returns the value of Access-Control-Allow-Origin, which the caller frees; NULL: no page may read the
 * answer. `refused` is the result of relay__admission_check(). */
char *relay__reading_origin(const relay__connection_t *connection, relay__refusal_t refused);
/* True if the list, whose items are separated by spaces, has the text. ASCII letters have no case. */
bool relay__is_listed(const char *list, const char *text, size_t size);

/* shares.c */

/* The requests in progress of a user or of an address. */
typedef struct relay__share {
  relay__named_t named; /* `u` and the user's name, or `a` and the bytes of the address */
  uint32_t users;       /* a factor of the bounds: 1 for a user, 16 for an address */
  uint32_t exchanges;
  size_t bytes;
} relay__share_t;

typedef enum relay__busy { RELAY__NOT_BUSY, RELAY__BUSY_USER, RELAY__BUSY_ALL } relay__busy_t;

/* Returns the HTTP status of a request that exceeds this bound; 0 for RELAY__NOT_BUSY. */
int relay__busy_status(relay__busy_t busy);
/* Counts the request for its address. Returns the bound that it exceeds; the caller then refuses
 * the request. */
relay__busy_t relay__share_begin(relay_hub_t *hub, relay_exchange_t *exchange);
/* Updates the count after `out`, `body` or the bytes behind the request have changed. */
void relay__share_count(relay_hub_t *hub, relay_exchange_t *exchange);
/* Returns the bound that the request would exceed with this many bytes. */
relay__busy_t relay__share_allows(const relay_hub_t *hub, const relay_exchange_t *exchange, size_t bytes);
void relay__share_end(relay_hub_t *hub, relay_exchange_t *exchange);

/* websocket.c */

/* A socket whose handshake is checked and allowed. */
typedef struct relay__upgrade {
  int socket;
  relay_bytes_t key; /* Sec-WebSocket-Key */
  bool has_subprotocol;
  relay_bytes_t authorization; /* at: NULL when the field is absent */
  relay_bytes_t behind;        /* bytes behind the handshake */
  relay__address_t address;
  relay__client_t *connection_client, *session_client; /* the counts that include it; NULL: not counted */
} relay__upgrade_t;

/* Turns a socket into a session. libwebsockets reads a head that websocket.c writes. Of the client's head it
 * contains only the key. */
void relay__websocket_adopt(relay_hub_t *hub, const relay__upgrade_t *upgrade);
/* Returns false if libwebsockets cannot start. */
bool relay__websocket_open(relay_hub_t *hub);
/* Ends all sessions. */
void relay__websocket_shut_down(relay_hub_t *hub);
/* Frees the library's context after the loop has run to its end. */
void relay__websocket_close(relay_hub_t *hub);

/* pipe.c */

/* Returns the descriptor of libwebsockets' event pipe, on a loop that polls nothing else yet; -1: none. */
int relay__pipe_find(uv_loop_t *loop);
/* Keeps the number of the descriptor in use between the two closes. Returns the argument `kept` of
 * relay__pipe_closed(), which the caller calls after the second close. */
int relay__pipe_keep(int pipe);
void relay__pipe_closed(int pipe, int kept);

#endif
