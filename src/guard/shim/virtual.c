/* Virtual memory management: a block of cuMemCreate is there until its last handle is released and
 * its last mapping undone. It is charged once, to the device of its properties. */

#include "guard/shim/guard.h"

/* Blocks have numbers of ours: a handle that was released may come back for another block. */
static _Atomic uint64_t blocks_made;

int cuMemCreate(address* handle, size_t bytes, const struct located* properties, flags64 flags) {
  int device = -1;
  if (properties != NULL && properties->location_type == location_device) {
    device = account_device(properties->location);
  }
  if (!charge(device, bytes)) return out_of_memory;
  const int code = DRIVER(cuMemCreate)(handle, bytes, properties, flags);
  if (code != success || device < 0) {
    refund(device, bytes);
    return code;
  }
  const uint64_t number = atomic_fetch_add(&blocks_made, 1) + 1;
  const struct charged block = {
      .kind = of_block, .key = number, .bytes = bytes, .count = 1, .device = (int8_t)device};
  const struct charged first = {.kind = of_handle, .key = *handle, .other = number, .count = 1};
  if (keep(block) && keep(first)) return code;
  refund(device, bytes);
  struct charged forgotten;
  take(of_block, number, &forgotten);
  return code;
}

/* A handle or a mapping of the block has gone. */
static void let_go(uint64_t number) {
  struct charged block;
  if (number != 0 && count(of_block, number, -1, &block) && block.count == 0) {
    refund(block.device, block.bytes);
  }
}

static void hold(uint64_t number) {
  struct charged block;
  if (number != 0) count(of_block, number, +1, &block);
}

int cuMemRelease(address handle) {
  struct charged one;
  const bool is_known = count(of_handle, handle, -1, &one);
  const int code = DRIVER(cuMemRelease)(handle);
  if (!is_known) return code;
  if (code == success) {
    let_go(one.other);
  } else if (one.count == 0) {
    one.count = 1;
    keep(one);
  } else {
    count(of_handle, handle, +1, &one);
  }
  return code;
}

/* One more handle of a block that is known by its handle, or by where it is mapped. */
static void add_handle(address handle, const void* mapped_at) {
  struct charged one;
  if (count(of_handle, handle, +1, &one)) {
    hold(one.other);
  } else if (find(of_map, (uintptr_t)mapped_at, &one) && one.other != 0) {
    hold(one.other);
    keep((struct charged){.kind = of_handle, .key = handle, .other = one.other, .count = 1});
  }
}

int cuMemRetainAllocationHandle(address* handle, void* memory) {
  const int code = DRIVER(cuMemRetainAllocationHandle)(handle, memory);
  if (code == success) add_handle(*handle, memory);
  return code;
}

int cuMemImportFromShareableHandle(address* handle, void* shared, int type) {
  const int code = DRIVER(cuMemImportFromShareableHandle)(handle, shared, type);
  if (code == success) add_handle(*handle, NULL);
  return code;
}

int cuMemMap(address at, size_t bytes, size_t offset, address handle, flags64 flags) {
  struct charged block = {.other = 0};
  const bool is_known = find(of_handle, handle, &block);
  const int code = DRIVER(cuMemMap)(at, bytes, offset, handle, flags);
  if (code != success) return code;
  /* Those of unknown blocks as well, so that cuMemUnmap finds what comes behind them. */
  const struct charged map = {
      .kind = of_map, .key = at, .bytes = bytes, .other = is_known ? block.other : 0, .count = 1};
  if (keep(map)) hold(map.other);
  return code;
}

int cuMemUnmap(address at, size_t bytes) {
  const int code = DRIVER(cuMemUnmap)(at, bytes);
  if (code != success || process() == NULL) return code;
  const uint64_t smallest_map = UINT64_C(2) << 20;
  for (address end = at + bytes; at < end;) {
    struct charged map;
    if (take(of_map, at, &map) && map.bytes > 0) {
      let_go(map.other);
      at += map.bytes;
    } else {
      at += smallest_map;
    }
  }
  return code;
}
