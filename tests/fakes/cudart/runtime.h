#pragma once

// What the parts of the stand-in libcudart.so.12 share. These are the driver it binds to, the
// device of the calling thread, and the last error. errors.cc begins with what it is.

#include <cstddef>

namespace stand_in {

constexpr int invalid_value = 1;
constexpr int insufficient_driver = 35;
constexpr int not_supported = 801;

/// The functions of libcuda.so.1 that it calls, by the names that the library exports. It asks
/// cuGetProcAddress for each by name and version, as the real one does.
struct Driver {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int*);
  int (*cuDeviceGetCount)(int*);
  int (*cuDeviceGetName)(char*, int, int);
  int (*cuDeviceGetUuid_v2)(unsigned char*, int);
  int (*cuDeviceGetPCIBusId)(char*, int, int);
  int (*cuDeviceTotalMem_v2)(std::size_t*, int);
  int (*cuDeviceGetAttribute)(int*, int, int);
  int (*cuDeviceCanAccessPeer)(int*, int, int);
  int (*cuDevicePrimaryCtxRetain)(void**, int);
  int (*cuCtxSetCurrent)(void*);
  int (*cuCtxSynchronize)();
  int (*cuMemGetInfo_v2)(std::size_t*, std::size_t*);
  int (*cuMemAlloc_v2)(unsigned long long*, std::size_t);
  int (*cuMemFree_v2)(unsigned long long);
  int (*cuMemAllocHost_v2)(void**, std::size_t);
  int (*cuMemFreeHost)(void*);
  int (*cuMemGetAddressRange_v2)(unsigned long long*, std::size_t*, unsigned long long);
  int (*cuPointerGetAttribute)(void*, int, unsigned long long);
  int (*cuDeviceGetDefaultMemPool)(void**, int);
  int (*cuDeviceGetMemPool)(void**, int);
  int (*cuMemAllocAsync)(unsigned long long*, std::size_t, void*);
  int (*cuMemAllocFromPoolAsync)(unsigned long long*, std::size_t, void*, void*);
  int (*cuMemFreeAsync)(unsigned long long, void*);
  int (*cuMemPoolTrimTo)(void*, std::size_t);
  int (*cuMemPoolGetAttribute)(void*, int, void*);
  int (*cuMemPoolSetAttribute)(void*, int, void*);
};

/// Opens the driver, at the first call, and lets it begin. Its answer is the driver's own, or that
/// there is none.
int begin();
/// Only after begin() answered 0.
const Driver& driver();
/// As cuGetProcAddress answers: 0 and the function, or what the driver said. `status` as its own.
int driver_function(const char* name, unsigned version, unsigned long long flags, void** function,
                    int* status);

/// As begin(); the thread's device has its context then, and the context is the thread's.
int enter();
int device();  ///< of the calling thread
int set_device(int device);
int attribute(int number, int device);

/// What every function returns: an error is remembered for cudaGetLastError.
int finish(int code);

/// Device memory, as the driver says.
bool is_of_a_device(const void* address, int* device);

}  // namespace stand_in
