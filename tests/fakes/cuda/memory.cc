// The fake driver's memory: each card's own, counted, and of the host, at the same address for
// both. Nothing is resident before it is written to. What is mapped by cuMemMap is zero each time.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

#include "fake_driver.h"

namespace fake {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t granularity = std::size_t{2} << 20U;
/// Where cards are as small as this, memory comes filled with what nobody asked for.
constexpr std::size_t small_card = std::size_t{1} << 20U;

struct Block {  // by cuMemCreate
  std::size_t bytes;
  int device;
  int maps = 0;
  bool released = false;
};
struct Mapped {
  std::size_t bytes;
  Address block;
};

std::mutex guard;  // of all below
std::array<std::size_t, 64> used{};
auto& allocations = *new std::map<Address, Allocation>;
auto& blocks = *new std::map<Address, Block>;
auto& maps = *new std::map<Address, Mapped>;
Address next_block = 1;

std::size_t up_to(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* reserve(void* at, std::size_t bytes, int access) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  void* memory =
      ::mmap(at, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// Charges what fits.
bool charge(int device, std::size_t bytes) {
  const Card* one = card(device);
  auto& mine = used.at(static_cast<std::size_t>(device));
  if (one == nullptr || bytes > one->bytes - mine) return false;
  mine += bytes;
  return true;
}

void refund(int device, std::size_t bytes) { used.at(static_cast<std::size_t>(device)) -= bytes; }

void drop_unneeded(std::map<Address, Block>::iterator block) {
  if (block->second.maps > 0 || !block->second.released) return;
  refund(block->second.device, block->second.bytes);
  blocks.erase(block);
}

}  // namespace

Allocation around(Address address, std::size_t bytes) {
  const std::lock_guard lock(guard);
  if (auto after = allocations.upper_bound(address); after != allocations.begin()) {
    --after;
    if (address + bytes <= after->first + after->second.bytes) return after->second;
  }
  if (auto after = maps.upper_bound(address); after != maps.begin()) {
    --after;
    if (address < after->first + after->second.bytes) {
      return {after->second.bytes, blocks.at(after->second.block).device};
    }
  }
  return {0, -1};
}

void release_memory(int device) {
  const std::lock_guard lock(guard);
  for (auto it = allocations.begin(); it != allocations.end();) {
    if (it->second.device != device) {
      ++it;
      continue;
    }
    ::munmap(pointer(it->first), up_to(it->second.bytes, page));
    refund(device, it->second.bytes);
    it = allocations.erase(it);
  }
}

}  // namespace fake

using namespace fake;

extern "C" {

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current_device() < 0) return invalid_context;
  const std::lock_guard lock(guard);
  *total = card(current_device())->bytes;
  *free = *total - used.at(static_cast<std::size_t>(current_device()));
  return fault("cuMemGetInfo_v2");
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  if (const int code = fault("cuMemAlloc_v2")) return code;
  const int device = current_device();
  if (device < 0) return invalid_context;
  if (bytes == 0) return invalid_value;
  const std::lock_guard lock(guard);
  if (!charge(device, bytes)) return out_of_memory;
  void* memory = reserve(nullptr, up_to(bytes, page), PROT_READ | PROT_WRITE);
  if (memory == nullptr) {
    refund(device, bytes);
    return out_of_memory;
  }
  if (card(device)->bytes <= small_card) std::memset(memory, 0xCD, bytes);
  *address = reinterpret_cast<Address>(memory);
  allocations[*address] = {bytes, device};
  return 0;
}

int cuMemFree_v2(Address address) {
  const std::lock_guard lock(guard);
  const auto found = allocations.find(address);
  if (found == allocations.end()) return invalid_value;
  ::munmap(pointer(address), up_to(found->second.bytes, page));
  refund(found->second.device, found->second.bytes);
  allocations.erase(found);
  return 0;
}

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
  const std::lock_guard lock(guard);
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

int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  *bytes = granularity;
  return 0;
}

int cuMemAddressReserve(Address* address, std::size_t bytes, std::size_t, Address,
                        unsigned long long) {
  void* memory = reserve(nullptr, bytes, PROT_NONE);
  *address = reinterpret_cast<Address>(memory);
  return memory == nullptr ? out_of_memory : fault("cuMemAddressReserve");
}

int cuMemAddressFree(Address address, std::size_t bytes) {
  return ::munmap(pointer(address), bytes) == 0 ? 0 : invalid_value;
}

/// `properties`: CUmemAllocationProp of cuda.h: type, handle types, then the location's type and
/// number.
int cuMemCreate(Address* block, std::size_t bytes, const int* properties, unsigned long long) {
  if (const int code = fault("cuMemCreate")) return code;
  const int device = properties[3];
  if (card(device) == nullptr) return invalid_device;
  if (bytes == 0 || bytes % granularity != 0) return invalid_value;
  const std::lock_guard lock(guard);
  if (!charge(device, bytes)) return out_of_memory;
  *block = next_block++;
  blocks[*block] = {bytes, device};
  return 0;
}

int cuMemRelease(Address block) {
  const std::lock_guard lock(guard);
  const auto found = blocks.find(block);
  if (found == blocks.end() || found->second.released) return invalid_value;
  found->second.released = true;
  drop_unneeded(found);
  return 0;
}

int cuMemMap(Address address, std::size_t bytes, std::size_t, Address block, unsigned long long) {
  const std::lock_guard lock(guard);
  const auto found = blocks.find(block);
  if (found == blocks.end() || found->second.released) return invalid_value;
  if (reserve(pointer(address), bytes, PROT_NONE) == nullptr) return invalid_value;
  maps[address] = {bytes, block};
  ++found->second.maps;
  return 0;
}

/// Before it nobody can read or write, as on a card.
int cuMemSetAccess(Address address, std::size_t bytes, const void*, std::size_t) {
  return ::mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : invalid_value;
}

int cuMemUnmap(Address address, std::size_t bytes) {
  const std::lock_guard lock(guard);
  for (auto it = maps.lower_bound(address); it != maps.end() && it->first < address + bytes;) {
    const auto block = blocks.find(it->second.block);
    --block->second.maps;
    drop_unneeded(block);
    it = maps.erase(it);
  }
  return reserve(pointer(address), bytes, PROT_NONE) == nullptr ? invalid_value : 0;
}

// What the allocator of PyTorch looks up and, for memory of one process, never calls.
int cuMemExportToShareableHandle(void*, Address, int, unsigned long long) { return not_supported; }
int cuMemImportFromShareableHandle(Address*, void*, int) { return not_supported; }
int cuMulticastCreate(void*, const void*) { return not_supported; }
int cuMulticastAddDevice(Address, int) { return not_supported; }
int cuMulticastBindMem(Address, std::size_t, Address, std::size_t, std::size_t,
                       unsigned long long) {
  return not_supported;
}
int cuStreamWriteValue32_v2(void*, Address, unsigned, unsigned) { return not_supported; }
int cuStreamWriteValue32(void*, Address, unsigned, unsigned) { return not_supported; }

int cuMemsetD32Async(Address address, unsigned value, std::size_t count, void*) {
  std::fill_n(static_cast<unsigned*>(pointer(address)), count, value);
  return 0;
}

}  // extern "C"
