// The fake driver's memory with an address. It is the host's, at the same address for both, and
// counts for its card. Nothing is resident before it is written to.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "fake_driver.h"
#include "virtual_memory.h"

namespace fake {
namespace {

constexpr std::size_t page = 4096;
/// On cards as small as this, memory comes filled with arbitrary bytes.
constexpr std::size_t small_card = std::size_t{1} << 20U;

std::mutex memory_guard;  // of all below
auto& allocations = *new std::map<Address, Allocation>;
/// Freed pages that are handed out again: a system call less for a pair of allocate and free.
struct Spare {
  void* memory = nullptr;
  std::size_t bytes = 0;
};
Spare spare;

void* pages_for(std::size_t bytes, bool low) {
  if (!low && spare.bytes == bytes) return std::exchange(spare, {}).memory;
  return reserve(nullptr, bytes, PROT_READ | PROT_WRITE, low ? MAP_32BIT : 0);
}

void drop(Address address, std::size_t bytes, bool is_small) {
  const Spare old = spare;
  spare = is_small ? Spare{} : Spare{pointer(address), bytes};
  if (is_small) ::munmap(pointer(address), bytes);
  if (old.memory != nullptr) ::munmap(old.memory, old.bytes);
}

}  // namespace

void* reserve(void* at, std::size_t bytes, int access, int more) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  void* memory =
      ::mmap(at, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed | more, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

Address place(const Allocation& one, bool low) {
  const std::lock_guard lock(memory_guard);
  void* memory = pages_for(up_to(one.bytes, page), low);
  if (memory == nullptr) return 0;
  const Card* of = card(one.device);
  if (of != nullptr && of->bytes <= small_card) std::memset(memory, 0xCD, one.bytes);
  allocations[reinterpret_cast<Address>(memory)] = one;
  return reinterpret_cast<Address>(memory);
}

Allocation around(Address address, std::size_t bytes) {
  {
    const std::lock_guard lock(memory_guard);
    if (auto after = allocations.upper_bound(address); after != allocations.begin()) {
      --after;
      if (address + bytes <= after->first + after->second.bytes) return after->second;
    }
  }
  return mapped_around(address);
}

int free_allocation(Address address) {
  if (!has_begun()) return not_initialized;
  Allocation one{};
  {
    const std::lock_guard lock(memory_guard);
    const auto found = allocations.find(address);
    if (found == allocations.end()) return invalid_value;
    one = found->second;
    allocations.erase(found);
    const Card* of = card(one.device);
    drop(address, up_to(one.bytes, page), of == nullptr || of->bytes <= small_card);
  }
  if (one.used > 0) give_back(one.device, one.used);
  if (one.pool != nullptr) end_in_pool(*one.pool, one.bytes);
  return 0;
}

void release_memory(const Context* context) {
  std::vector<Address> gone;
  {
    const std::lock_guard lock(memory_guard);
    for (const auto& [address, one] : allocations) {
      if (one.context == context) gone.push_back(address);
    }
  }
  for (const Address address : gone) free_allocation(address);
}

namespace {

/// `name`: of the function that is asked, for faults.
int allocate(const char* name, Address* address, std::size_t bytes, bool low = false) {
  if (const int code = fault(name)) return code;
  const int device = current_device();
  if (device < 0 || !has_begun()) return invalid_context;
  if (bytes == 0) return invalid_value;
  if (!use(device, bytes)) return out_of_memory;
  *address = place({.bytes = bytes, .device = device, .used = bytes, .context = current}, low);
  if (*address != 0) return 0;
  give_back(device, bytes);
  return out_of_memory;
}

int allocate_low(const char* name, unsigned* address, std::size_t bytes) {
  Address wide = 0;
  const int code = allocate(name, &wide, bytes, true);
  if (code == 0) *address = static_cast<unsigned>(wide);
  return code;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current_device() < 0) return invalid_context;
  const std::size_t all = card(current_device())->bytes;
  if (total != nullptr) *total = all;
  if (free != nullptr) *free = free_of(current_device());
  return fault("cuMemGetInfo_v2");
}

int cuMemGetInfo(unsigned* free, unsigned* total) {
  std::size_t wide_free = 0;
  std::size_t wide_total = 0;
  const int code = cuMemGetInfo_v2(&wide_free, &wide_total);
  constexpr std::size_t most = 0xFFFFFFFFU;
  if (free != nullptr) *free = static_cast<unsigned>(std::min(wide_free, most));
  if (total != nullptr) *total = static_cast<unsigned>(std::min(wide_total, most));
  return code;
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  return allocate("cuMemAlloc_v2", address, bytes);
}
int cuMemAlloc(unsigned* address, unsigned bytes) {
  return allocate_low("cuMemAlloc", address, bytes);
}
int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned) {
  return allocate("cuMemAllocManaged", address, bytes);
}

int cuMemAllocPitch_v2(Address* address, std::size_t* pitch, std::size_t width, std::size_t height,
                       unsigned) {
  *pitch = up_to(width, has_fault("wide_pitch") ? 4096 : 512);
  return allocate("cuMemAllocPitch_v2", address, *pitch * height);
}
int cuMemAllocPitch(unsigned* address, unsigned* pitch, unsigned width, unsigned height, unsigned) {
  *pitch = static_cast<unsigned>(up_to(width, 512));
  return allocate_low("cuMemAllocPitch", address, std::size_t{*pitch} * height);
}

int cuMemFree_v2(Address address) {
  if (const int code = fault("cuMemFree_v2")) return code;
  return free_allocation(address);
}
int cuMemFree(unsigned address) { return free_allocation(address); }

int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  if (const int code = fault("cuMemAllocHost_v2")) return code;
  *memory = std::aligned_alloc(256, up_to(bytes, 256));
  return *memory == nullptr ? out_of_memory : 0;
}

