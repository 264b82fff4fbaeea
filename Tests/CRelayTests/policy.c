// SPDX-License-Identifier: Apache-2.0
/* The policy of a host: answers the events of the hub, on the hub's thread. host.h describes it. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECEIPT_WAIT = 5000, IDLE_WAIT = 30000, MAX_WAIT = 45000 };

/* Copies a string member of a request; an empty text if there is none. */
static const char *text_of(const relay_json_t *json, const char *key, char *at, size_t capacity) {
  const relay_json_node_t *node = relay_json_member(json, key);
  const size_t size = node && node->kind == RELAY_JSON_STRING ? node->length : 0;
  snprintf(at, capacity, "%.*s", (int)size, node ? json->text + node->text : "");
  return at;
}

/* True if the text can be copied into JSON without escapes. */
static bool is_name(const char *text) {
  return *text &&
         !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@!|+=~")];
}

static bool is_true(const relay_json_t *json, const char *key) {
  const relay_json_node_t *node = relay_json_member(json, key);
  return node && node->kind == RELAY_JSON_TRUE;
}

static relay_bytes_t bytes(const char *text) {
  return (relay_bytes_t){text, strlen(text)};
}

/* Answers with a type, the id of the request, and members that begin with a comma. */
static void finish(host_t *host, const relay_event_t *event, const char *type, const char *members) {
  const relay_json_node_t *id = relay_json_member(event->json, "id");
  char *reply;
  if (id) {
    if (asprintf(&reply, "{\"type\":\"%s\",\"id\":%.*s%s}", type, (int)(id->end - id->start),
                 (const char *)event->json->source + id->start, members) < 0)
      abort();
  } else if (asprintf(&reply, "{\"type\":\"%s\"%s}", type, members) < 0) {
    abort();
  }
  relay_session_finish(host->hub, event->session, bytes(reply));
  free(reply);
}

/* Opens a session, or refuses it. The reply has the Authorization header of the handshake, for tests. */
static void hello(host_t *host, const relay_event_t *event) {
  char user[256], device[256], activity[32], members[512];
  text_of(event->json, "user", user, sizeof user);
  text_of(event->json, "device", device, sizeof device);
  text_of(event->json, "activity", activity, sizeof activity);
  if (!strcmp(user, "unanswered")) return;
  if (!strcmp(user, "nobody")) {
    finish(host, event, "error", ",\"code\":\"unauthorized\"");
    relay_session_close(host->hub, event->session, 4501, "no valid token", -1);
    return;
  }
  if (!is_name(user)) {
    finish(host, event, "error", ",\"code\":\"bad_request\"");
    relay_session_close(host->hub, event->session, 4500, "bad request: user", -1);
    return;
  }
  const relay_id_t id = relay_user_create(host->hub, user, bytes(",\"name\":\"A person\""), 0);
  relay_user_retain(host->hub, id); /* because the session may be gone */
  relay_user_set_has_devices(host->hub, id, true);
  const relay_bytes_t authorization = relay_session_authorization(host->hub, event->session);
  snprintf(members, sizeof members, ",\"user\":\"%s\",\"session\":%llu,\"authorization\":\"%.*s\"", user,
           (unsigned long long)event->session, (int)authorization.count,
           authorization.at ? (const char *)authorization.at : "");
  const relay_status_t status =
      relay_session_open(host->hub, event->session, id, *device ? device : NULL, is_true(event->json, "acks"),
                         !strcmp(activity, "background") ? RELAY_BACKGROUND
                         : !strcmp(activity, "idle")     ? RELAY_IDLE
                                                         : RELAY_ACTIVE);
  relay_user_release(host->hub, id);
  if (status == RELAY_OK) {
    finish(host, event, "welcome", members);
  } else {
    finish(host, event, "error", ",\"code\":\"too_large\"");
    relay_session_close(host->hub, event->session, 4504, "too many sessions", -1);
  }
}

