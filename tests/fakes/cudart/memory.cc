// The stand-in runtime's memory: the driver's, which is the host's.

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime.h"

using namespace stand_in;

namespace {

using Address = unsigned long long;

constexpr std::size_t page = 4096;

std::mutex guard;                                            // of what follows
auto& on_host = *new std::map<std::uintptr_t, std::size_t>;  // pinned

Address as_address(const void* pointer) { return reinterpret_cast<Address>(pointer); }

int allocate(void** memory, std::size_t bytes) {
  *memory = nullptr;
  if (const int code = enter()) return code;
  if (bytes == 0) return 0;
  Address address = 0;
  const int code = driver().cuMemAlloc_v2(&address, bytes);
  *memory = reinterpret_cast<void*>(address);
  return code;
}

bool is_on_host(const void* memory) {
  const std::lock_guard lock(guard);
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  auto after = on_host.upper_bound(at);
  if (after == on_host.begin()) return false;
  --after;
  return at < after->first + after->second;
}

int copy(void* to, const void* from, std::size_t bytes) {
  if (const int code = enter()) return code;
  std::memmove(to, from, bytes);
  return 0;
}

int fill(void* memory, int value, std::size_t bytes) {
  if (const int code = enter()) return code;
  int device = 0;
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (value != 0 || begin >= end || !is_of_a_device(memory, &device)) {
    std::memset(memory, value, bytes);
    return 0;
  }
  // Whole pages of zeros need not be resident.
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  std::memset(memory, 0, begin - reinterpret_cast<std::uintptr_t>(memory));
  std::memset(reinterpret_cast<void*>(end), 0,
              reinterpret_cast<std::uintptr_t>(memory) + bytes - end);
  return 0;
}

struct PointerAttributes {  // cudaPointerAttributes of driver_types.h
  int type;                 // 0 unregistered, 1 host, 2 device
  int device;
  void* on_device;
  void* on_host;
};
static_assert(sizeof(PointerAttributes) == 24);

}  // namespace

extern "C" {

int cudaMalloc(void** memory, std::size_t bytes) { return finish(allocate(memory, bytes)); }

int cudaFree(void* memory) {
  if (const int code = enter()) return finish(code);
  return memory == nullptr ? 0 : finish(driver().cuMemFree_v2(as_address(memory)));
}

int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const int code = enter()) return finish(code);
  return finish(driver().cuMemGetInfo_v2(free, total));
}

int cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const int code = enter()) return finish(code);
  if (const int code = driver().cuMemAllocHost_v2(memory, bytes)) return finish(code);
  const std::lock_guard lock(guard);
  on_host[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
  return 0;
}

int cudaMallocHost(void** memory, std::size_t bytes) { return cudaHostAlloc(memory, bytes, 0); }

int cudaFreeHost(void* memory) {
  {
    const std::lock_guard lock(guard);
    on_host.erase(reinterpret_cast<std::uintptr_t>(memory));
  }
  return begin() == 0 ? finish(driver().cuMemFreeHost(memory)) : 0;
}

int cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (const int code = enter()) return finish(code);
  const std::lock_guard lock(guard);
  on_host[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
  return 0;
}

int cudaHostUnregister(void* memory) {
  const std::lock_guard lock(guard);
  return finish(on_host.erase(reinterpret_cast<std::uintptr_t>(memory)) == 1 ? 0 : invalid_value);
}

int cudaHostGetDevicePointer(void** on_device, void* on_host_, unsigned) {
  *on_device = on_host_;
  return 0;
}

int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  if (const int code = begin()) return finish(code);
  auto* memory = const_cast<void*>(pointer);
  int device = 0;
  if (is_of_a_device(pointer, &device)) {
    *attributes = {2, device, memory, nullptr};
  } else if (is_on_host(pointer)) {
    *attributes = {1, stand_in::device(), memory, memory};
  } else {
    *attributes = {0, -2, nullptr, memory};
  }
  return 0;
}

int cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  return finish(copy(to, from, bytes));
}

int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  return finish(copy(to, from, bytes));
}

int cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  return finish(copy(to, from, bytes));
}

int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, void*) {
  return finish(copy(to, from, bytes));
}

int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t width, std::size_t height, int) {
  for (std::size_t row = 0; row < height; ++row) {
    const int code = copy(static_cast<char*>(to) + row * to_pitch,
                          static_cast<const char*>(from) + row * from_pitch, width);
    if (code != 0) return finish(code);
  }
  return 0;
}

int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, int kind, void*) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

int cudaMemset(void* memory, int value, std::size_t bytes) {
  return finish(fill(memory, value, bytes));
}

int cudaMemsetAsync(void* memory, int value, std::size_t bytes, void*) {
  return finish(fill(memory, value, bytes));
}

// The pools are the driver's; cudaMemPoolAttr has the numbers of CUmemPool_attribute.

int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  if (const int code = begin()) return finish(code);
  return finish(driver().cuDeviceGetDefaultMemPool(pool, device));
}

int cudaDeviceGetMemPool(void** pool, int device) {
  if (const int code = begin()) return finish(code);
  return finish(driver().cuDeviceGetMemPool(pool, device));
}

int cudaMallocFromPoolAsync(void** memory, std::size_t bytes, void* pool, void* stream) {
  *memory = nullptr;
  if (const int code = enter()) return finish(code);
  if (bytes == 0) return 0;
  Address address = 0;
  const int code = driver().cuMemAllocFromPoolAsync(&address, bytes, pool, stream);
  *memory = reinterpret_cast<void*>(address);
  return finish(code);
}

int cudaMallocAsync(void** memory, std::size_t bytes, void* stream) {
  *memory = nullptr;
  if (const int code = enter()) return finish(code);
  if (bytes == 0) return 0;
  Address address = 0;
  const int code = driver().cuMemAllocAsync(&address, bytes, stream);
  *memory = reinterpret_cast<void*>(address);
  return finish(code);
}

int cudaFreeAsync(void* memory, void* stream) {
  if (const int code = enter()) return finish(code);
  return memory == nullptr ? 0 : finish(driver().cuMemFreeAsync(as_address(memory), stream));
}

int cudaMemPoolTrimTo(void* pool, std::size_t bytes) {
  return finish(driver().cuMemPoolTrimTo(pool, bytes));
}
int cudaMemPoolSetAccess(void*, const void*, std::size_t) { return 0; }
int cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return finish(driver().cuMemPoolGetAttribute(pool, attribute, value));
}
int cudaMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return finish(driver().cuMemPoolSetAttribute(pool, attribute, value));
}

}  // extern "C"
