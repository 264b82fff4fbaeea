// SPDX-License-Identifier: Apache-2.0
/* The hub: its creation and its end, and the iterations of libuv's loop.
 *
 * An iteration reads once from each readable socket and calls `woken`. Then relay__tick() runs timers, reads
 * on from the sessions that have more, delivers events until there are none, and writes each session with
 * queued frames once. After a session had more, its client is probably still sending. So the write waits for
 * the next iteration, which begins at once, and one write contains more frames.
 */
#include "core.h"

#include <stdlib.h>

enum {
  LATE = 200,     /* ms after which a timer is late, see relay__tick() */
  ROUNDS = 16,    /* deliveries in an iteration, at most: an event may cause others */
  READS = 16,     /* of a session in an iteration, at most */
  POSTPONED = 16, /* iterations without a write, at most */
};

/* The iteration */

static void deliver(relay_hub_t *hub) {
  if (relay__service_read(hub) == RELAY_HELD) return;
  hub->clock.has_jumped = false;
  const relay__event_list_t *taken = relay__events_take(hub);
  for (uint32_t i = 0; i < taken->count; i++) {
    relay_event_t *event = &taken->events[i];
    if (event->kind == RELAY_EVENT_HTTP) event->http = relay__edge_request(hub, event->exchange);
  }
  hub->callbacks.happened(hub->callbacks.context, taken->events, taken->count);
  relay__events_free(hub);
}

/* Answers the requests of the queue that do not wait for the end of the hold. An answer may queue the next
 * request of its connection. */
static void answer_held(relay_hub_t *hub) {
  relay__event_list_t *queued = &hub->events.queued;
  uint32_t kept = 0;
  for (uint32_t i = 0; hub->callbacks.held && i < queued->count; i++) {
    const relay_event_t event = queued->events[i];
    void *const owned = queued->owned[i];
    const relay_http_t *http =
        event.kind == RELAY_EVENT_HTTP ? relay__edge_held_request(hub, event.exchange) : NULL;
    if (http) {
      hub->callbacks.held(hub->callbacks.context, event.exchange, http);
      continue;
    }
    queued->events[kept] = event;
    queued->owned[kept++] = owned;
  }
  if (hub->callbacks.held) queued->count = kept;
}

static void flush(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->work.dirty.count; i++) {
    relay_session_t *session = relay__session_find(hub, hub->work.dirty.ids[i]);
    if (session && session->is_dirty) relay__session_flush(hub, session);
  }
  hub->work.dirty.count = 0;
  relay__sessions_flush_batched(hub);
  if (!hub->round.began) return;
  relay__observe(&hub->stats.fan_out, uv_hrtime() - hub->round.began, hub->round.messages);
  hub->round.began = hub->round.messages = 0;
}

/* Reads on from the sessions whose last read was full. */
static void read_on(relay_hub_t *hub) {
  relay__ids_t *unread = &hub->work.unread;
  for (int round = 0; unread->count && round < READS; round++) {
    const uint32_t count = unread->count;
    for (uint32_t i = 0; i < count; i++) {
      relay_session_t *session = relay__session_find(hub, unread->ids[i]);
      if (session) relay__session_read(hub, session);
    }
    unread->count -= count; /* the others were full again */
    memmove(unread->ids, unread->ids + count, unread->count * sizeof *unread->ids);
  }
}

static void idle(uv_idle_t *handle) {
  (void)handle;
} /* the handle does nothing: while it runs, the loop does not wait in its poll */

#define OWNER(timer_, type) ((type *)(void *)((char *)(timer_)-offsetof(type, timer)))

static void dispatch(relay_hub_t *hub, relay__timer_t *timer) {
  switch ((relay__timer_kind_t)timer->kind) {
  case RELAY__TIMER_SESSION:
    relay__session_timer(hub, OWNER(timer, relay_session_t));
    break;
  case RELAY__TIMER_USER:
    relay__user_timer(hub, OWNER(timer, relay_user_t));
    break;
  case RELAY__TIMER_MEMBER:
    relay__member_timer(hub, OWNER(timer, relay_member_t));
    break;
  case RELAY__TIMER_ROOM:
    relay__room_timer(hub, OWNER(timer, relay_room_t));
    break;
  case RELAY__TIMER_CONNECTION:
    relay__edge_timer(timer);
    break;
  case RELAY__TIMER_DRAIN:
    relay__drain_timer(hub);
    break;
  case RELAY__TIMER_ALARM:
    relay__alarm_timer(hub);
    break;
  case RELAY__TIMER_RETURNS:
    relay__returns_timer(hub);
    break;
  case RELAY__TIMER_BATCH: /* it only wakes the loop; flush() then writes the batch */
    break;
  }
}

/* Ends an iteration, see the top of this file: runs the timers, reads on, delivers the events, and writes or
 * postpones the write. While the hub is held, it only answers the held requests.
 *
 * After a pause of the process all timers are late. They then run in the next iteration, because this one
 * first has to read what clients have sent during the pause: otherwise their sessions would be closed as
 * silent. */
