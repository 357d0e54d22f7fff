// cuGetProcAddress of the fake driver, exactly as drivers 535 and 550 answer it. It takes the
// newest row of a name that is no newer than the version asked for. With flag 2 (per-thread
// streams) it takes rows of that kind alone, if the name has any.

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string_view>

#include "fake_driver.h"

namespace fake {

void* exported(const char* name) {
  static void* self = [] {
    Dl_info here{};
    ::dladdr(reinterpret_cast<void*>(&exported), &here);
    return ::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return ::dlsym(self, name);
}

namespace {

struct Row {
  const char* exported;
  int version;
};
/// The versions are those of cudaTypedefs.h (CUDA 13.0).
constexpr std::array<Row, 82> rows = {{
    {"cuArray3DCreate_v2", 3020},
    {"cuArrayCreate", 2000},
    {"cuArrayCreate_v2", 3020},
    {"cuArrayDestroy", 2000},
    {"cuCtxCreate_v2", 3020},
    {"cuCtxCreate_v3", 11040},
    {"cuCtxDestroy_v2", 4000},
    {"cuCtxGetCurrent", 4000},
    {"cuCtxGetDevice", 2000},
    {"cuCtxSetCurrent", 4000},
    {"cuCtxSynchronize", 2000},
    {"cuDeviceCanAccessPeer", 4000},
    {"cuDeviceGet", 2000},
    {"cuDeviceGetAttribute", 2000},
    {"cuDeviceGetCount", 2000},
    {"cuDeviceGetDefaultMemPool", 11020},
    {"cuDeviceGetGraphMemAttribute", 11040},
    {"cuDeviceGetMemPool", 11020},
    {"cuDeviceGetName", 2000},
    {"cuDeviceGetPCIBusId", 4010},
    {"cuDeviceGetUuid_v2", 11040},
    {"cuDeviceGraphMemTrim", 11040},
    {"cuDevicePrimaryCtxGetState", 7000},
    {"cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset_v2", 11000},
    {"cuDevicePrimaryCtxRetain", 7000},
    {"cuDeviceSetMemPool", 11020},
    {"cuDeviceTotalMem", 2000},
    {"cuDeviceTotalMem_v2", 3020},
    {"cuDriverGetVersion", 2020},
    {"cuEventSynchronize", 2000},
    {"cuGetProcAddress", 11030},
    {"cuGetProcAddress_v2", 12000},
    {"cuGraphAddMemAllocNode", 11040},
    {"cuGraphAddMemFreeNode", 11040},
    {"cuGraphAddNode", 12020},
    {"cuGraphCreate", 10000},
    {"cuGraphExecDestroy", 10000},
    {"cuGraphInstantiateWithFlags", 11040},
    {"cuGraphInstantiateWithParams", 12000},
    {"cuGraphInstantiateWithParams_ptsz", 12000},
    {"cuGraphInstantiate_v2", 11000},
    {"cuGraphLaunch", 10000},
    {"cuGraphLaunch_ptsz", 10000},
    {"cuGreenCtxCreate", 12040},
    {"cuGreenCtxDestroy", 12040},
    {"cuInit", 2000},
    {"cuMemAlloc", 2000},
    {"cuMemAllocAsync", 11020},
    {"cuMemAllocAsync_ptsz", 11020},
    {"cuMemAllocFromPoolAsync", 11020},
    {"cuMemAllocFromPoolAsync_ptsz", 11020},
    {"cuMemAllocHost_v2", 3020},
    {"cuMemAllocManaged", 6000},
    {"cuMemAllocPitch_v2", 3020},
    {"cuMemAlloc_v2", 3020},
    {"cuMemCreate", 10020},
    {"cuMemFree", 2000},
    {"cuMemFreeAsync", 11020},
    {"cuMemFreeAsync_ptsz", 11020},
    {"cuMemFree_v2", 3020},
    {"cuMemFreeHost", 2000},
    {"cuMemGetAddressRange_v2", 3020},
    {"cuMemGetInfo", 2000},
    {"cuMemGetInfo_v2", 3020},
    {"cuMemMap", 10020},
    {"cuMemPoolCreate", 11020},
    {"cuMemPoolDestroy", 11020},
    {"cuMemPoolGetAttribute", 11020},
    {"cuMemPoolSetAttribute", 11020},
    {"cuMemPoolTrimTo", 11020},
    {"cuMemRelease", 10020},
    {"cuMemRetainAllocationHandle", 11000},
    {"cuMemUnmap", 10020},
    {"cuMemSetAccess", 10020},
    {"cuMemAddressReserve", 10020},
    {"cuMemAddressFree", 10020},
    {"cuMipmappedArrayCreate", 5000},
    {"cuMipmappedArrayDestroy", 5000},
    {"cuPointerGetAttribute", 4000},
    {"cuStreamSynchronize", 2000},
    {"cuStreamSynchronize_ptsz", 7000},
}};

constexpr std::string_view per_thread = "_ptsz";

bool is_per_thread(std::string_view name) { return name.ends_with(per_thread); }

std::string_view base_of(std::string_view name) {
  if (is_per_thread(name)) name.remove_suffix(per_thread.size());
  const bool has_version = name.size() > 3 && name.substr(name.size() - 3, 2) == "_v";
  return has_version ? name.substr(0, name.size() - 3) : name;
}

/// How it went, as CUdriverProcAddressQueryResult: 0 found, 1 unknown, 2 not in that version.
int look_up(std::string_view name, int version, bool wants_per_thread, void** function) {
  const Row* best = nullptr;
  bool is_known = false;
  bool has_per_thread = false;
  for (const Row& row : rows) {
    if (base_of(row.exported) == name && is_per_thread(row.exported)) has_per_thread = true;
  }
  for (const Row& row : rows) {
    if (base_of(row.exported) != name) continue;
    is_known = true;
    if (is_per_thread(row.exported) != (wants_per_thread && has_per_thread)) continue;
    if (row.version <= version && (best == nullptr || row.version > best->version)) best = &row;
  }
  if (best == nullptr) return is_known ? 2 : 1;
  *function = exported(best->exported);
  return 0;
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags,
                        int* status) {
  if (flags > 3) return invalid_value;
  *function = nullptr;
  const int how = look_up(name, version, flags == 2, function);
  if (status != nullptr) *status = how;
  return 0;
}

int cuGetProcAddress(const char* name, void** function, int version, unsigned long long flags) {
  if (flags > 3) return invalid_value;
  return look_up(name, version, flags == 2, function) == 0 ? 0 : not_found;
}

}  // extern "C"
