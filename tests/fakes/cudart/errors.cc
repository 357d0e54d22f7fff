// A stand-in for libcudart.so.12 on host memory, for tests. With it, CUDA builds of PyTorch run
// unmodified where there is no card. Memory, devices, errors and their order are real. A launched
// kernel does nothing, so results are not.
//
// It binds to libcuda.so.1 as the real runtime does, at the first call that needs it. It uses
// dlopen, and cuGetProcAddress_v2 for all else. The real runtime and the driver prove something to
// each other; this stands in its place and never plays that. So it asks for no private table
// (cuGetExportTable).

#include <dlfcn.h>

#include <array>
#include <string>

#include "runtime.h"

namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};
constexpr std::array<ErrorText, 37> texts = {{
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {35, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {46, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {103, "cudaErrorSoftwareValidityNotEstablished", "integrity checks failed"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {209, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {217, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {709, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "operation not supported on global/shared address space"},
    {718, "cudaErrorInvalidPc", "invalid program counter"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {802, "cudaErrorSystemNotReady", "system not yet initialized"},
    {804, "cudaErrorCompatNotSupportedOnDevice",
     "forward compatibility was attempted on non supported HW"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {906, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {999, "cudaErrorUnknown", "unknown error"},
}};

const ErrorText* text_of(int code) {
  for (const ErrorText& one : texts) {
    if (one.code == code) return &one;
  }
  return nullptr;
}

thread_local int last_error = 0;
void* library = nullptr;
stand_in::Driver functions{};

/// What CUDA 12.4's runtime asks for: the newest version of a name that it was built for.
constexpr unsigned runtime_version = 12040;

int (*get_proc_address)(const char*, void**, int, unsigned long long, int*) = nullptr;

/// `exported`: with its suffix, which who asks leaves out.
template <class Function>
bool bind(Function& function, std::string name) {
  for (const char* suffix : {"_v2", "_v3"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - 3);
  }
  void* found = nullptr;
  (void)stand_in::driver_function(name.c_str(), runtime_version, 0, &found, nullptr);
  function = reinterpret_cast<Function>(found);
  return function != nullptr;
}

bool bind_all() {
  library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  get_proc_address =
      reinterpret_cast<decltype(get_proc_address)>(::dlsym(library, "cuGetProcAddress_v2"));
  if (get_proc_address == nullptr) return false;
  stand_in::Driver& f = functions;
#define STAND_IN_BIND(name) bind(f.name, #name)
  return STAND_IN_BIND(cuInit) && STAND_IN_BIND(cuDriverGetVersion) &&
         STAND_IN_BIND(cuDeviceGetCount) && STAND_IN_BIND(cuDeviceGetName) &&
         STAND_IN_BIND(cuDeviceGetUuid_v2) && STAND_IN_BIND(cuDeviceGetPCIBusId) &&
         STAND_IN_BIND(cuDeviceTotalMem_v2) && STAND_IN_BIND(cuDeviceGetAttribute) &&
         STAND_IN_BIND(cuDeviceCanAccessPeer) && STAND_IN_BIND(cuDevicePrimaryCtxRetain) &&
         STAND_IN_BIND(cuCtxSetCurrent) && STAND_IN_BIND(cuCtxSynchronize) &&
         STAND_IN_BIND(cuMemGetInfo_v2) && STAND_IN_BIND(cuMemAlloc_v2) &&
         STAND_IN_BIND(cuMemFree_v2) && STAND_IN_BIND(cuMemAllocHost_v2) &&
         STAND_IN_BIND(cuMemFreeHost) && STAND_IN_BIND(cuMemGetAddressRange_v2) &&
         STAND_IN_BIND(cuPointerGetAttribute) && STAND_IN_BIND(cuDeviceGetDefaultMemPool) &&
         STAND_IN_BIND(cuDeviceGetMemPool) && STAND_IN_BIND(cuMemAllocAsync) &&
         STAND_IN_BIND(cuMemAllocFromPoolAsync) && STAND_IN_BIND(cuMemFreeAsync) &&
         STAND_IN_BIND(cuMemPoolTrimTo) && STAND_IN_BIND(cuMemPoolGetAttribute) &&
         STAND_IN_BIND(cuMemPoolSetAttribute);
#undef STAND_IN_BIND
}

}  // namespace

namespace stand_in {

int begin() {
  static const bool is_bound = bind_all();
  return is_bound ? functions.cuInit(0) : insufficient_driver;
}

const Driver& driver() { return functions; }

int driver_function(const char* name, unsigned version, unsigned long long flags, void** function,
                    int* status) {
  int how = 0;
  const int code = get_proc_address(name, function, static_cast<int>(version), flags, &how);
  if (status != nullptr) *status = how;
  return code;
}

int finish(int code) {
  if (code != 0) last_error = code;
  return code;
}

}  // namespace stand_in

extern "C" {

int cudaGetLastError() {
  const int code = last_error;
  last_error = 0;
  return code;
}

int cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(int code) {
  const ErrorText* one = text_of(code);
  return one == nullptr ? "unrecognized error code" : one->name;
}

const char* cudaGetErrorString(int code) {
  const ErrorText* one = text_of(code);
  return one == nullptr ? "unrecognized error code" : one->text;
}

}  // extern "C"
