/* Memory pools of stream-ordered allocation. A pool keeps freed memory, up to its release threshold
 * and until its streams are synchronised. So its reserved memory is charged, not the part that
 * programs use. */

#include "guard/shim/guard.h"

static uint64_t attribute(void* pool, int number) {
  uint64_t value = 0;
  return DRIVER(cuMemPoolGetAttribute)(pool, number, &value) == success ? value : 0;
}

static int pools_used(const struct process* here) { return atomic_load(&here->pools_used); }

/* Its place among those known, made where there is none. NULL: there are too many. */
static struct pool* pool_of(struct process* here, void* handle, int device) {
  struct pool *found = NULL, *empty = NULL;
  lock(&here->pool_lock);
  for (struct pool* pool = here->pools; found == NULL && pool < here->pools + pool_count; ++pool) {
    if (pool->handle == handle && !pool->destroyed) found = pool;
    if (pool->handle == NULL && empty == NULL) empty = pool;
    if (pool >= here->pools + pools_used(here)) break;
  }
  if (found == NULL && empty != NULL) {
    *empty = (struct pool){.handle = handle, .device = device};
    const int number = (int)(empty - here->pools);
    if (number >= pools_used(here)) atomic_store(&here->pools_used, number + 1);
    found = empty;
  }
  unlock(&here->pool_lock);
  return found;
}

/* Charges what it reserves now in place of what it did; `expected` has been charged for the growth
 * of this call. false: it has grown by more, above the limit. */
static bool look_at_pool(struct process* here, struct pool* pool, uint64_t expected) {
  lock(&here->pool_lock);
  const uint64_t before = pool->charged + expected;
  pool->pending -= expected;
  if (!pool->destroyed) {
    /* What other calls have charged by themselves may be in it already. */
    const uint64_t reserved = attribute(pool->handle, pool_reserved);
    pool->charged = reserved > pool->pending ? reserved - pool->pending : 0;
  }
  const uint64_t after = pool->charged;
  const int device = pool->device;
  unlock(&here->pool_lock);
  if (after < before) refund(device, before - after);
  if (after <= before || charge(device, after - before)) return true;
  charge_what_is_taken(device, after - before);
  return false;
}

void look_at_pools(void) {
  struct process* here = process();
  if (here == NULL) return;
  for (struct pool* pool = here->pools; pool < here->pools + pools_used(here); ++pool) {
    if (pool->handle == NULL || pool->destroyed || pool->charged == 0) continue;
    lock(&here->pool_lock);
    const uint64_t before = pool->charged;
    uint64_t after = before;
    if (pool->handle != NULL && !pool->destroyed && pool->pending == 0) {
      after = attribute(pool->handle, pool_reserved);
      /* Growth is charged by the call that grows it. */
      if (after < before) pool->charged = after;
    }
    const int device = pool->device;
    unlock(&here->pool_lock);
    if (after < before) refund(device, before - after);
  }
}

/* What the driver's allocation is given back with: it is not to be served. */
typedef int free_async(address, void*);
typedef int synchronize(void*);

struct allocation {
  struct process* here;
  struct pool* pool; /* NULL: nothing is charged, or `place` is, as if it were of no pool */
  struct place place;
  uint64_t expected;
};

/* Charges what the pool is expected to grow by. */
static bool begin(struct allocation* one, void* handle, int device, size_t bytes) {
  *one = (struct allocation){.place = {.device = device}};
  one->here = device < 0 ? NULL : process();
  if (one->here == NULL) return true;
  one->pool = pool_of(one->here, handle, device);
  one->expected = bytes;
  if (one->pool != NULL) {
    const uint64_t reserved = attribute(handle, pool_reserved), used = attribute(handle, pool_used);
    const uint64_t kept = reserved > used ? reserved - used : 0;
    one->expected = bytes > kept ? bytes - kept : 0;
  }
  if (!charge(device, one->expected)) return false;
  if (one->pool != NULL) {
    lock(&one->here->pool_lock);
    one->pool->pending += one->expected;
    unlock(&one->here->pool_lock);
  }
  return true;
}

static int end(struct allocation* one, int code, const address* result, size_t bytes, void* stream,
               free_async* give_back, synchronize* wait) {
  if (one->here == NULL) return code;
  if (one->pool == NULL) {
    return settle(code, of_memory, code == success ? *result : 0, one->place, bytes);
  }
  const bool fits = look_at_pool(one->here, one->pool, one->expected);
  if (code != success) return code;
  if (!fits) {
    const uint64_t used = attribute(one->pool->handle, pool_used);
    if (give_back(*result, stream) == success && wait(stream) == success) {
      DRIVER(cuMemPoolTrimTo)(one->pool->handle, used > bytes ? used - bytes : 0);
      look_at_pools();
      return out_of_memory;
    }
  }
  const int number = (int)(one->pool - one->here->pools);
  const struct charged memory = {.kind = of_memory,
                                 .key = *result,
                                 .bytes = bytes,
                                 .count = 1,
                                 .device = (int8_t)one->place.device,
                                 .pool = (int16_t)(number + 1)};
  if (keep(memory)) __atomic_fetch_add(&one->pool->live, 1, __ATOMIC_RELAXED);
  return code;
}

/* What a stream that is captured allocates, its graph does. The default stream (0 to 2: its old and
 * per-thread meanings) may not even be asked. */
static bool is_captured(cuStreamIsCapturing_type* ask, void* stream) {
  int status = 0;
  return (uintptr_t)stream > 2 && ask(stream, &status) == success && status != 0;
}