void relay__tick(relay_hub_t *hub) {
  if (!relay__service_begins(hub)) {
    uv_timer_stop(&hub->timers.wake); /* its timers may be due, and would wake the loop without an end */
    uv_idle_stop(&hub->loop.again);
    if (hub->service.state == RELAY_HELD) answer_held(hub);
    hub->loop.iteration++;
    return;
  }
  const bool is_late =
      hub->timers.count && hub->clock.loop - hub->timers.heap[0].at > LATE && !hub->loop.was_late;
  hub->loop.was_late = is_late;
  for (relay__timer_t *timer; !is_late && (timer = relay__timers_take(hub));) dispatch(hub, timer);
  read_on(hub);
  int rounds = 0;
  while ((hub->events.queued.count || hub->work.resuming.count) && rounds++ < ROUNDS) {
    if (hub->events.queued.count) deliver(hub);
    if (hub->service.state == RELAY_HELD) return; /* the next iteration goes on from here */
    for (uint32_t i = 0; i < hub->work.resuming.count; i++) {
      relay_session_t *session = relay__session_find(hub, hub->work.resuming.ids[i]);
      if (session) relay__session_resume(hub, session);
    }
    hub->work.resuming.count = 0;
  }
  relay__receipts_send(hub);
  if (hub->loop.has_more && hub->loop.postponed++ < POSTPONED) {
    uv_idle_start(&hub->loop.again, idle);
  } else {
    flush(hub);
    hub->loop.postponed = 0;
    if (!hub->work.unread.count) uv_idle_stop(&hub->loop.again);
  }
  hub->loop.has_more = false;
  hub->loop.iteration++;
  if (hub->events.queued.count || hub->work.resuming.count)
    uv_async_send(&hub->loop.wake); /* the rest, after sockets are read */
  relay__timers_arm(hub);
}

static void prepared(uv_prepare_t *prepare) {
  relay_hub_t *hub = prepare->data;
  relay__clock_read(hub);
  relay__tick(hub);
  if (hub->loop.stops) uv_stop(&hub->loop.uv);
}

static void woken(uv_async_t *wake) {
  relay_hub_t *hub = wake->data;
  if (hub->loop.is_over) return;
  relay__clock_read(hub);
  if (!relay__service_begins(hub)) return;
  /* Nothing may work at the new time before it knows of the jump. */
  if (hub->clock.has_jumped) deliver(hub);
  hub->callbacks.woken(hub->callbacks.context);
}

/* Creation and end */

/* Copies the types and their names into one block. */
static relay_request_type_t *copy_requests(const relay_request_type_t *requests, size_t count) {
  const size_t types = count * sizeof *requests;
  size_t names = 0;
  for (size_t i = 0; i < count; i++) names += strlen(requests[i].name) + 1;
  relay_request_type_t *copies = relay__allocate(types + names);
  char *name = (char *)copies + types;
  for (size_t i = 0; i < count; i++) {
    copies[i] = (relay_request_type_t){.name = name, .rate = requests[i].rate};
    name = stpcpy(name, requests[i].name) + 1;
  }
  return copies;
}

/* Replaces the texts and the types, which belong to the caller, by copies. An absent text becomes "". */
static void own_config(relay_config_t *config) {
  const char **const texts[] = {&config->address, &config->subprotocol, &config->path,
                                &config->origins, &config->hosts,       &config->held_paths};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const char *text = *texts[i] ? *texts[i] : "";
    *texts[i] = relay__copy_string(text, strlen(text));
  }
  if (config->requests) config->requests = copy_requests(config->requests, config->request_count);
}

relay_hub_t *relay_hub_create(const relay_config_t *config, const relay_callbacks_t *callbacks) {
  relay_hub_t *hub = relay__allocate(sizeof *hub);
  hub->config = *config;
  own_config(&hub->config);
  hub->limits = config->limits;
  hub->callbacks = *callbacks;
  hub->scratch.parser = relay_json_parser_create();
  hub->scratch.join = relay__allocate(RELAY__WRITE);
  uv_loop_init(&hub->loop.uv);
  uv_prepare_init(&hub->loop.uv, &hub->loop.prepare);
  uv_async_init(&hub->loop.uv, &hub->loop.wake, woken);
  uv_timer_init(&hub->loop.uv, &hub->timers.wake);
  uv_idle_init(&hub->loop.uv, &hub->loop.again);
  hub->loop.prepare.data = hub->loop.wake.data = hub->timers.wake.data = hub;
  relay__clock_start(hub);

  if (!relay__edge_open(hub, &relay__session_calls)) {
    relay_hub_destroy(hub);
    return NULL;
  }
  return hub;
}

/* Ends all sessions and exchanges. Rooms and users stay until relay_hub_destroy(), so that late calls still
 * find them. */
static void shut_down(relay_hub_t *hub) {
  if (hub->loop.is_over) return;
  hub->loop.is_over = true;
  relay__edge_shut_down(hub);
  uv_close((uv_handle_t *)&hub->loop.prepare, NULL);
  uv_unref((uv_handle_t *)&hub->loop.wake); /* other threads may use it until the hub is destroyed */
  uv_close((uv_handle_t *)&hub->timers.wake, NULL);
  uv_close((uv_handle_t *)&hub->loop.again, NULL);
  relay__clock_stop(hub);
  uv_run(&hub->loop.uv, UV_RUN_DEFAULT);
  relay__edge_close(hub);
}

