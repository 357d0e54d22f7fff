// A libcuda.so.1 for tests. BERTH_FAKE_CUDA says which devices there are: "UUID=name;UUID=name" in
// CUDA's order (UUIDs as 32 hexadecimal digits), or "error:999" (what cuInit answers), "hang",
// "crash". Memory is the host's, kernels run in ptx_machine. BERTH_FAKE_CUDA_FAULT lets things go
// wrong, several separated by commas:
//
//   NAME=CODE    the function of that name answers that
//   hang:NAME    it does not come back; NAME@N: of device N alone
//   crash:NAME   it aborts
//   wrong:N      device N flips a bit of each product it computes (berth_multiply)
//   torn:N       what is copied from device N has one byte changed
//   slow:N       copies to and from device N take a millisecond per 64 KiB
//
// BERTH_FAKE_CUDA_KEEP names a directory that the text of each module is written to.

#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ptx_machine.h"

namespace {

using Address = unsigned long long;

constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int invalid_device = 101;
constexpr int invalid_context = 201;
constexpr int invalid_ptx = 218;
constexpr int not_found = 500;
constexpr int illegal_address = 700;

struct Context {
  int device = 0;
  int retained = 0;
  std::vector<std::unique_ptr<ptx::Module>> modules;
};
struct Allocation {
  std::size_t bytes;
  int device;
};

std::array<Context, 64> contexts;
Context* current = nullptr;
std::map<Address, Allocation> allocations;
bool broken = false;  // an illegal access: the context answers nothing else any more

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::vector<std::string> entries(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::string one;
  for (const char c : text + separator) {
    if (c != separator) {
      one += c;
      continue;
    }
    if (!one.empty()) found.push_back(one);
    one.clear();
  }
  return found;
}

bool has_fault(const std::string& wanted) {
  for (const std::string& fault : entries(variable("BERTH_FAKE_CUDA_FAULT"), ',')) {
    if (fault == wanted) return true;
  }
  return false;
}

/// Where CUDA_VISIBLE_DEVICES names UUIDs, those alone and in that order.
std::vector<std::string> devices() {
  const auto all = entries(variable("BERTH_FAKE_CUDA"), ';');
  const std::string list = variable("CUDA_VISIBLE_DEVICES");
  if (!list.starts_with("GPU-") && !list.starts_with("MIG-")) return all;
  std::vector<std::string> shown;
  for (const std::string& entry : entries(list, ',')) {
    std::string uuid;
    for (const char c : entry.substr(4)) {
      if (c != '-') uuid += c;
    }
    for (const std::string& one : all) {
      if (one.starts_with(uuid)) shown.push_back(one);
    }
  }
  return shown;
}

/// As faults name a device: by its place in BERTH_FAKE_CUDA, whatever is shown.
std::string number_of(int device) {
  const auto shown = devices();
  const auto all = entries(variable("BERTH_FAKE_CUDA"), ';');
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == shown.at(static_cast<std::size_t>(device))) return std::to_string(i);
  }
  return "";
}

/// What this function answers whatever it is asked; 0: nothing of that kind.
int fault(const char* name) {
  const std::string here = current == nullptr ? "" : "@" + number_of(current->device);
  if (has_fault(std::string("hang:") + name) || has_fault(std::string("hang:") + name + here)) {
    for (;;) pause();
  }
  if (has_fault(std::string("crash:") + name)) std::abort();
  for (const std::string& one : entries(variable("BERTH_FAKE_CUDA_FAULT"), ',')) {
    if (one.starts_with(std::string(name) + "="))
      return std::atoi(one.c_str() + std::strlen(name) + 1);
  }
  return broken ? illegal_address : 0;
}

const Allocation* around(Address address, std::size_t bytes) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return nullptr;
  --after;
  return address + bytes <= after->first + after->second.bytes ? &after->second : nullptr;
}

