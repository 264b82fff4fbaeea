// SPDX-License-Identifier: Apache-2.0
/* base.h -- memory, growable text, lists, ids and tables of names, which the core and the edge use. It knows
 * neither hubs nor sockets. */
#ifndef RELAY_BASE_H
#define RELAY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "relay.h"

/* The objects of a hub. Only core/ knows what they contain, and only edge/ knows the client. */
typedef struct relay_session relay_session_t;
typedef struct relay_room relay_room_t;
typedef struct relay_user relay_user_t;
typedef struct relay_member relay_member_t;
typedef struct relay_seat relay_seat_t;
typedef struct relay_watch relay_watch_t;
typedef struct relay_receipt relay_receipt_t;
typedef struct relay_frame relay_frame_t;
typedef struct relay__client relay__client_t;

/* memory.c. An allocation that fails ends the process. */

/* Ends the process, after a line on standard error. */
_Noreturn void relay__abort(const char *why);
void *relay__allocate(size_t size); /* zeroed */
void *relay__resize(void *block, size_t size);
char *relay__copy_string(const char *at, size_t size);
/* Makes space in an array for one more item. The capacity begins with `first` and doubles. Returns
 * the array. */
void *relay__grow(void *array, uint32_t count, uint32_t *capacity, size_t item, uint32_t first);

typedef struct relay__text {
  char *at;
  size_t size, capacity;
} relay__text_t;

/* Extends the text by `size` bytes, and returns them for the caller to fill. */
char *relay__text_extend(relay__text_t *text, size_t size);
static inline void relay__put(relay__text_t *text, const void *at, size_t size) {
  if (size) memcpy(relay__text_extend(text, size), at, size);
}
static inline void relay__puts(relay__text_t *text, const char *string) {
  relay__put(text, string, strlen(string));
}
void relay__put_integer(relay__text_t *text, int64_t value);
/* Appends at most three decimals, without zeros at the end. */
void relay__put_decimal(relay__text_t *text, double value);
/* Appends the text as a JSON string with its quotes. */
void relay__put_quoted(relay__text_t *text, const char *at, size_t size);

/* Returns the value of a hexadecimal digit; -1: the character is no such digit. */
static inline int relay__hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A list of pointers in no order. Most users have one session and most sessions one room, so a single pointer
 * is stored without an array. */
typedef struct relay__list {
  union {
    void *one;
    void **many;
  };
  uint32_t count, capacity; /* capacity 0: `one` holds the only pointer */
} relay__list_t;

void relay__list_add(relay__list_t *list, void *item);
/* Removes the item at `index`. The last item moves to its position. */
void relay__list_remove(relay__list_t *list, uint32_t index);
void relay__list_free(relay__list_t *list);
static inline void *relay__list_at(const relay__list_t *list, uint32_t index) {
  return list->capacity ? list->many[index] : list->one;
}

/* A growing list of ids. */
typedef struct relay__ids {
  relay_id_t *ids;
  uint32_t count, capacity;
} relay__ids_t;

static inline void relay__ids_add(relay__ids_t *list, relay_id_t id) {
  list->ids = relay__grow(list->ids, list->count, &list->capacity, sizeof *list->ids, 64);
  list->ids[list->count++] = id;
}

/* A table of items by id. An id contains the generation of its slot, so an id is never used again. */
typedef struct relay__slots {
  void **items;
  uint32_t *generations;
  uint32_t *unused;
  uint32_t count, capacity, unused_count, unused_capacity, alive;
} relay__slots_t;

relay_id_t relay__slots_add(relay__slots_t *slots, void *item);
void relay__slots_remove(relay__slots_t *slots, relay_id_t id);
void *relay__slots_find(const relay__slots_t *slots, relay_id_t id);
void relay__slots_free(relay__slots_t *slots);

/* names.c */

/* The first field of each item of a table of names. The name is stored behind the item. */
typedef struct relay__named {
  struct relay__named *next;
  uint32_t hash, length;
  char *name;
} relay__named_t;

typedef struct relay__names {
  relay__named_t **buckets;
  uint32_t count, capacity;
  uint64_t key[2];
} relay__names_t;

/* Returns the hash SipHash-1-3. */
uint64_t relay__hash(const uint64_t key[2], const void *bytes, size_t size);

/* Allocates a zeroed item of `size` bytes with a name. */
void *relay__named_allocate(size_t size, const char *name, size_t length);
void relay__names_add(relay__names_t *names, relay__named_t *item);
void relay__names_remove(relay__names_t *names, relay__named_t *item);
void *relay__names_find(const relay__names_t *names, const char *name, size_t length);
void relay__names_free(relay__names_t *names);

#endif