int cuMemFreeHost(void* memory) {
  std::free(memory);
  return 0;
}

int cuMemGetAddressRange_v2(Address* base, std::size_t* bytes, Address address) {
  const std::lock_guard lock(memory_guard);
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return not_found;
  --after;
  if (address >= after->first + after->second.bytes) return not_found;
  *base = after->first;
  *bytes = after->second.bytes;
  return 0;
}

/// CU_POINTER_ATTRIBUTE_MEMORY_TYPE and _DEVICE_ORDINAL of device memory.
int cuPointerGetAttribute(void* data, int attribute, Address address) {
  const Allocation hit = around(address, 1);
  if (hit.bytes == 0 || (attribute != 2 && attribute != 9)) return invalid_value;
  *static_cast<int*>(data) = attribute == 2 ? 2 : hit.device;
  return 0;
}

/// CUipcMemHandle. Another process is given pages of its own, which count once: for the process
/// that allocated them.
struct IpcHandle {
  std::size_t bytes;
  int number;  // of the card, wherever it is shown
  char rest[52];
};
static_assert(sizeof(IpcHandle) == 64);

int cuIpcGetMemHandle(IpcHandle* handle, Address address) {
  const Allocation one = around(address, 1);
  if (one.bytes == 0) return invalid_value;
  *handle = {one.bytes, static_cast<int>(card(one.device)->number), {}};
  return 0;
}
int cuIpcOpenMemHandle_v2(Address* address, IpcHandle handle, unsigned) {
  for (const Card& one : cards()) {
    if (static_cast<int>(one.number) != handle.number) continue;
    *address = place({.bytes = handle.bytes, .device = static_cast<int>(&one - cards().data())});
    return 0;
  }
  return invalid_device;
}
int cuIpcCloseMemHandle(Address address) { return free_allocation(address); }

int cuStreamWriteValue32_v2(void*, Address, unsigned, unsigned) { return not_supported; }
int cuStreamWriteValue32(void*, Address, unsigned, unsigned) { return not_supported; }

int cuMemsetD32Async(Address address, unsigned value, std::size_t count, void*) {
  std::fill_n(static_cast<unsigned*>(pointer(address)), count, value);
  return 0;
}

}  // extern "C"