/// As the driver does when whoever let go of a device was the last.
void reset(Context& context) {
  context.modules.clear();
  for (auto it = allocations.begin(); it != allocations.end();) {
    if (it->second.device != context.device) {
      ++it;
      continue;
    }
    std::free(reinterpret_cast<void*>(it->first));
    it = allocations.erase(it);
  }
  broken = false;
}

void take_time(int device, std::size_t bytes) {
  if (!has_fault("slow:" + number_of(device))) return;
  const auto nanoseconds = static_cast<long>(bytes / 65536 * 1'000'000);
  const timespec pause{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  nanosleep(&pause, nullptr);
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

int copy(Address to, Address from, std::size_t bytes, int from_device, int to_device) {
  if (broken) return illegal_address;
  std::memmove(pointer(to), pointer(from), bytes);
  const int device = from_device >= 0 ? from_device : to_device;
  take_time(device, bytes);
  if (from_device >= 0 && bytes > 0 && has_fault("torn:" + number_of(from_device))) {
    static_cast<char*>(pointer(to))[bytes / 2] ^= 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  const std::string wanted = variable("BERTH_FAKE_CUDA");
  if (wanted == "hang") pause();
  if (wanted == "crash") std::abort();
  if (wanted.starts_with("error:")) return std::atoi(wanted.c_str() + 6);
  return fault("cuInit");
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(devices().size());
  return fault("cuDeviceGetCount");
}

int cuDeviceGet(int* device, int index) {
  *device = index;
  return fault("cuDeviceGet");
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  const auto all = devices();
  if (device < 0 || static_cast<std::size_t>(device) >= all.size()) return invalid_device;
  for (std::size_t i = 0; i < 16; ++i) {
    uuid[i] = static_cast<unsigned char>(
        std::strtoul(all[static_cast<std::size_t>(device)].substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return fault("cuDeviceGetUuid_v2");
}

int cuDeviceGetName(char* name, int length, int device) {
  const auto all = devices();
  if (device < 0 || static_cast<std::size_t>(device) >= all.size()) return invalid_device;
  const std::string& entry = all[static_cast<std::size_t>(device)];
  const auto equals = entry.find('=');
  if (equals == std::string::npos) return invalid_device;
  std::strncpy(name, entry.c_str() + equals + 1, static_cast<std::size_t>(length) - 1);
  name[length - 1] = '\0';
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  // The names of cuda.h that a test may meet.
  static const std::map<int, const char*> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},        {101, "CUDA_ERROR_INVALID_DEVICE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},  {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {218, "CUDA_ERROR_INVALID_PTX"},      {500, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},  {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"}};
  const auto known = names.find(code);
  *name = known == names.end() ? nullptr : known->second;
  return known == names.end() ? invalid_value : 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int code = fault("cuDevicePrimaryCtxRetain")) return code;
  if (device < 0 || static_cast<std::size_t>(device) >= devices().size()) return invalid_device;
  Context& one = contexts[static_cast<std::size_t>(device)];
  one.device = device;
  ++one.retained;
  *context = &one;
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  Context& one = contexts[static_cast<std::size_t>(device)];
  if (--one.retained == 0) reset(one);
  return fault("cuDevicePrimaryCtxRelease_v2");
}

int cuCtxSetCurrent(void* context) {
  current = static_cast<Context*>(context);
  return fault("cuCtxSetCurrent");
}

int cuCtxSynchronize() {
  if (current == nullptr) return invalid_context;
  return fault("cuCtxSynchronize");
}

int cuCtxEnablePeerAccess(void*, unsigned) { return fault("cuCtxEnablePeerAccess"); }

int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = has_fault("no_peer") ? 0 : 1;
  return 0;
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = std::size_t{1} << 20U;  // little: its kernels run a million instructions in some 20 ms
  *free = *total;
  for (const auto& [address, allocation] : allocations) {
    if (current != nullptr && allocation.device == current->device) *free -= allocation.bytes;
  }
  return fault("cuMemGetInfo_v2");
}

int cuMemAlloc_v2(Address* address, std::size_t bytes) {
  if (const int code = fault("cuMemAlloc_v2")) return code;
  if (current == nullptr) return invalid_context;
  std::size_t free = 0;
  std::size_t total = 0;
  (void)cuMemGetInfo_v2(&free, &total);
  if (bytes > free) return out_of_memory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return out_of_memory;
  std::memset(memory, 0xCD, bytes);
  *address = reinterpret_cast<Address>(memory);
  allocations[*address] = {bytes, current->device};
  return 0;
}

int cuMemFree_v2(Address address) {
  if (allocations.erase(address) == 0) return invalid_value;
  std::free(pointer(address));
  return 0;
}

int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  if (const int code = fault("cuMemAllocHost_v2")) return code;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory == nullptr ? out_of_memory : 0;
}

int cuMemFreeHost(void* memory) {
  std::free(memory);
  return 0;
}

int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  if (const int code = fault("cuMemcpyHtoD_v2")) return code;
  const Allocation* target = around(to, bytes);
  if (target == nullptr) return invalid_value;
  return copy(to, reinterpret_cast<Address>(from), bytes, -1, target->device);
}

