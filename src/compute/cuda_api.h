#pragma once
// What of NVIDIA's driver library (libcuda.so.1) is used, and its ABI: nothing else in the program
// knows it. The library is opened at run time. A driver is told as unsupported if it lacks a
// function that every driver since 2018 has. It may hang or crash: it is opened in a
// process of its own (base/process.h ask_child).
//
// Source: cuda.h of CUDA 13.0 (CUDA_VERSION 13000). CUresult, CUdevice and CUdevice_attribute are
// ints, CUdeviceptr is an unsigned long long, handles are pointers.

#include <array>
#include <cstddef>
#include <string>

#include "base/result.h"

namespace berth::compute {

using CudaResult = int;   // CUresult; 0: success
using CudaOrdinal = int;  // CUdevice
using CudaAddress = unsigned long long;
using CudaUuid = std::array<unsigned char, 16>;
static_assert(sizeof(CudaAddress) == 8 && sizeof(CudaUuid) == 16);

/// Each member is the function of that name, with "cu" in front and the version noted.
struct CudaApi {
  CudaResult (*init)(unsigned flags) = nullptr;
  CudaResult (*device_get_count)(int*) = nullptr;
  CudaResult (*device_get)(CudaOrdinal*, int index) = nullptr;
  CudaResult (*device_get_name)(char*, int, CudaOrdinal) = nullptr;
  /// _v2 names a MIG instance where the first version names its card; the first where there is no
  /// second.
  CudaResult (*device_get_uuid)(CudaUuid*, CudaOrdinal) = nullptr;

  // Null in what only numbers devices (tests' small fakes); load_cuda_to_compute() wants them all.
  CudaResult (*get_error_name)(CudaResult, const char**) = nullptr;
  CudaResult (*primary_context_retain)(void** context, CudaOrdinal) = nullptr;
  CudaResult (*primary_context_release)(CudaOrdinal) = nullptr;  // _v2
  CudaResult (*context_set_current)(void* context) = nullptr;
  CudaResult (*context_synchronize)() = nullptr;
  CudaResult (*context_enable_peer_access)(void* context, unsigned flags) = nullptr;
  CudaResult (*device_can_access_peer)(int*, CudaOrdinal, CudaOrdinal peer) = nullptr;
  CudaResult (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;  // cuMemGetInfo_v2
  CudaResult (*allocate)(CudaAddress*, std::size_t) = nullptr;                 // cuMemAlloc_v2
  CudaResult (*release)(CudaAddress) = nullptr;                                // cuMemFree_v2
  CudaResult (*allocate_host)(void**, std::size_t) = nullptr;                  // cuMemAllocHost_v2
  CudaResult (*release_host)(void*) = nullptr;                                 // cuMemFreeHost
  CudaResult (*copy_to_device)(CudaAddress, const void*, std::size_t) = nullptr;  // _v2
  CudaResult (*copy_from_device)(void*, CudaAddress, std::size_t) = nullptr;      // _v2
  CudaResult (*copy_on_device)(CudaAddress, CudaAddress, std::size_t) = nullptr;  // _v2
  CudaResult (*copy_to_peer)(CudaAddress, void* to_context, CudaAddress, void* from_context,
                             std::size_t) = nullptr;
  CudaResult (*load_module)(void** module, const void* image) = nullptr;  // cuModuleLoadData
  CudaResult (*get_function)(void** function, void* module, const char* name) = nullptr;
  CudaResult (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                       void* stream, void** parameters, void** extra) = nullptr;
};

/// Opens `library` ("libcuda.so.1") for numbering devices alone. It stays open until the process
/// ends: a driver does not like to be unloaded. unsupported: it cannot be loaded, or lacks a
/// function; the message says which.
[[nodiscard]] Result<CudaApi> load_cuda(const std::string& library);
/// The same with everything that computing needs.
[[nodiscard]] Result<CudaApi> load_cuda_to_compute(const std::string& library);

/// "1a2b3c4d-…": without "GPU-" in front.
[[nodiscard]] std::string text_of(const CudaUuid& uuid);

}  // namespace berth::compute