/* Joins a room. `mute` removes the right to send, and `hide` the right to see presence. */
static void join(host_t *host, const relay_event_t *event) {
  char name[256];
  text_of(event->json, "room", name, sizeof name);
  relay_hub_t *hub = host->hub;
  if (!is_name(name)) {
    finish(host, event, "error", ",\"code\":\"bad_request\"");
    return;
  }
  const unsigned flags = !strncmp(name, "live.", 5)     ? 0
                         : !strncmp(name, "stored.", 7) ? RELAY_ROOM_STORED
                         : !strncmp(name, "marked.", 7) ? RELAY_ROOM_STORED | RELAY_ROOM_RECEIPTS
                                                        : RELAY_ROOM_STORED | RELAY_ROOM_PUSHES;
  const relay_id_t room = relay_room_create(hub, name, "epoch", 0, 0, flags);
  if (relay_session_may_join(hub, event->session, room) != RELAY_OK) {
    finish(host, event, "error", ",\"code\":\"too_large\"");
    return;
  }
  relay_room_add_member(hub, room, event->user, RELAY_ROLE_MEMBER, "joined", NULL);
  const unsigned all = RELAY_RIGHT_SEND | RELAY_RIGHT_PRESENCE | RELAY_RIGHT_HISTORY;
  const unsigned rights = is_true(event->json, "mute")     ? RELAY_RIGHT_PRESENCE
                          : is_true(event->json, "hide")   ? RELAY_RIGHT_SEND
                          : is_true(event->json, "forget") ? RELAY_RIGHT_SEND | RELAY_RIGHT_PRESENCE
                                                           : all;
  const int64_t seq = relay_room_seq(hub, room);
  relay_room_join(hub, room, event->session, rights, seq + 1);
  const relay_room_facts_t facts = relay_room_facts(hub, room, event->user);
  size_t size;
  char *entries = relay_room_entries(hub, room, event->user, &size), *members;
  if (asprintf(&members,
               ",\"room\":\"%s\",\"seq\":%lld,\"read\":%lld,\"members\":%.*s,\"memberCount\":%zu,"
               "\"onlineCount\":%zu",
               name, (long long)seq, (long long)facts.read, (int)size, entries, facts.members,
               facts.online) < 0)
    abort();
  finish(host, event, "ok", members);
  free(entries);
  free(members);
}

static void leave(host_t *host, const relay_event_t *event) {
  char name[256];
  const relay_id_t room = relay_room_named(host->hub, text_of(event->json, "room", name, sizeof name));
  const relay_status_t status = is_true(event->json, "stay")
                                    ? relay_room_leave(host->hub, room, event->session)
                                    : relay_room_remove_member(host->hub, room, event->user, "left", NULL);
  if (status == RELAY_OK)
    finish(host, event, "ok", "");
  else
    finish(host, event, "error", ",\"code\":\"not_joined\"");
}

void host_serve(host_t *host, relay_service_t service) {
  atomic_store(&host->service, (int)service);
  relay_hub_wake(host->hub);
}

static void answer(host_t *host, const relay_event_t *event) {
  char type[64];
  text_of(event->json, "type", type, sizeof type);
  if (!strcmp(type, "hello")) {
    hello(host, event);
  } else if (!strcmp(type, "join")) {
    join(host, event);
  } else if (!strcmp(type, "leave")) {
    leave(host, event);
  } else if (!strcmp(type, "hold")) {
    host->held[host->held_count++ % 512] = event->session;
    host_note(host, "held hold");
    if (atomic_load(&host->is_held_by_hold)) host_serve(host, RELAY_HELD);
  } else {
    finish(host, event, "error", ",\"code\":\"unsupported\"");
  }
}

/* Accepts and publishes a message at once, as if it were stored. */
static void send_(host_t *host, const relay_event_t *event) {
  relay_hub_t *hub = host->hub;
  const relay_json_node_t *body = relay_json_member(event->json, "body");
  const relay_bytes_t slice = {event->json->source + body->start, body->end - body->start};
  relay_id_t away[64];
  bool needs_wait;
  const char *from = relay_user_name(hub, event->user);
  const size_t count = relay_room_away(hub, event->room, from, false, false, NULL, 0, away, 64, &needs_wait);
  relay_message_t message = {.from = from,
                             .sender = event->session,
                             .body = slice,
                             .seq = relay_room_seq(hub, event->room) + 1,
                             .time = relay_hub_now(hub),
                             .decided = away,
                             .decided_count = count};
  const int64_t seq = relay_room_publish(hub, event->room, &message);
  char members[96];
  snprintf(members, sizeof members, ",\"seq\":%lld,\"push\":%zu,\"waits\":%s", (long long)seq, count,
           needs_wait ? "true" : "false");
  finish(host, event, "ok", members);
}

