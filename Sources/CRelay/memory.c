// SPDX-License-Identifier: Apache-2.0
/* Allocation, growable text, lists, and tables of items by id. See base.h. */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>

void relay__abort(const char *why) {
  fprintf(stderr, "stillwire: %s\n", why);
  abort();
}

/* Ends the process if there is no memory. Acknowledged messages are stored already, so they are not lost. */
static void *checked(void *block) {
  if (!block) relay__abort("out of memory");
  return block;
}

void *relay__allocate(size_t size) {
  return checked(calloc(1, size));
}

void *relay__resize(void *block, size_t size) {
  return checked(realloc(block, size));
}

char *relay__copy_string(const char *at, size_t size) {
  char *copy = checked(malloc(size + 1));
  if (size) memcpy(copy, at, size);
  copy[size] = 0;
  return copy;
}

void *relay__grow(void *array, uint32_t count, uint32_t *capacity, size_t item, uint32_t first) {
  if (count < *capacity) return array;
  *capacity = *capacity ? *capacity * 2 : first;
  return relay__resize(array, *capacity * item);
}

char *relay__text_extend(relay__text_t *text, size_t size) {
  if (text->capacity - text->size < size) {
    text->capacity = (text->size + size) * 2;
    text->at = relay__resize(text->at, text->capacity);
  }
  char *end = text->at + text->size;
  text->size += size;
  return end;
}

void relay__put_integer(relay__text_t *text, int64_t value) {
  char digits[20];
  int at = sizeof digits;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do digits[--at] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) relay__put(text, "-", 1);
  relay__put(text, digits + at, sizeof digits - (size_t)at);
}

void relay__put_decimal(relay__text_t *text, double value) {
  char digits[40];
  const int size = snprintf(digits, sizeof digits, "%.3f", value);
  int end = size;
  while (end > 1 && digits[end - 1] == '0') end--;
  if (digits[end - 1] == '.') end--;
  relay__put(text, digits, (size_t)end);
}

void relay__put_quoted(relay__text_t *text, const char *at, size_t size) {
  relay__put(text, "\"", 1);
  for (size_t i = 0; i < size; i++) {
    const unsigned char byte = (unsigned char)at[i];
    if (byte == '"' || byte == '\\') {
      relay__put(text, "\\", 1);
      relay__put(text, &at[i], 1);
    } else if (byte < 0x20) {
      char escape[7];
      snprintf(escape, sizeof escape, "\\u%04x", byte);
      relay__put(text, escape, 6);
    } else {
      relay__put(text, &at[i], 1);
    }
  }
  relay__put(text, "\"", 1);
}

void relay__list_add(relay__list_t *list, void *item) {
  if (list->count == (list->capacity ? list->capacity : 1)) {
    void *const alone = list->one;
    const uint32_t capacity = list->capacity ? list->capacity * 2 : 4;
    list->many = relay__resize(list->capacity ? list->many : NULL, capacity * sizeof *list->many);
    if (!list->capacity) list->many[0] = alone;
    list->capacity = capacity;
  }
  if (list->capacity)
    list->many[list->count] = item;
  else
    list->one = item;
  list->count++;
}

void relay__list_remove(relay__list_t *list, uint32_t index) {
  list->count--;
  if (list->capacity) list->many[index] = list->many[list->count];
}

void relay__list_free(relay__list_t *list) {
  if (list->capacity) free(list->many);
  *list = (relay__list_t){0};
}

relay_id_t relay__slots_add(relay__slots_t *slots, void *item) {
  uint32_t index;
  if (slots->unused_count) {
    index = slots->unused[--slots->unused_count];
  } else {
    if (slots->count == slots->capacity) {
      slots->capacity = slots->capacity ? slots->capacity * 2 : 64;
      slots->items = relay__resize(slots->items, slots->capacity * sizeof *slots->items);
      slots->generations = relay__resize(slots->generations, slots->capacity * sizeof *slots->generations);
    }
    index = slots->count++;
    slots->generations[index] = 1;
  }
  slots->items[index] = item;
  slots->alive++;
  return (uint64_t)slots->generations[index] << 32 | index;
}

void relay__slots_remove(relay__slots_t *slots, relay_id_t id) {
  const uint32_t index = (uint32_t)id;
  slots->items[index] = NULL;
  slots->generations[index]++;
  slots->unused =
      relay__grow(slots->unused, slots->unused_count, &slots->unused_capacity, sizeof *slots->unused, 64);
  slots->unused[slots->unused_count++] = index;
  slots->alive--;
}

void *relay__slots_find(const relay__slots_t *slots, relay_id_t id) {
  const uint32_t index = (uint32_t)id;
  if (index >= slots->count || slots->generations[index] != id >> 32) return NULL;
  return slots->items[index];
}

void relay__slots_free(relay__slots_t *slots) {
  free(slots->items);
  free(slots->generations);
  free(slots->unused);
}