static int device_of_pool(void* handle) {
  struct process* here = process();
  if (here == NULL) return -1;
  for (struct pool* pool = here->pools; pool < here->pools + pools_used(here); ++pool) {
    if (pool->handle == handle && !pool->destroyed) return pool->device;
  }
  int devices = 0;
  void* known;
  DRIVER(cuDeviceGetCount)(&devices);
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    if (DRIVER(cuDeviceGetDefaultMemPool)(&known, ordinal) == success && known == handle) {
      return account_device(ordinal);
    }
  }
  return current_place().device;
}

#define FROM_CURRENT_POOL(name, captures, frees, synchronizes)                          \
  int name(address* result, size_t bytes, void* stream) {                               \
    struct allocation one;                                                              \
    int ordinal;                                                                        \
    void* pool = NULL;                                                                  \
    if (process() == NULL || is_captured(DRIVER(captures), stream) ||                   \
        DRIVER(cuCtxGetDevice)(&ordinal) != success ||                                  \
        DRIVER(cuDeviceGetMemPool)(&pool, ordinal) != success) {                        \
      return DRIVER(name)(result, bytes, stream);                                       \
    }                                                                                   \
    if (!begin(&one, pool, account_device(ordinal), bytes)) return out_of_memory;       \
    const int code = DRIVER(name)(result, bytes, stream);                               \
    return end(&one, code, result, bytes, stream, DRIVER(frees), DRIVER(synchronizes)); \
  }

#define FROM_POOL(name, captures, frees, synchronizes)                                  \
  int name(address* result, size_t bytes, void* pool, void* stream) {                   \
    struct allocation one;                                                              \
    if (process() == NULL || is_captured(DRIVER(captures), stream)) {                   \
      return DRIVER(name)(result, bytes, pool, stream);                                 \
    }                                                                                   \
    if (!begin(&one, pool, device_of_pool(pool), bytes)) return out_of_memory;          \
    const int code = DRIVER(name)(result, bytes, pool, stream);                         \
    return end(&one, code, result, bytes, stream, DRIVER(frees), DRIVER(synchronizes)); \
  }

/* The variants mean another stream by the default stream. */
FROM_CURRENT_POOL(cuMemAllocAsync, cuStreamIsCapturing, cuMemFreeAsync, cuStreamSynchronize)
FROM_CURRENT_POOL(cuMemAllocAsync_ptsz, cuStreamIsCapturing_ptsz, cuMemFreeAsync_ptsz,
                  cuStreamSynchronize_ptsz)
FROM_POOL(cuMemAllocFromPoolAsync, cuStreamIsCapturing, cuMemFreeAsync, cuStreamSynchronize)
FROM_POOL(cuMemAllocFromPoolAsync_ptsz, cuStreamIsCapturing_ptsz, cuMemFreeAsync_ptsz,
          cuStreamSynchronize_ptsz)

void end_pooled(const struct charged* one) {
  struct process* here = process();
  if (here == NULL) return;
  struct pool* pool = &here->pools[one->pool - 1];
  lock(&here->pool_lock);
  const bool is_last = __atomic_sub_fetch(&pool->live, 1, __ATOMIC_RELAXED) == 0;
  uint64_t freed = 0;
  if (pool->destroyed) {
    freed = is_last || one->bytes > pool->charged ? pool->charged : one->bytes;
    pool->charged -= freed;
    if (is_last) pool->handle = NULL;
  }
  const int device = pool->device;
  unlock(&here->pool_lock);
  refund(device, freed);
  look_at_pools();
}

int cuMemPoolCreate(void** handle, const struct located* properties) {
  const int code = DRIVER(cuMemPoolCreate)(handle, properties);
  struct process* here = process();
  if (code != success || here == NULL) return code;
  const bool is_of_device = properties->location_type == location_device;
  pool_of(here, *handle, is_of_device ? account_device(properties->location) : -1);
  return code;
}

/* What is in use stays until it is freed; the driver then answers for the pool no more. */
int cuMemPoolDestroy(void* handle) {
  struct process* here = process();
  const uint64_t used = here == NULL ? 0 : attribute(handle, pool_used);
  const int code = DRIVER(cuMemPoolDestroy)(handle);
  if (here == NULL || code != success) return code;
  uint64_t freed = 0;
  int device = -1;
  lock(&here->pool_lock);
  for (struct pool* pool = here->pools; pool < here->pools + pools_used(here); ++pool) {
    if (pool->handle != handle || pool->destroyed) continue;
    device = pool->device;
    freed = pool->live == 0 ? pool->charged : pool->charged > used ? pool->charged - used : 0;
    pool->charged -= freed;
    pool->destroyed = true;
    if (pool->live == 0) *pool = (struct pool){.handle = NULL};
    break;
  }
  unlock(&here->pool_lock);
  refund(device, freed);
  return code;
}

/* Pools give back when they are told to, and when streams have been waited for. */
static int after(int code) {
  look_at_pools();
  return code;
}
int cuMemPoolTrimTo(void* pool, size_t bytes) {
  return after(DRIVER(cuMemPoolTrimTo)(pool, bytes));
}
int cuStreamSynchronize(void* stream) { return after(DRIVER(cuStreamSynchronize)(stream)); }
int cuStreamSynchronize_ptsz(void* stream) {
  return after(DRIVER(cuStreamSynchronize_ptsz)(stream));
}
int cuEventSynchronize(void* event) { return after(DRIVER(cuEventSynchronize)(event)); }
int cuCtxSynchronize(void) { return after(DRIVER(cuCtxSynchronize)()); }
int cuCtxSynchronize_v2(void* context) { return after(DRIVER(cuCtxSynchronize_v2)(context)); }
