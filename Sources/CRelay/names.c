// SPDX-License-Identifier: Apache-2.0
/* Hash tables of items with names. Clients choose names, so they must not be able to predict the bucket of a
 * name: the hash is SipHash-1-3 (Aumasson and Bernstein, 2012), and each table has its own random key. */
#include "base.h"

#include <stdlib.h>
#include <sys/random.h>

static uint64_t turned(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

static void stir(uint64_t v[4]) {
  v[0] += v[1], v[2] += v[3];
  v[1] = turned(v[1], 13) ^ v[0], v[3] = turned(v[3], 16) ^ v[2];
  v[0] = turned(v[0], 32);
  v[2] += v[1], v[0] += v[3];
  v[1] = turned(v[1], 17) ^ v[2], v[3] = turned(v[3], 21) ^ v[0];
  v[2] = turned(v[2], 32);
}

static uint64_t word_of(const uint8_t *at, size_t size) {
  uint64_t word = 0;
  for (size_t i = 0; i < size; i++) word |= (uint64_t)at[i] << 8 * i;
  return word;
}

uint64_t relay__hash(const uint64_t key[2], const void *bytes, size_t size) {
  uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                   key[1] ^ 0x7465646279746573};
  const uint8_t *at = bytes;
  for (size_t left = size;; at += 8, left -= 8) {
    const bool is_last = left < 8;
    const uint64_t word = is_last ? word_of(at, left) | (uint64_t)size << 56 : word_of(at, 8);
    v[3] ^= word;
    stir(v);
    v[0] ^= word;
    if (is_last) break;
  }
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++) stir(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void *relay__named_allocate(size_t size, const char *name, size_t length) {
  relay__named_t *item = relay__allocate(size + length + 1);
  item->name = (char *)item + size;
  item->length = (uint32_t)length;
  memcpy(item->name, name, length);
  return item;
}

static relay__named_t **bucket_of(const relay__names_t *names, uint32_t hash) {
  return &names->buckets[hash & (names->capacity - 1)];
}

static void grow(relay__names_t *names) {
  const relay__names_t before = *names;
  if (!before.capacity && getrandom(names->key, sizeof names->key, 0) != sizeof names->key) abort();
  names->capacity = before.capacity ? before.capacity * 2 : 64;
  names->buckets = relay__allocate(names->capacity * sizeof *names->buckets);
  for (uint32_t i = 0; i < before.capacity; i++)
    for (relay__named_t *at = before.buckets[i], *next; at; at = next) {
      relay__named_t **bucket = bucket_of(names, at->hash);
      next = at->next;
      at->next = *bucket;
      *bucket = at;
    }
  free(before.buckets);
}

void relay__names_add(relay__names_t *names, relay__named_t *item) {
  if (names->count >= names->capacity) grow(names);
  item->hash = (uint32_t)relay__hash(names->key, item->name, item->length);
  relay__named_t **bucket = bucket_of(names, item->hash);
  item->next = *bucket;
  *bucket = item;
  names->count++;
}

void relay__names_remove(relay__names_t *names, relay__named_t *item) {
  relay__named_t **at = bucket_of(names, item->hash);
  while (*at != item) at = &(*at)->next;
  *at = item->next;
  names->count--;
}

void *relay__names_find(const relay__names_t *names, const char *name, size_t length) {
  if (!names->count) return NULL;
  const uint32_t hash = (uint32_t)relay__hash(names->key, name, length);
  relay__named_t *at = *bucket_of(names, hash);
  while (at && (at->hash != hash || at->length != length || memcmp(at->name, name, length))) at = at->next;
  return at;
}

void relay__names_free(relay__names_t *names) {
  free(names->buckets);
}
