// SPDX-License-Identifier: Apache-2.0
/* hub.h -- the hub: its parts, and the tables of its sessions, rooms and users, which core.h declares. All
 * functions run on the hub's thread. */
#ifndef RELAY_HUB_H
#define RELAY_HUB_H

#include <pthread.h>
#include <uv.h>

#include "clock.h"
#include "drain.h"
#include "events.h"
#include "flush.h"
#include "log.h"
#include "receipts.h"
#include "returns.h"
#include "service.h"
#include "stats.h"

typedef struct relay__edge relay__edge_t; /* all sockets of a hub */

/* The loop of libuv, and its iterations. */
typedef struct relay__loop {
  uv_loop_t uv;
  uv_prepare_t prepare;
  uv_async_t wake;
  uv_idle_t again;    /* while it runs, the loop polls without a wait */
  pthread_t thread;   /* of relay_hub_run() */
  bool is_running;    /* relay_hub_run() has not returned */
  bool stops;         /* relay_hub_stop() was called: the loop ends after this iteration */
  bool is_over;       /* the loop has ended, and its handles are closed */
  bool was_late;      /* the last iteration has postponed its timers, see relay__tick() */
  bool has_more;      /* a session had more behind a full read */
  uint32_t postponed; /* consecutive iterations that have postponed the write */
  uint32_t iteration; /* the number of this iteration, see `read_bytes` of a session */
} relay__loop_t;

/* The sessions that have work in this iteration. */
typedef struct relay__work {
  relay__ids_t dirty;    /* they have frames to write */
  relay__ids_t resuming; /* they have frames that wait */
  relay__ids_t unread;   /* their last read was full */
} relay__work_t;

/* Buffers that all functions use in turn. */
typedef struct relay__scratch {
  relay_json_parser_t *parser;
  relay__text_t text;
  uint8_t *join; /* the frames of one write */
} relay__scratch_t;

/* The rooms and users in memory, by their names. */
typedef struct relay__directory {
  relay__names_t rooms, users;
} relay__directory_t;

typedef struct relay__presence {
  uint64_t stamp;   /* orders changes of presence, announcements and messages */
  uint64_t marks;   /* see the `mark` of a room */
  bool is_followed; /* see relay_hub_follow_presence() */
} relay__presence_t;

struct relay_hub {
  relay_config_t config; /* owns its texts; `limits` below are newer */
  relay_limits_t limits;
  relay_callbacks_t callbacks;
  relay__edge_t *edge;
  relay__slots_t sessions, rooms, users;
  relay__directory_t names;
  relay__clock_t clock;
  relay__presence_t presence;
  relay__scratch_t scratch;
  relay__events_t events;
  relay__work_t work;
  relay__batch_t batch; /* the sessions with events that wait for others, see flush.h */
  relay__receipts_t receipts;
  relay__objects_t objects; /* the numbers of objects in memory, for metrics */
  relay__round_t round;     /* the messages that are published and not written yet, for metrics */
  relay__serving_t service; /* whether clients are served, see relay_callbacks_t */
  relay__timers_t timers;
  relay__alarm_t alarm;
  relay__returns_t returns; /* the users who were online when an earlier run ended */
  relay__drain_t drain;
  relay__log_bounds_t log;
  relay_stats_t stats;
  relay__loop_t loop;
};

/* Debug builds: aborts if a running hub is called on another thread. */
static inline void relay__expect_thread(const relay_hub_t *hub) {
#ifdef DEBUG
  if (hub->loop.is_running && !pthread_equal(hub->loop.thread, pthread_self()))
    relay__abort("a hub is called on another thread");
#else
  (void)hub;
#endif
}

void relay__tick(relay_hub_t *hub);
/* Prepares the first iteration of `loop`. relay_hub_run() calls it, and the fuzzers, which run the loop step
 * by step. */
void relay__hub_begin(relay_hub_t *hub);

#endif
