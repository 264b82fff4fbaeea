// SPDX-License-Identifier: Apache-2.0
/* internal.h -- the structs and functions that the files of a load share. */
#ifndef INTERNAL_H
#define INTERNAL_H

#include "fields.h"
#include "frames.h"
#include "load.h"
#include "numbers.h"

#include <sys/socket.h>

enum {
  LOAD_READ = 128 << 10,     /* bytes of a recv() */
  LOAD_MAX_UNREAD = 1 << 20, /* unsent bytes of a session above which it does not publish */
  LOAD_MAX_OPENING = 256,    /* sessions between connect and join at the same time */
  LOAD_MAX_PROBLEMS = 32,
  LOAD_MAX_PROBLEM = 128,
  LOAD_MAX_EPOCH = 32,
  LOAD_MAX_REPLY = 4 << 10 /* bytes of the answer to a report */
};

/* The numbers of connections for reports in the poll. Lower ones are those of sessions. */
#define LOAD_LINES UINT32_C(0x80000000)

typedef enum {
  LOAD_CLOSED,
  LOAD_QUEUED, /* in `queue`, to connect later */
  LOAD_CONNECTING,
  LOAD_UPGRADING, /* waits for the handshake's answer */
  LOAD_JOINING,
  LOAD_OPEN,
  LOAD_LEAVING /* waits for the answer to its close frame */
} load_state_t;

typedef struct {
  char *name;
  char *message; /* the begin of a message of this room, up to its seq */
  char *send;    /* the begin of a send to this room, up to its id or body */
  size_t message_size, send_size;
  uint64_t newest;  /* the seq of the last message if the relay accepts all that were sent */
  uint32_t members; /* sessions in the room */
  bool is_known;    /* `newest` and `epoch` are known from a reply */
  char epoch[LOAD_MAX_EPOCH + 1];
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
  uint64_t since; /* the time of its intended opening */

  uint64_t seq;      /* the newest message that it has received */
  uint64_t base;     /* the seq of the room when it joined */
  uint64_t received; /* messages received since then */
  uint64_t own;      /* messages sent since then */
  uint64_t member_count;
  uint64_t events;

  uint64_t last_id;
  uint32_t unanswered;
  load_numbers_t acknowledged;

  char *rest; /* the begin of an incomplete frame */
  size_t rest_size;
  load_outbox_t outbox;
  struct load_member *next_dirty;
} load_session_t;

/* A user who reports a Focus. */
typedef struct {
  uint64_t intended; /* the time of the last report; 0: there was none */
  uint32_t awaited;  /* its events that other sessions have not received */
  bool is_focused, is_unanswered;
} load_reporter_t;

/* A connection for reports. */
typedef struct {
  int descriptor;
  bool is_busy;
  uint32_t user; /* of the report without an answer, counted from `reports.first` */
  size_t size;
  char answer[LOAD_MAX_REPLY + 1];
} load_line_t;

struct load {
  char *host; /* the header Host of the handshake */
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
  uint32_t opening; /* sessions between connect and join */
  uint32_t leaving; /* sessions that wait for the answer to their close frame */
  uint32_t dials;

  load_publish_t publish;
  bool is_publishing;
  uint64_t publish_started, published_since, fan_out;
  uint32_t turn;
  char *body; /* the body of the next message; set_time() writes its time */
  size_t body_size;

  load_reports_t reports;
  bool is_reporting;
  char *users, *report_fields;
  size_t users_size;
  load_reporter_t *reporters;
  load_line_t *lines;
  uint32_t line_count, report_turn, line_turn;
  uint64_t report_started, reported;

  uint32_t flap_first, flap_count;
  double flap_rate;
  uint64_t flap_started, flapped;

  uint64_t measured_from, measured_to;
  load_histogram_t latency, event_latency, opening_time;
  load_counts_t counts;
  int64_t missing;
  char *welcome;
  struct {
    char text[LOAD_MAX_PROBLEM];
    uint64_t times;
  } problems[LOAD_MAX_PROBLEMS];

  char *buffer; /* received bytes */
  size_t buffer_size;
};

uint64_t load__clock(void);
/* Ends the process if there is no memory. */
void *load__resize(void *memory, size_t size);
void load__problem(load_t *load, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* dial.c */
bool load__find(load_t *load, const char *host, uint16_t port, char *why, size_t why_size);
/* Returns a socket that is connecting, or -1 with errno. */
int load__dial(load_t *load);

/* session.c */
void load__session_connect(load_t *load, load_session_t *session);
void load__session_ready(load_t *load, load_session_t *session, uint32_t events);
void load__session_put(load_t *load, load_session_t *session, const char *bytes, size_t size);
void load__session_frame(load_t *load, load_session_t *session, uint8_t opcode, const char *payload,
                         size_t size);
void load__flush(load_t *load);
/* Ends the connection, and removes the session from all sums. */
void load__session_end(load_t *load, load_session_t *session);
/* The same for a session that the relay has refused or ended; counts it. */
void load__session_lost(load_t *load, load_session_t *session);

/* events.c */
void load__join(load_t *load, load_session_t *session);
void load__text(load_t *load, load_session_t *session, load_slice_t text);

/* publish.c */
void load__publish_due(load_t *load);
/* Returns the time of the next call of load__publish_due(); UINT64_MAX: after the next received frame. */
uint64_t load__publish_next(const load_t *load);
void load__publish_one(load_t *load, load_session_t *session, uint64_t intended);
/* Reads the time in a body. Returns false if it is not a body of this load. */
bool load__body_time(const load_t *load, const char *body, uint64_t *time);
/* Records a latency if its message was intended while the measurement is on. */
void load__measured(load_t *load, load_histogram_t *histogram, uint64_t intended);

/* reports.c */
void load__report_due(load_t *load);
/* Returns the time of the next call of load__report_due(); UINT64_MAX: after the next received bytes. */
uint64_t load__report_next(const load_t *load);
void load__line_ready(load_t *load, uint32_t number);
/* Counts a presence event of a user that a session has received, if it is about a report. */
void load__announced(load_t *load, const load_session_t *session, load_slice_t user, load_slice_t is_focused);
void load__forget_reports(load_t *load);

#endif
