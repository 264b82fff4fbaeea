// SPDX-License-Identifier: Apache-2.0
/* internal.h -- what the files of a load share. */
#ifndef INTERNAL_H
#define INTERNAL_H

#include "fields.h"
#include "frames.h"
#include "load.h"
#include "numbers.h"

#include <sys/socket.h>

enum {
  LOAD_READ = 128 << 10,      /* bytes a receive */
  LOAD_MOST_UNREAD = 1 << 20, /* bytes that the relay has not taken: then publishing waits */
  LOAD_MOST_OPENING = 256,    /* sessions between connect and join at a time */
  LOAD_MOST_PROBLEMS = 32,
  LOAD_LONGEST_PROBLEM = 128,
  LOAD_LONGEST_EPOCH = 32
};

typedef enum {
  LOAD_CLOSED,
  LOAD_QUEUED, /* waits for its turn to connect */
  LOAD_CONNECTING,
  LOAD_UPGRADING, /* waits for the handshake's answer */
  LOAD_JOINING,
  LOAD_OPEN,
  LOAD_LEAVING /* waits for the answer to its close frame */
} load_state_t;

typedef struct {
  char *name;
  char *message; /* how a message of this room begins, up to its seq */
  char *send;    /* how a send to this room begins, up to its id or body */
  size_t message_size, send_size;
  uint64_t newest;  /* seq of the last message when all that were sent are taken */
  uint32_t members; /* sessions in it */
  bool is_known;    /* newest and epoch are */
  char epoch[LOAD_LONGEST_EPOCH + 1];
} load_room_t;

/* A queue of bytes. */
typedef struct {
  char *bytes;
  size_t begin, end, capacity;
} load_outbox_t;

typedef struct load_member {
  int descriptor;
  load_state_t state;
  uint32_t number, room;
  bool is_publisher, was_joined, is_dirty, awaits_writable;
  char *hello;
  uint64_t since; /* when it was to be opened */

  uint64_t seq;      /* newest of the room that it was shown */
  uint64_t base;     /* seq of the room when it joined */
  uint64_t received; /* messages since */
  uint64_t own;      /* messages that it sent since */
  uint64_t member_count;
  uint64_t events;

  uint64_t last_id;
  uint32_t unanswered;
  load_numbers_t acknowledged;

  char *rest; /* the beginning of a frame */
  size_t rest_size;
  load_outbox_t outbox;
  struct load_member *next_dirty;
} load_session_t;

struct load {
  char *host; /* as the handshake names it */
  struct sockaddr_storage address;
  socklen_t address_size;
  bool is_local, is_loopback4;
  int poll;
  bool has_precise_wait;
  uint64_t started, now, last_frame;

  load_room_t *rooms;
  uint32_t room_count, room_capacity;
  load_session_t *sessions;
  uint32_t session_count, session_capacity;
  load_session_t *dirty;

  uint32_t *queue; /* sessions to open, a ring as large as `sessions` */
  uint32_t queue_begin, queue_count;
  uint32_t opening; /* between connect and join */
  uint32_t leaving; /* that wait for the answer to their close frame */
  uint32_t dials;

  load_publish_t publish;
  bool is_publishing;
  uint64_t publish_started, published_since, fan_out;
  uint32_t turn;
  char *body; /* a body, its time to be filled in */
  size_t body_size;

  uint32_t flap_first, flap_count;
  double flap_rate;
  uint64_t flap_started, flapped;

  uint64_t measured_from, measured_to;
  load_histogram_t latency, opening_time;
  load_counts_t counts;
  int64_t missing;
  char *welcome;
  struct {
    char text[LOAD_LONGEST_PROBLEM];
    uint64_t times;
  } problems[LOAD_MOST_PROBLEMS];

  char *buffer; /* what was received last */
  size_t buffer_size;
};

uint64_t load__clock(void);
/* Memory or the end: a generator has nothing else to offer. */
void *load__resize(void *memory, size_t size);
void load__problem(load_t *load, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* dial.c */
bool load__find(load_t *load, const char *host, uint16_t port, char *why, size_t why_size);
/* A socket that connects, or -1 with errno. */
int load__dial(load_t *load);

/* session.c */
void load__session_connect(load_t *load, load_session_t *session);
void load__session_ready(load_t *load, load_session_t *session, uint32_t events);
void load__session_put(load_t *load, load_session_t *session, const char *bytes, size_t size);
void load__session_frame(load_t *load, load_session_t *session, uint8_t opcode, const char *payload,
                         size_t size);
void load__flush(load_t *load);
/* Ends the connection and takes the session out of all sums. */
void load__session_end(load_t *load, load_session_t *session);
/* The same for one that the relay refused or ended. */
void load__session_lost(load_t *load, load_session_t *session);

/* events.c */
void load__join(load_t *load, load_session_t *session);
void load__text(load_t *load, load_session_t *session, load_slice_t text);

/* publish.c */
void load__publish_due(load_t *load);
/* When load__publish_due() is to be called next; UINT64_MAX: after something was received. */
uint64_t load__publish_next(const load_t *load);
void load__publish_one(load_t *load, load_session_t *session, uint64_t intended);
/* Reads the time out of a body; false when it is not a body of this load. */
bool load__body_time(const load_t *load, const char *body, uint64_t *time);
/* Records a latency, if its message counts. */
void load__measured(load_t *load, uint64_t intended);

#endif
