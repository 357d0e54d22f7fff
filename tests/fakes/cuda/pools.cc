// The fake driver's memory pools. A pool reserves in steps. It keeps what was freed until a stream,
// an event or a context is waited for. After that it keeps as much as its threshold says.

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "fake_driver.h"

namespace fake {
namespace {

constexpr std::size_t step = std::size_t{2} << 20U;

std::mutex pools_guard;  // of all below
struct Pools {
  std::array<Pool, 64> defaults;
  std::array<Pool*, 64> current{};
  std::map<void*, std::unique_ptr<Pool>> made;
};
auto& all = *new Pools;

Pool* default_of(int device) {
  Pool& one = all.defaults[static_cast<std::size_t>(device)];
  one.device = device;
  return &one;
}

Pool* current_of(int device) {
  Pool* chosen = all.current[static_cast<std::size_t>(device)];
  return chosen != nullptr ? chosen : default_of(device);
}

/// None: there is no such pool.
Pool* pool_of(void* handle) {
  for (Pool& one : all.defaults) {
    if (&one == handle) return &one;
  }
  const auto found = all.made.find(handle);
  return found == all.made.end() || found->second->destroyed ? nullptr : found->second.get();
}

void keep_at_most(Pool& pool, std::size_t bytes) {
  const std::size_t kept = std::max(up_to(pool.used, step), std::min(bytes, pool.reserved));
  if (kept >= pool.reserved) return;
  if (pool.device >= 0) give_back(pool.device, pool.reserved - kept);
  pool.reserved = kept;
}

/// A pool of the host's memory (device -1) is not counted.
int allocate(Address* address, std::size_t bytes, Pool* pool) {
  if (!has_begun()) return not_initialized;
  if (pool == nullptr || bytes == 0) return invalid_value;
  const std::size_t kept = has_fault("fragmented") ? 0 : pool->reserved - pool->used;
  const std::size_t more = bytes > kept ? up_to(bytes - kept, step) : 0;
  if (pool->device >= 0 && !use(pool->device, more)) return out_of_memory;
  pool->reserved += more;
  pool->used += bytes;
  ++pool->live;
  *address = place({.bytes = bytes, .device = pool->device, .pool = pool});
  return *address == 0 ? out_of_memory : 0;
}

bool is_captured(void* stream) {
  using Ask = int(void*, int*);
  static const auto ask = reinterpret_cast<Ask*>(exported("cuStreamIsCapturing"));
  int status = 0;
  return ask(stream, &status) == 0 && status != 0;
}

int allocate_on(Address* address, std::size_t bytes, void* pool, void* stream) {
  if (is_captured(stream)) {
    *address = place({.bytes = bytes, .device = current_device()});
    return 0;
  }
  const std::lock_guard lock(pools_guard);
  return allocate(address, bytes, pool_of(pool));
}

}  // namespace

void trim_pools() {
  const std::lock_guard lock(pools_guard);
  for (Pool& one : all.defaults) keep_at_most(one, one.threshold);
  for (auto& [handle, one] : all.made) keep_at_most(*one, one->threshold);
}

void end_in_pool(Pool& pool, std::size_t bytes) {
  const std::lock_guard lock(pools_guard);
  pool.used -= bytes;
  --pool.live;
  if (!pool.destroyed) return;
  keep_at_most(pool, 0);
  if (pool.live == 0) all.made.erase(&pool);
}

}  // namespace fake

using namespace fake;

extern "C" {

int cuDeviceGetDefaultMemPool(void** pool, int device) {
  if (card(device) == nullptr) return invalid_device;
  const std::lock_guard lock(pools_guard);
  *pool = default_of(device);
  return 0;
}

int cuDeviceGetMemPool(void** pool, int device) {
  if (card(device) == nullptr) return invalid_device;
  const std::lock_guard lock(pools_guard);
  *pool = current_of(device);
  return 0;
}

int cuDeviceSetMemPool(int device, void* pool) {
  const std::lock_guard lock(pools_guard);
  if (card(device) == nullptr || pool_of(pool) == nullptr) return invalid_value;
  all.current[static_cast<std::size_t>(device)] = pool_of(pool);
  return 0;
}

/// `properties`: CUmemPoolProps: allocation type, handle types, the location's type and number.
int cuMemPoolCreate(void** pool, const int* properties) {
  if (const int code = fault("cuMemPoolCreate")) return code;
  auto made = std::make_unique<Pool>();
  made->device = properties[2] == 1 ? properties[3] : -1;
  if (properties[2] == 1 && card(properties[3]) == nullptr) return invalid_device;
  const std::lock_guard lock(pools_guard);
  *pool = made.get();
  all.made[made.get()] = std::move(made);
  return 0;
}

int cuMemPoolDestroy(void* handle) {
  const std::lock_guard lock(pools_guard);
  Pool* pool = pool_of(handle);
  if (pool == nullptr || !all.made.contains(handle)) return invalid_value;
  pool->destroyed = true;
  keep_at_most(*pool, 0);
  for (Pool*& chosen : all.current) {
    if (chosen == pool) chosen = nullptr;
  }
  if (pool->live == 0) all.made.erase(handle);
  return 0;
}

int cuMemPoolTrimTo(void* handle, std::size_t bytes) {
  const std::lock_guard lock(pools_guard);
  Pool* pool = pool_of(handle);
  if (pool == nullptr) return invalid_value;
  keep_at_most(*pool, bytes);
  return 0;
}

/// RELEASE_THRESHOLD, RESERVED_MEM_CURRENT and USED_MEM_CURRENT.
int cuMemPoolGetAttribute(void* handle, int attribute, void* value) {
  const std::lock_guard lock(pools_guard);
  const Pool* pool = pool_of(handle);
  if (pool == nullptr || (attribute != 4 && attribute != 5 && attribute != 7)) return invalid_value;
  *static_cast<std::size_t*>(value) = attribute == 4   ? pool->threshold
                                      : attribute == 5 ? pool->reserved
                                                       : pool->used;
  return 0;
}

/// RELEASE_THRESHOLD, and 1 to 3: what may use freed memory again, which is all one here.
int cuMemPoolSetAttribute(void* handle, int attribute, void* value) {
  const std::lock_guard lock(pools_guard);
  Pool* pool = pool_of(handle);
  if (pool == nullptr || attribute < 1 || attribute > 4) return invalid_value;
  if (attribute == 4) pool->threshold = *static_cast<std::size_t*>(value);
  return 0;
}

int cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, void* pool, void* stream) {
  if (const int code = fault("cuMemAllocFromPoolAsync")) return code;
  return allocate_on(address, bytes, pool, stream);
}
int cuMemAllocFromPoolAsync_ptsz(Address* address, std::size_t bytes, void* pool, void* stream) {
  return allocate_on(address, bytes, pool, stream);
}

int cuMemAllocAsync(Address* address, std::size_t bytes, void* stream) {
  if (const int code = fault("cuMemAllocAsync")) return code;
  void* pool = nullptr;
  if (const int code = cuDeviceGetMemPool(&pool, current_device())) return code;
  return allocate_on(address, bytes, pool, stream);
}
int cuMemAllocAsync_ptsz(Address* address, std::size_t bytes, void* stream) {
  return cuMemAllocAsync(address, bytes, stream);
}

int cuMemFreeAsync(Address address, void*) {
  if (const int code = fault("cuMemFreeAsync")) return code;
  return free_allocation(address);
}
int cuMemFreeAsync_ptsz(Address address, void*) { return free_allocation(address); }

}  // extern "C"
