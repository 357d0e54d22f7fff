// A libcuda.so.1 for tests. BERTH_FAKE_CUDA says which devices there are: "UUID=name;UUID=name" in
// CUDA's order (UUIDs as 32 hexadecimal digits). Or it is "error:999" (what cuInit answers), "hang"
// or "crash". More of a device may follow: "UUID=name=4G=0000:01:00.0=8.0". That is its memory
// (else 1 MiB), PCI address and compute capability. CUDA_VISIBLE_DEVICES counts as it is when
// cuInit is called. Memory is the host's, kernels run in ptx_machine. BERTH_FAKE_CUDA_FAULT lets
// things go wrong, several separated by commas:
//
//   NAME=CODE    the function of that name answers that
//   hang:NAME    it does not come back; NAME@N: of device N alone
//   crash:NAME   it aborts
//   wrong:N      device N flips a bit of each product it computes (berth_multiply)
//   torn:N       what is copied from device N has one byte changed
//   no_kernels   modules of all kinds are loaded; what is launched computes nothing
//   slow:N       copies to and from device N take a millisecond per 64 KiB
//
//   wide_pitch   rows are padded to 4 KiB
//   fragmented   a pool serves nothing from what was freed in it
//
// BERTH_FAKE_CUDA_KEEP names a directory that the text of each module is written to.
// BERTH_FAKE_CUDA_MEMORY names a file in which processes count what they use of the same cards. The
// first process makes it. BERTH_FAKE_CUDA_CONTEXT=300M is what a context takes.

#include <time.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "fake_driver.h"

namespace {

char nothing;  // a module of any kind, and each of its kernels: with no_kernels

}  // namespace

using namespace fake;

namespace {

void take_time(int device, std::size_t bytes) {
  if (!has_fault("slow:" + std::to_string(card(device)->number))) return;
  const auto nanoseconds = static_cast<long>(bytes / 65536 * 1'000'000);
  const timespec pause{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  nanosleep(&pause, nullptr);
}

int copy(Address to, Address from, std::size_t bytes, int from_device, int to_device) {
  if (broken) return illegal_address;
  std::memmove(pointer(to), pointer(from), bytes);
  const int device = from_device >= 0 ? from_device : to_device;
  take_time(device, bytes);
  if (from_device >= 0 && bytes > 0 &&
      has_fault("torn:" + std::to_string(card(from_device)->number))) {
    static_cast<char*>(pointer(to))[bytes / 2] ^= 1;
  }
  return 0;
}

}  // namespace

extern "C" {

int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  if (const int code = fault("cuMemcpyHtoD_v2")) return code;
  const Allocation target = around(to, bytes);
  if (target.bytes == 0) return invalid_value;
  return copy(to, reinterpret_cast<Address>(from), bytes, -1, target.device);
}

int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  if (const int code = fault("cuMemcpyDtoH_v2")) return code;
  const Allocation source = around(from, bytes);
  if (source.bytes == 0) return invalid_value;
  return copy(reinterpret_cast<Address>(to), from, bytes, source.device, -1);
}

int cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes) {
  if (const int code = fault("cuMemcpyDtoD_v2")) return code;
  const Allocation target = around(to, bytes);
  if (around(from, bytes).bytes == 0 || target.bytes == 0) return invalid_value;
  return copy(to, from, bytes, -1, target.device);
}

int cuMemcpyPeer(Address to, void* to_context, Address from, void* from_context,
                 std::size_t bytes) {
  if (const int code = fault("cuMemcpyPeer")) return code;
  const Allocation source = around(from, bytes);
  const Allocation target = around(to, bytes);
  if (source.bytes == 0 || target.bytes == 0 || to_context == nullptr || from_context == nullptr) {
    return invalid_value;
  }
  return copy(to, from, bytes, source.device, target.device);
}

int cuModuleLoadData(void** module, const void* image) {
  if (const int code = fault("cuModuleLoadData")) return code;
  if (const std::string folder = variable("BERTH_FAKE_CUDA_KEEP"); !folder.empty()) {
    static int modules = 0;
    std::ofstream(folder + "/" + std::to_string(modules++) + ".ptx")
        << static_cast<const char*>(image);
  }
  if (current == nullptr) return invalid_context;
  if (has_fault("no_kernels")) {
    *module = &nothing;
    return 0;
  }
  auto read = ptx::read(static_cast<const char*>(image));
  if (!read) return invalid_ptx;
  current->modules.push_back(std::make_unique<ptx::Module>(std::move(*read)));
  *module = current->modules.back().get();
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (module == &nothing) {
    *function = &nothing;
    return 0;
  }
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
  if (function == &nothing) return 0;
  const auto& kernel = *static_cast<const ptx::Function*>(function);
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < kernel.parameter_sizes.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], kernel.parameter_sizes[i]);
    values.push_back(value);
  }
  const int device = current->device;
  const auto reachable = [&](std::uint64_t address, std::size_t bytes) {
    const Allocation hit = around(address, bytes);
    return hit.bytes > 0 && hit.device == device;
  };
  broken = !ptx::run(kernel, {grid_x, grid_y, block_x, block_y}, values, reachable);
  // A product has three buffers; the last is what is computed.
  if (!broken && values.size() == 4 && has_fault("wrong:" + std::to_string(card(device)->number))) {
    static_cast<char*>(pointer(values[2]))[5] ^= 0x40;
  }
  return 0;
}

}  // extern "C"