int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  if (const int code = fault("cuMemcpyDtoH_v2")) return code;
  const Allocation* source = around(from, bytes);
  if (source == nullptr) return invalid_value;
  return copy(reinterpret_cast<Address>(to), from, bytes, source->device, -1);
}

int cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes) {
  if (const int code = fault("cuMemcpyDtoD_v2")) return code;
  if (around(from, bytes) == nullptr || around(to, bytes) == nullptr) return invalid_value;
  return copy(to, from, bytes, -1, around(to, bytes)->device);
}

int cuMemcpyPeer(Address to, void* to_context, Address from, void* from_context,
                 std::size_t bytes) {
  if (const int code = fault("cuMemcpyPeer")) return code;
  const Allocation* source = around(from, bytes);
  const Allocation* target = around(to, bytes);
  if (source == nullptr || target == nullptr || to_context == nullptr || from_context == nullptr) {
    return invalid_value;
  }
  return copy(to, from, bytes, source->device, target->device);
}

int cuModuleLoadData(void** module, const void* image) {
  if (const int code = fault("cuModuleLoadData")) return code;
  if (const std::string folder = variable("BERTH_FAKE_CUDA_KEEP"); !folder.empty()) {
    static int modules = 0;
    std::ofstream(folder + "/" + std::to_string(modules++) + ".ptx")
        << static_cast<const char*>(image);
  }
  if (current == nullptr) return invalid_context;
  auto read = ptx::read(static_cast<const char*>(image));
  if (!read) return invalid_ptx;
  current->modules.push_back(std::make_unique<ptx::Module>(std::move(*read)));
  *module = current->modules.back().get();
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto& functions = *static_cast<ptx::Module*>(module);
  const auto found = functions.find(name);
  if (found == functions.end()) return not_found;
  *function = &found->second;
  return fault("cuModuleGetFunction");
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned, unsigned block_x,
                   unsigned block_y, unsigned, unsigned, void*, void** parameters, void**) {
  if (const int code = fault("cuLaunchKernel")) return code;
  if (current == nullptr) return invalid_context;
  const auto& kernel = *static_cast<const ptx::Function*>(function);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < kernel.parameter_sizes.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], kernel.parameter_sizes[i]);
    values.push_back(value);
  }
  const int device = current->device;
  const auto reachable = [&](std::uint64_t address, std::size_t bytes) {
    const Allocation* hit = around(address, bytes);
    return hit != nullptr && hit->device == device;
  };
  broken = !ptx::run(kernel, {grid_x, grid_y, block_x, block_y}, values, reachable);
  // A product has three buffers; the last is what is computed.
  if (!broken && values.size() == 4 && has_fault("wrong:" + number_of(device))) {
    static_cast<char*>(pointer(values[2]))[5] ^= 0x40;
  }
  return 0;
}

}  // extern "C"
