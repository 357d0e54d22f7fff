// The fake driver's virtual memory management. What is mapped by cuMemMap is zero each time. A
// block ends with its last handle and its last mapping.

#include "virtual_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

namespace fake {
namespace {

constexpr std::size_t granularity = std::size_t{2} << 20U;

struct Block {  // by cuMemCreate
  std::size_t bytes = 0;
  int device = 0;
  std::size_t used = 0;  ///< of the card; 0: imported, or the host's
  int maps = 0;          ///< or bindings
  int handles = 1;
  Address bound = 0;  ///< to a multicast object
};
struct Mapped {
  std::size_t bytes;
  Address block;
};

std::mutex virtual_memory_guard;  // of all below
auto& blocks = *new std::map<Address, Block>;
auto& maps = *new std::map<Address, Mapped>;
Address next_block = 1;

Address add_block(const Block& block) {
  const std::lock_guard lock(virtual_memory_guard);
  blocks[next_block] = block;
  return next_block++;
}

void drop_unneeded(std::map<Address, Block>::iterator block) {
  if (block->second.maps > 0 || block->second.handles > 0) return;
  if (block->second.used > 0) give_back(block->second.device, block->second.used);
  blocks.erase(block);
}

/// The mapping that the address lies in.
std::map<Address, Mapped>::iterator map_of(Address address) {
  auto after = maps.upper_bound(address);
  if (after == maps.begin()) return maps.end();
  --after;
  return address < after->first + after->second.bytes ? after : maps.end();
}

}  // namespace

Allocation mapped_around(Address address) {
  const std::lock_guard lock(virtual_memory_guard);
  const auto map = map_of(address);
  if (map == maps.end()) return {.bytes = 0, .device = -1};
  return {.bytes = map->second.bytes, .device = blocks.at(map->second.block).device};
}

}  // namespace fake

using namespace fake;

extern "C" {

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
  if (bytes == 0 || bytes % granularity != 0) return invalid_value;
  if (properties[2] != 1) {  // the host's memory
    *block = add_block({.bytes = bytes, .device = -1});
    return 0;
  }
  const int device = properties[3];
  if (card(device) == nullptr) return invalid_device;
  if (!use(device, bytes)) return out_of_memory;
  *block = add_block({.bytes = bytes, .device = device, .used = bytes});
  return 0;
}

int cuMemRelease(Address block) {
  const std::lock_guard lock(virtual_memory_guard);
  const auto found = blocks.find(block);
  if (found == blocks.end() || found->second.handles == 0) return invalid_value;
  --found->second.handles;
  drop_unneeded(found);
  return 0;
}

int cuMemMap(Address address, std::size_t bytes, std::size_t, Address block, unsigned long long) {
  const std::lock_guard lock(virtual_memory_guard);
  const auto found = blocks.find(block);
  if (found == blocks.end() || found->second.handles == 0) return invalid_value;
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
  const std::lock_guard lock(virtual_memory_guard);
  for (auto it = maps.lower_bound(address); it != maps.end() && it->first < address + bytes;) {
    const auto block = blocks.find(it->second.block);
    --block->second.maps;
    drop_unneeded(block);
    it = maps.erase(it);
  }
  return reserve(pointer(address), bytes, PROT_NONE) == nullptr ? invalid_value : 0;
}

int cuMemRetainAllocationHandle(Address* block, void* address) {
  const std::lock_guard lock(virtual_memory_guard);
  const auto map = map_of(reinterpret_cast<Address>(address));
  if (map == maps.end()) return invalid_value;
  *block = map->second.block;
  ++blocks.at(*block).handles;
  return 0;
}

/// As a file descriptor. An importing process gets pages of its own, which count for the process
/// that made them.
int cuMemExportToShareableHandle(void* shared, Address block, int type, unsigned long long) {
  if (type != 1) return not_supported;
  const std::lock_guard lock(virtual_memory_guard);
  const auto found = blocks.find(block);
  if (found == blocks.end()) return invalid_value;
  const std::size_t parts[] = {found->second.bytes, static_cast<std::size_t>(found->second.device)};
  const int file = ::memfd_create("block", MFD_CLOEXEC);
  if (::pwrite(file, parts, sizeof parts, 0) != sizeof parts) return not_supported;
  *static_cast<int*>(shared) = file;
  return 0;
}
int cuMemImportFromShareableHandle(Address* block, void* shared, int type) {
  std::size_t parts[2];
  const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(shared));
  if (type != 1 || ::pread(file, parts, sizeof parts, 0) != sizeof parts) return invalid_value;
  *block = add_block({.bytes = parts[0], .device = static_cast<int>(parts[1])});
  return 0;
}

/// A multicast object has no memory of its own: what is bound to it stays for as long.
/// `properties`: CUmulticastObjectProp of cuda.h, number of devices and size.
int cuMulticastCreate(Address* object, const std::size_t* properties) {
  if (const int code = fault("cuMulticastCreate")) return code;
  if (properties[1] == 0 || properties[1] % granularity != 0) return invalid_value;
  *object = add_block({.bytes = properties[1], .device = -1});
  return 0;
}
int cuMulticastAddDevice(Address, int device) {
  return card(device) == nullptr ? invalid_device : 0;
}
int cuMulticastBindMem(Address object, std::size_t, Address block, std::size_t, std::size_t,
                       unsigned long long) {
  const std::lock_guard lock(virtual_memory_guard);
  const auto to = blocks.find(object);
  const auto bound = blocks.find(block);
  if (to == blocks.end() || bound == blocks.end() || to->second.bound != 0) return invalid_value;
  to->second.bound = block;
  ++bound->second.maps;
  return 0;
}
int cuMulticastUnbind(Address object, int, std::size_t, std::size_t) {
  const std::lock_guard lock(virtual_memory_guard);
  const auto from = blocks.find(object);
  if (from == blocks.end() || from->second.bound == 0) return invalid_value;
  const auto bound = blocks.find(std::exchange(from->second.bound, 0));
  --bound->second.maps;
  drop_unneeded(bound);
  return 0;
}

}  // extern "C"
