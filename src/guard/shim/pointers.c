/* What was charged for what: a table of many small parts, so that threads seldom meet, in memory of
 * its own. */

#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>

#include "guard/shim/guard.h"

void lock(atomic_int* held) {
  for (int tries = 0; atomic_exchange_explicit(held, 1, memory_order_acquire) != 0; ++tries) {
    if (tries > 100) sched_yield();
  }
}

void unlock(atomic_int* held) { atomic_store_explicit(held, 0, memory_order_release); }

static uint64_t hash(enum kind kind, uint64_t key) {
  uint64_t mixed = (key ^ (uint64_t)kind << 56) * UINT64_C(0x9e3779b97f4a7c15);
  return mixed ^ mixed >> 32;
}

static struct shard* shard_of(struct process* here, enum kind kind, uint64_t key) {
  return &here->shards[hash(kind, key) % shard_count];
}

static uint32_t home_of(const struct shard* shard, const struct charged* one) {
  return (uint32_t)(hash(one->kind, one->key) / shard_count) & (shard->capacity - 1);
}

static struct charged* entry_of(const struct shard* shard, enum kind kind, uint64_t key) {
  if (shard->capacity == 0) return NULL;
  const struct charged wanted = {.key = key, .kind = (int8_t)kind};
  for (uint32_t at = home_of(shard, &wanted);; at = (at + 1) & (shard->capacity - 1)) {
    struct charged* one = &shard->entries[at];
    if (one->kind == of_nothing) return NULL;
    if ((enum kind)one->kind == kind && one->key == key) return one;
  }
}

static void put(struct shard* shard, const struct charged* one) {
  uint32_t at = home_of(shard, one);
  while (shard->entries[at].kind != of_nothing) at = (at + 1) & (shard->capacity - 1);
  shard->entries[at] = *one;
  ++shard->used;
}

static bool grow(struct shard* shard) {
  struct shard larger = {.capacity = shard->capacity == 0 ? 128 : shard->capacity * 2};
  void* memory = mmap(NULL, larger.capacity * sizeof(struct charged), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  larger.entries = memory;
  for (uint32_t i = 0; i < shard->capacity; ++i) {
    if (shard->entries[i].kind != of_nothing) put(&larger, &shard->entries[i]);
  }
  if (shard->capacity > 0) munmap(shard->entries, shard->capacity * sizeof(struct charged));
  shard->entries = larger.entries;
  shard->capacity = larger.capacity;
  return true;
}

/* Moves those after it up that would else not be found. */
static void remove_entry(struct shard* shard, struct charged* one) {
  const uint32_t last = shard->capacity - 1;
  uint32_t hole = (uint32_t)(one - shard->entries);
  for (uint32_t at = (hole + 1) & last; shard->entries[at].kind != of_nothing;
       at = (at + 1) & last) {
    const uint32_t home = home_of(shard, &shard->entries[at]);
    if (((at - home) & last) < ((at - hole) & last)) continue;
    shard->entries[hole] = shard->entries[at];
    hole = at;
  }
  shard->entries[hole].kind = of_nothing;
  --shard->used;
}

bool keep(struct charged one) {
  struct process* here = process();
  if (here == NULL) return false;
  struct shard* shard = shard_of(here, one.kind, one.key);
  lock(&shard->held);
  struct charged* known = entry_of(shard, one.kind, one.key);
  const bool has_place = known != NULL || shard->used * 4 < shard->capacity * 3 || grow(shard);
  if (known != NULL) {
    *known = one;
  } else if (has_place) {
    put(shard, &one);
  }
  unlock(&shard->held);
  return has_place;
}

/* Copies the entry, changed by `change`; 0 only reads it. Removed when nothing refers to it. */
static bool visit(enum kind kind, uint64_t key, int change, bool removes, struct charged* one) {
  struct process* here = process();
  if (here == NULL) return false;
  struct shard* shard = shard_of(here, kind, key);
  lock(&shard->held);
  struct charged* known = entry_of(shard, kind, key);
  if (known != NULL) {
    known->count += (uint32_t)change;
    *one = *known;
    if (removes || (change != 0 && known->count == 0)) remove_entry(shard, known);
  }
  unlock(&shard->held);
  return known != NULL;
}

bool take(enum kind kind, uint64_t key, struct charged* one) {
  return visit(kind, key, 0, true, one);
}

bool find(enum kind kind, uint64_t key, struct charged* one) {
  return visit(kind, key, 0, false, one);
}

bool count(enum kind kind, uint64_t key, int change, struct charged* one) {
  return visit(kind, key, change, false, one);
}

static bool ends_with(const struct charged* one, const void* context) {
  return (one->kind == of_memory || one->kind == of_array || one->kind == of_mipmaps) &&
         one->pool == 0 && one->other == (uintptr_t)context;
}

void forget_context(const void* context) {
  struct process* here = process();
  if (here == NULL || context == NULL) return;
  for (struct shard* shard = here->shards; shard < here->shards + shard_count; ++shard) {
    lock(&shard->held);
    for (uint32_t i = 0; i < shard->capacity;) {
      struct charged* one = &shard->entries[i];
      if (!ends_with(one, context)) {
        ++i;
        continue;
      }
      refund(one->device, one->bytes);
      remove_entry(shard, one); /* another may have moved to its place */
    }
    unlock(&shard->held);
  }
}

int settle(int result, enum kind kind, uint64_t key, struct place where, uint64_t bytes) {
  if (where.device < 0) return result;
  const struct charged one = {.key = key,
                              .bytes = bytes,
                              .other = (uintptr_t)where.context,
                              .count = 1,
                              .kind = (int8_t)kind,
                              .device = (int8_t)where.device};
  if (result != success || !keep(one)) refund(where.device, bytes);
  return result;
}

int settle_free(int result, bool was_charged, const struct charged* one) {
  if (!was_charged) return result;
  if (result != success) {
    keep(*one);
  } else if (one->pool != 0) {
    end_pooled(one);
  } else {
    refund(one->device, one->bytes);
  }
  return result;
}
