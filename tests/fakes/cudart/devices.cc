// The stand-in runtime's devices: what the driver says of them, and which one a thread uses.

#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "runtime.h"

namespace {

thread_local int current = 0;
thread_local int entered = -1;  // whose context the thread has

std::mutex guard;  // of what follows
std::array<void*, 64> contexts{};

/// The place in cudaDeviceProp (CUDA 12's driver_types.h) of what CUdevice_attribute of that number
/// says.
struct Place {
  std::size_t offset;
  int attribute;
  bool is_long = false;
};
constexpr std::size_t properties_bytes = 1032;
constexpr std::size_t uuid_at = 256;
constexpr std::size_t total_memory_at = 288;
constexpr std::size_t bus_at = 584;  // then device and domain
constexpr std::array<Place, 32> places = {{
    {296, 8, true},   // sharedMemPerBlock
    {304, 12},        // regsPerBlock
    {308, 10},        // warpSize
    {320, 1},         // maxThreadsPerBlock
    {324, 2},         // maxThreadsDim, three
    {328, 3},         //
    {332, 4},         //
    {336, 5},         // maxGridSize, three
    {340, 6},         //
    {344, 7},         //
    {348, 13},        // clockRate
    {352, 9, true},   // totalConstMem
    {360, 75},        // major
    {364, 76},        // minor
    {368, 14, true},  // textureAlignment
    {388, 16},        // multiProcessorCount
    {396, 18},        // integrated
    {400, 19},        // canMapHostMemory
    {404, 20},        // computeMode
    {576, 31},        // concurrentKernels
    {580, 32},        // ECCEnabled
    {600, 40},        // asyncEngineCount
    {604, 41},        // unifiedAddressing
    {608, 36},        // memoryClockRate
    {612, 37},        // memoryBusWidth
    {616, 38},        // l2CacheSize
    {624, 39},        // maxThreadsPerMultiProcessor
    {640, 81, true},  // sharedMemPerMultiprocessor
    {648, 82},        // regsPerMultiprocessor
    {656, 84},        // isMultiGpuBoard
    {696, 97, true},  // sharedMemPerBlockOptin
    {744, 115},       // memoryPoolsSupported
}};

}  // namespace

namespace stand_in {

int device() { return current; }

int attribute(int number, int device) {
  int value = 0;
  (void)driver().cuDeviceGetAttribute(&value, number, device);
  return value;
}

int enter() {
  if (const int code = begin()) return code;
  if (entered == current) return 0;
  const std::lock_guard lock(guard);
  void*& context = contexts.at(static_cast<std::size_t>(current));
  if (context == nullptr) {
    if (const int code = driver().cuDevicePrimaryCtxRetain(&context, current)) return code;
  }
  if (const int code = driver().cuCtxSetCurrent(context)) return code;
  entered = current;
  return 0;
}

int set_device(int device) {
  if (const int code = begin()) return code;
  int count = 0;
  if (const int code = driver().cuDeviceGetCount(&count)) return code;
  if (device < 0 || device >= count) return 101;
  current = device;
  return enter();  // since 12.0 the context is made at once
}

bool is_of_a_device(const void* address, int* device) {
  if (begin() != 0) return false;
  return driver().cuPointerGetAttribute(device, 9, reinterpret_cast<unsigned long long>(address)) ==
         0;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

int cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const int code = begin()) return finish(code);
  return finish(driver().cuDeviceGetCount(count));
}

int cudaGetDevice(int* device) {
  if (const int code = begin()) return finish(code);
  *device = current;
  return 0;
}

int cudaSetDevice(int device) { return finish(set_device(device)); }
int cudaInitDevice(int device, unsigned, unsigned) {
  const int before = current;
  const int code = set_device(device);
  current = before;
  return finish(code);
}
int cudaSetDeviceFlags(unsigned) { return 0; }
int cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return 0;
}

int cudaGetDeviceProperties_v2(char* properties, int device) {
  if (const int code = begin()) return finish(code);
  std::memset(properties, 0, properties_bytes);
  if (const int code = driver().cuDeviceGetName(properties, 256, device)) return finish(code);
  (void)driver().cuDeviceGetUuid_v2(reinterpret_cast<unsigned char*>(properties) + uuid_at, device);
  std::size_t bytes = 0;
  (void)driver().cuDeviceTotalMem_v2(&bytes, device);
  std::memcpy(properties + total_memory_at, &bytes, sizeof bytes);
  for (const Place& place : places) {
    const int value = attribute(place.attribute, device);
    std::memcpy(properties + place.offset, &value, sizeof value);  // little endian: a long one, too
  }
  char address[32] = "";
  std::array<unsigned, 3> at{};  // bus, device, domain
  if (driver().cuDeviceGetPCIBusId(address, sizeof address, device) == 0 &&
      std::sscanf(address, "%x:%x:%x", &at[2], &at[0], &at[1]) == 3) {
    std::memcpy(properties + bus_at, at.data(), sizeof at);
  }
  return 0;
}

int cudaDeviceGetAttribute(int* value, int number, int device) {
  if (const int code = begin()) return finish(code);
  return finish(driver().cuDeviceGetAttribute(value, number, device));
}

int cudaDeviceGetPCIBusId(char* address, int length, int device) {
  if (const int code = begin()) return finish(code);
  return finish(driver().cuDeviceGetPCIBusId(address, length, device));
}

int cudaDriverGetVersion(int* version) {
  *version = 0;
  return begin() == insufficient_driver ? 0 : finish(driver().cuDriverGetVersion(version));
}

int cudaRuntimeGetVersion(int* version) {
  *version = 12040;
  return 0;
}

int cudaDeviceSynchronize() {
  if (const int code = enter()) return finish(code);
  return finish(driver().cuCtxSynchronize());
}

int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return finish(enter());
}

int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const int code = begin()) return finish(code);
  return finish(driver().cuDeviceCanAccessPeer(can, device, peer));
}

int cudaDeviceEnablePeerAccess(int peer, unsigned) {
  static auto& enabled = *new std::array<std::array<bool, 64>, 64>{};
  if (const int code = enter()) return finish(code);
  const std::lock_guard lock(guard);
  bool& one = enabled.at(static_cast<std::size_t>(current)).at(static_cast<std::size_t>(peer));
  const bool was = one;
  one = true;
  return finish(was ? 704 : 0);
}

int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                     unsigned long long flags, int* status) {
  if (const int code = begin()) return finish(code);
  return finish(driver_function(name, version, flags, function, status));
}

int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                            int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, 12040, flags, status);
}

}  // extern "C"