/* Returns the end of the wait according to the delivery decision. It uses only the hub's
 * facts. */
static int64_t end_of_wait(const host_t *host, const relay_undecided_t *message,
                           const relay_member_facts_t *facts) {
  bool attends = false, lacks = false;
  for (size_t i = 0; i < facts->sessions; i++) {
    if (facts->session[i].activity == RELAY_BACKGROUND) continue;
    attends = true;
    lacks = lacks || facts->session[i].received < message->seq;
  }
  if (lacks) {
    const int64_t end = message->shown + RECEIPT_WAIT;
    return end < message->time + MAX_WAIT ? end : message->time + MAX_WAIT;
  }
  if (attends) return message->time + IDLE_WAIT;
  return facts->is_clean ? 0 : facts->away_since + host->config.limits.presence_grace;
}

static void decide(host_t *host, const relay_event_t *event) {
  relay_hub_t *hub = host->hub;
  const char *room = relay_room_name(hub, event->room), *user = relay_user_name(hub, event->user);
  relay_member_facts_t facts;
  if (!room || !user || !relay_member_get(hub, event->room, event->user, &facts)) return;
  relay_undecided_t messages[64];
  relay_decided_t decided[64];
  const size_t count = relay_member_undecided(hub, event->room, event->user, messages, 64);
  char seqs[512] = "";
  for (size_t i = 0; i < count; i++)
    snprintf(seqs + strlen(seqs), sizeof seqs - strlen(seqs), " %lld", (long long)messages[i].seq);
  host_note(host, "due %s %s%s", room, user, seqs);
  for (size_t i = 0; i < count; i++) {
    const int64_t wait = end_of_wait(host, &messages[i], &facts) - relay_hub_now(hub);
    decided[i] = (relay_decided_t){messages[i].seq, wait > 0 ? wait : -1};
    if (wait <= 0 && !messages[i].is_own)
      host_note(host, "push %s %s %lld", room, user, (long long)messages[i].seq);
  }
  relay_member_decide(hub, event->room, event->user, decided, count);
}

/* The value of the first field with this name, or NULL. */
static const char *field(const relay_http_t *http, const char *name) {
  for (size_t i = 0; i < http->field_count; i++)
    if (!strcmp(http->fields[i].name.at, name)) return http->fields[i].value.at;
  return NULL;
}

static const char *or_dash(const char *text) {
  return text ? text : "-";
}

