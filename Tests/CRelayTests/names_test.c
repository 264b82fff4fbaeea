// SPDX-License-Identifier: Apache-2.0
/* Tables of names: the hash, lookups, and buckets that clients cannot predict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "test.h"

enum { MANY = 1000, LENGTH = 12 };

TEST(hash_vectors, "names: the hash is SipHash-1-3") {
  /* Hashes of the bytes 0, 1, 2 ... by CPython, which has the key 0 with PYTHONHASHSEED=0. */
  const uint64_t zero[2] = {0};
  static const struct {
    size_t size;
    uint64_t hash;
  } vectors[] = {
      {1, 0x68a914128e01e473},  {7, 0x2f098ab0c751325a},  {8, 0xead411e67ebe2eea},  {9, 0x75927f9d95124362},
      {15, 0xf30eb725bb91c9ea}, {16, 0x8972188433a5c5b7}, {63, 0x385d3e39e5f37359},
  };
  uint8_t bytes[64];
  for (uint8_t i = 0; i < sizeof bytes; i++) bytes[i] = i;
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    EXPECT_INTEGER(relay__hash(zero, bytes, vectors[i].size), vectors[i].hash);
  /* The hash of no bytes, with another key, by Rust. */
  const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_INTEGER(relay__hash(key, bytes, 0), 0xabac0158050fc4dc);
}

TEST(names_found, "names: names are found until they are removed") {
  relay__names_t names = {0};
  relay__named_t *items[MANY];
  char name[LENGTH];
  for (int i = 0; i < MANY; i++) {
    const int size = snprintf(name, sizeof name, "n%d", i);
    items[i] = relay__named_allocate(sizeof *items[i], name, (size_t)size);
    relay__names_add(&names, items[i]);
  }
  EXPECT_INTEGER(names.count, MANY);
  for (int i = 0; i < MANY; i++)
    EXPECT(relay__names_find(&names, items[i]->name, items[i]->length) == items[i]);
  for (int i = 0; i < MANY; i += 2) relay__names_remove(&names, items[i]);
  for (int i = 0; i < MANY; i++)
    EXPECT(relay__names_find(&names, items[i]->name, items[i]->length) == (i % 2 ? items[i] : NULL));
  EXPECT(!relay__names_find(&names, "n1", 1));
  for (int i = 0; i < MANY; i++) free(items[i]);
  relay__names_free(&names);
}

TEST(names_spread, "names: two tables have different hashes of the same names") {
  relay__names_t one = {0}, other = {0};
  relay__named_t *items[2][LENGTH];
  int same = 0;
  for (int i = 0; i < LENGTH; i++) {
    const char name = (char)('a' + i);
    items[0][i] = relay__named_allocate(sizeof *items[0][i], &name, 1);
    items[1][i] = relay__named_allocate(sizeof *items[1][i], &name, 1);
    relay__names_add(&one, items[0][i]);
    relay__names_add(&other, items[1][i]);
    same += items[0][i]->hash == items[1][i]->hash;
  }
  EXPECT(same < LENGTH);
  for (int i = 0; i < LENGTH; i++) {
    free(items[0][i]);
    free(items[1][i]);
  }
  relay__names_free(&one);
  relay__names_free(&other);
}