void relay__hub_begin(relay_hub_t *hub) {
  uv_prepare_start(&hub->loop.prepare, prepared);
}

void relay_hub_run(relay_hub_t *hub) {
  hub->loop.thread = pthread_self();
  hub->loop.is_running = true;
  relay__hub_begin(hub);
  uv_run(&hub->loop.uv, UV_RUN_DEFAULT);
  shut_down(hub);
  hub->loop.is_running = false;
}

void relay_hub_flush(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->rooms.count; i++)
    if (hub->rooms.items[i]) relay__room_flush(hub, hub->rooms.items[i]);
  for (uint32_t i = 0; i < hub->users.count; i++) {
    relay_user_t *user = hub->users.items[i];
    if (user && user->was_online) relay__user_seen(hub, user);
  }
  relay__event(hub, RELAY_EVENT_FLUSHED, NULL);
}

void relay_hub_set_limits(relay_hub_t *hub, const relay_limits_t *limits) {
  relay__expect_thread(hub);
  const relay_limits_t before = hub->limits;
  hub->limits = *limits;
  hub->limits.connections = before.connections;
  hub->limits.connections_per_address = before.connections_per_address;
  hub->limits.idle_timeout = before.idle_timeout;
  hub->limits.received_timeout = before.received_timeout;
  hub->limits.requests_per_user = before.requests_per_user;
  hub->limits.unsent_per_user = before.unsent_per_user;
  hub->limits.unsent = before.unsent;
}

void relay_hub_stop(relay_hub_t *hub) {
  hub->loop.stops = true;
  if (!hub->loop.is_over) uv_async_send(&hub->loop.wake);
}

/* Clears all reasons to keep a room or a user, so that the usual functions free them. */
static void free_rooms_and_users(relay_hub_t *hub) {
  for (uint32_t i = 0; i < hub->rooms.count; i++) {
    relay_room_t *room = hub->rooms.items[i];
    if (!room) continue;
    for (uint32_t j = 0; j < room->member_count; j++) room->members[j]->due_at = 0;
    room->flags |= RELAY_ROOM_STORED;
    relay_room_release(hub, room->id);
  }
  hub->returns.until = 0;
  for (uint32_t i = 0; i < hub->users.count; i++) {
    relay_user_t *user = hub->users.items[i];
    if (!user) continue;
    user->grace_until = 0;
    user->is_pending = false;
    user->holds = 0;
    free(user->buckets);
    user->buckets = NULL;
    relay__user_release(hub, user);
  }
}

void relay_hub_destroy(relay_hub_t *hub) {
  shut_down(hub);
  uv_close((uv_handle_t *)&hub->loop.wake, NULL);
  uv_run(&hub->loop.uv, UV_RUN_DEFAULT);
  uv_loop_close(&hub->loop.uv);
  free_rooms_and_users(hub);
  relay__edge_free(hub);
  relay__slots_free(&hub->sessions);
  relay__slots_free(&hub->rooms);
  relay__slots_free(&hub->users);
  relay__names_free(&hub->names.rooms);
  relay__names_free(&hub->names.users);
  relay_json_parser_destroy(hub->scratch.parser);
  const relay_config_t *config = &hub->config;
  const relay__event_list_t *queued = &hub->events.queued, *taken = &hub->events.taken;
  const relay__work_t *work = &hub->work;
  for (uint32_t i = 0; i < queued->count; i++) free(queued->owned[i]);
  const void *const blocks[] = {
      queued->events,        queued->owned,       taken->events,        taken->owned,
      work->dirty.ids,       work->resuming.ids,  work->unread.ids,     hub->batch.sessions.ids,
      hub->receipts.members, hub->timers.heap,    hub->scratch.text.at, hub->scratch.join,
      config->address,       config->subprotocol, config->path,         config->origins,
      config->hosts,         config->held_paths,  config->requests};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free((void *)blocks[i]);
  free(hub);
}

void relay_hub_wake(relay_hub_t *hub) {
  uv_async_send(&hub->loop.wake);
}

int64_t relay_hub_next_due(const relay_hub_t *hub) {
  return hub->timers.count ? hub->clock.now + hub->timers.heap[0].at - hub->clock.loop : INT64_MAX;
}

relay_counts_t relay_hub_counts(const relay_hub_t *hub) {
  relay__expect_thread(hub);
  relay_counts_t counts = {
      .sessions = hub->sessions.alive,
      .users = hub->users.alive,
      .rooms = hub->rooms.alive,
      .members = hub->objects.members,
      .seats = hub->objects.seats,
      .watches = hub->objects.watches,
      .timers = hub->timers.count,
      .events = hub->events.queued.count,
      .frames = hub->objects.frames,
      .frame_bytes = hub->objects.frame_bytes,
  };
  relay__edge_count(hub, &counts);
  return counts;
}