/* Answers an HTTP request by its path. The header X-Stillwire-User names the caller; `key` is an API key. */
static void respond(host_t *host, const relay_event_t *event) {
  relay_hub_t *hub = host->hub;
  const relay_http_t *http = event->http;
  if (!http) return; /* the client has left */
  char path[2100];
  snprintf(path, sizeof path, "%.*s", (int)http->path.count, (const char *)http->path.at);
  const char *user = field(http, "x-stillwire-user");
  int busy = 0;
  if (user && (busy = relay_http_identify(hub, event->exchange, strcmp(user, "key") ? user : NULL)))
    relay_http_respond(hub, event->exchange, busy, "Retry-After: 1\r\n", bytes("busy"));
  else if (!strcmp(path, "/large")) {
    char *large = calloc(1, POLICY_LARGE);
    relay_http_respond(hub, event->exchange, 200, "", (relay_bytes_t){large, POLICY_LARGE});
    free(large);
  } else if (!strcmp(path, "/medium")) {
    static const char medium[20000] = "medium";
    relay_http_respond(hub, event->exchange, 200, "", (relay_bytes_t){medium, sizeof medium});
  } else if (!strcmp(path, "/echo")) {
    relay_http_respond(hub, event->exchange, 200, "Content-Type: text/plain\r\n", http->body);
  } else if (!strcmp(path, "/what")) {
    char *what;
    const int size =
        asprintf(&what, "%s %s %.*s %s %s %s %s", (const char *)http->method.at, path, (int)http->query.count,
                 (const char *)http->query.at, or_dash(field(http, "authorization")), or_dash(user),
                 or_dash(field(http, "idempotency-key")), or_dash(field(http, "if-none-match")));
    relay_http_respond(hub, event->exchange, 200, "", (relay_bytes_t){what, (size_t)size});
    free(what);
  } else if (!strcmp(path, "/nothing")) {
    relay_http_respond(hub, event->exchange, 204, "", (relay_bytes_t){0});
  } else if (!strcmp(path, "/stream")) {
    relay_http_stream(hub, event->exchange, "Content-Type: text/event-stream\r\n");
    relay_http_stream_write(hub, event->exchange, bytes("data: first\n\n"));
    host->exchange = event->exchange;
    host_note(host, "held stream");
  } else if (!strcmp(path, "/held")) {
    host->exchange = event->exchange;
    host_note(host, "held http");
  } else {
    relay_http_respond(hub, event->exchange, 404, "", bytes("no such path"));
  }
}

/* The callback `happened`: answers requests, and notes the other events. */
void policy_happened(void *context, const relay_event_t *events, size_t count) {
  host_t *host = context;
  for (size_t i = 0; i < count; i++) {
    const relay_event_t *event = &events[i];
    const char *room = relay_room_name(host->hub, event->room);
    const char *user = relay_user_name(host->hub, event->user);
    switch (event->kind) {
    case RELAY_EVENT_REQUEST:
      answer(host, event);
      break;
    case RELAY_EVENT_SEND:
      send_(host, event);
      break;
    case RELAY_EVENT_READ:
      host_note(host, "read %s %s", room ? room : "?", user ? user : "?");
      finish(host, event, "ok", "");
      break;
    case RELAY_EVENT_HTTP:
      respond(host, event);
      break;
    case RELAY_EVENT_HTTP_CLOSED:
      host_note(host, "stream closed");
      break;
    case RELAY_EVENT_PRESENCE:
      host_note(host, "presence %s %.*s", event->name, (int)event->entry.count,
                (const char *)event->entry.at);
      break;
    case RELAY_EVENT_USER_SEEN:
      if (event->activity < 0)
        host_note(host, "away %s", event->name);
      else
        host_note(host, "seen %s %d", event->name, event->activity);
      break;
    case RELAY_EVENT_USER_GONE:
      break;
    case RELAY_EVENT_USER_DUE:
      host_note(host, "alarm %s", user ? user : "?");
      break;
    case RELAY_EVENT_DRAINED:
      host_note(host, "drained");
      break;
    case RELAY_EVENT_FLUSHED:
      host_note(host, "flushed");
      break;
    case RELAY_EVENT_RETURNS_OVER:
      host_note(host, "returns over");
      break;
    case RELAY_EVENT_ALARM:
      host_note(host, "alarm");
      break;
    case RELAY_EVENT_CLOCK_SET:
      host_note(host, "clock %lld %lld", (long long)event->time, (long long)event->suspended);
      break;
    case RELAY_EVENT_MARK:
      host_note(host, "mark %s %s %lld %lld", room ? room : "?", user ? user : "?", (long long)event->read,
                (long long)event->received);
      break;
    case RELAY_EVENT_CURSOR:
      host_note(host, "cursor %s %lld", room ? room : "?", (long long)event->seq);
      break;
    case RELAY_EVENT_DUE:
      decide(host, event);
      break;
    case RELAY_EVENT_SESSION_ENDED:
      host_note(host, "ended");
      break;
    case RELAY_EVENT_CONFIRMED:
      host_note(host, "confirmed %lld", (long long)event->seq);
      break;
    case RELAY_EVENT_ROOM_GONE:
      break;
    case RELAY_EVENT_ROOM_IDLE:
      host_note(host, "idle %s", room ? room : "?");
      break;
    }
  }
}
