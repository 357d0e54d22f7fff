#include "compute/cuda_api.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/text.h"

namespace berth::compute {

namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::unexpected<Error> lacks(const std::string& library, const char* name) {
  return fail(ErrorCode::unsupported, "{} lacks {}, which every driver since 2018 has", library,
              name);
}

Result<void*> open(const std::string& library) {
  void* opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return fail(ErrorCode::unsupported, Sentence(printable(::dlerror())));
  return opened;
}

/// The name of the first that is missing; null: all are there.
const char* missing_to_number(void* library, CudaApi& api) {
  if (!find(library, "cuInit", api.init)) return "cuInit";
  if (!find(library, "cuDeviceGetCount", api.device_get_count)) return "cuDeviceGetCount";
  if (!find(library, "cuDeviceGet", api.device_get)) return "cuDeviceGet";
  if (!find(library, "cuDeviceGetUuid_v2", api.device_get_uuid) &&
      !find(library, "cuDeviceGetUuid", api.device_get_uuid)) {
    return "cuDeviceGetUuid";
  }
  find(library, "cuDeviceGetName", api.device_get_name);
  find(library, "cuGetErrorName", api.get_error_name);
  return nullptr;
}

const char* missing_to_compute(void* library, CudaApi& api) {
  const char* missing = nullptr;
  const auto want = [&](const char* name, auto& function) {
    if (!find(library, name, function) && missing == nullptr) missing = name;
  };
  want("cuGetErrorName", api.get_error_name);
  want("cuDevicePrimaryCtxRetain", api.primary_context_retain);
  if (!find(library, "cuDevicePrimaryCtxRelease_v2", api.primary_context_release)) {
    want("cuDevicePrimaryCtxRelease", api.primary_context_release);
  }
  want("cuCtxSetCurrent", api.context_set_current);
  want("cuCtxSynchronize", api.context_synchronize);
  want("cuCtxEnablePeerAccess", api.context_enable_peer_access);
  want("cuDeviceCanAccessPeer", api.device_can_access_peer);
  want("cuMemGetInfo_v2", api.memory_info);
  want("cuMemAlloc_v2", api.allocate);
  want("cuMemFree_v2", api.release);
  want("cuMemAllocHost_v2", api.allocate_host);
  want("cuMemFreeHost", api.release_host);
  want("cuMemcpyHtoD_v2", api.copy_to_device);
  want("cuMemcpyDtoH_v2", api.copy_from_device);
  want("cuMemcpyDtoD_v2", api.copy_on_device);
  want("cuMemcpyPeer", api.copy_to_peer);
  want("cuModuleLoadData", api.load_module);
  want("cuModuleGetFunction", api.get_function);
  want("cuLaunchKernel", api.launch);
  return missing;
}

}  // namespace

Result<CudaApi> load_cuda(const std::string& library) {
  const auto opened = open(library);
  if (!opened) return std::unexpected(opened.error());
  CudaApi api;
  if (const char* missing = missing_to_number(*opened, api)) return lacks(library, missing);
  return api;
}

Result<CudaApi> load_cuda_to_compute(const std::string& library) {
  const auto opened = open(library);
  if (!opened) return std::unexpected(opened.error());
  CudaApi api;
  if (const char* missing = missing_to_number(*opened, api)) return lacks(library, missing);
  if (const char* missing = missing_to_compute(*opened, api)) return lacks(library, missing);
  return api;
}

std::string text_of(const CudaUuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

}  // namespace berth::compute
