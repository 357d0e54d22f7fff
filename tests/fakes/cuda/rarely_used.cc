// Functions that older programs ask the driver for. With them a program can be loaded that names
// all of them (pycuda). They are a stack of contexts, and names that are there and do nothing.

#include <vector>

#include "fake_driver.h"

using namespace fake;

namespace {
thread_local auto& pushed = *new std::vector<Context*>;
}  // namespace

// clang-format off: it is never content with this list.
#define FAKE_CUDA_NAMES(X) \
  X(cuArray3DGetDescriptor_v2) \
  X(cuArrayGetDescriptor_v2) \
  X(cuCtxAttach) \
  X(cuCtxDisablePeerAccess) \
  X(cuCtxGetCacheConfig) \
  X(cuCtxGetLimit) \
  X(cuCtxGetSharedMemConfig) \
  X(cuCtxSetCacheConfig) \
  X(cuCtxSetLimit) \
  X(cuCtxSetSharedMemConfig) \
  X(cuDeviceComputeCapability) \
  X(cuDeviceGetByPCIBusId) \
  X(cuEventElapsedTime) \
  X(cuFuncGetAttribute) \
  X(cuFuncSetAttribute) \
  X(cuFuncSetBlockShape) \
  X(cuFuncSetCacheConfig) \
  X(cuFuncSetSharedSize) \
  X(cuGLCtxCreate_v2) \
  X(cuGLInit) \
  X(cuGLMapBufferObject_v2) \
  X(cuGLRegisterBufferObject) \
  X(cuGLUnmapBufferObject) \
  X(cuGLUnregisterBufferObject) \
  X(cuGraphicsGLRegisterBuffer) \
  X(cuGraphicsGLRegisterImage) \
  X(cuGraphicsMapResources) \
  X(cuGraphicsResourceGetMappedPointer_v2) \
  X(cuGraphicsSubResourceGetMappedArray) \
  X(cuGraphicsUnmapResources) \
  X(cuGraphicsUnregisterResource) \
  X(cuIpcGetEventHandle) \
  X(cuIpcOpenEventHandle) \
  X(cuLaunch) \
  X(cuLaunchGrid) \
  X(cuLaunchGridAsync) \
  X(cuLinkAddData_v2) \
  X(cuLinkAddFile_v2) \
  X(cuLinkComplete) \
  X(cuLinkCreate_v2) \
  X(cuLinkDestroy) \
  X(cuMemHostGetFlags) \
  X(cuMemcpy2DAsync_v2) \
  X(cuMemcpy2DUnaligned_v2) \
  X(cuMemcpy2D_v2) \
  X(cuMemcpy3DAsync_v2) \
  X(cuMemcpy3DPeer) \
  X(cuMemcpy3DPeerAsync) \
  X(cuMemcpy3D_v2) \
  X(cuMemcpyAtoA_v2) \
  X(cuMemcpyAtoD_v2) \
  X(cuMemcpyAtoH_v2) \
  X(cuMemcpyDtoA_v2) \
  X(cuMemcpyHtoA_v2) \
  X(cuMemcpyPeerAsync) \
  X(cuMemsetD16Async) \
  X(cuMemsetD16_v2) \
  X(cuMemsetD2D16Async) \
  X(cuMemsetD2D16_v2) \
  X(cuMemsetD2D32Async) \
  X(cuMemsetD2D32_v2) \
  X(cuMemsetD2D8Async) \
  X(cuMemsetD2D8_v2) \
  X(cuMemsetD32_v2) \
  X(cuMemsetD8_v2) \
  X(cuModuleGetGlobal_v2) \
  X(cuModuleGetSurfRef) \
  X(cuModuleGetTexRef) \
  X(cuModuleLoad) \
  X(cuModuleLoadDataEx) \
  X(cuModuleUnload) \
  X(cuParamSetSize) \
  X(cuParamSetTexRef) \
  X(cuParamSetf) \
  X(cuParamSeti) \
  X(cuParamSetv) \
  X(cuProfilerInitialize) \
  X(cuProfilerStart) \
  X(cuProfilerStop) \
  X(cuStreamAttachMemAsync) \
  X(cuSurfRefGetArray) \
  X(cuSurfRefSetArray) \
  X(cuTexRefCreate) \
  X(cuTexRefDestroy) \
  X(cuTexRefGetAddressMode) \
  X(cuTexRefGetAddress_v2) \
  X(cuTexRefGetArray) \
  X(cuTexRefGetFilterMode) \
  X(cuTexRefGetFlags) \
  X(cuTexRefGetFormat) \
  X(cuTexRefSetAddress2D_v3) \
  X(cuTexRefSetAddressMode) \
  X(cuTexRefSetAddress_v2) \
  X(cuTexRefSetArray) \
  X(cuTexRefSetFilterMode) \
  X(cuTexRefSetFlags) \
  X(cuTexRefSetFormat)
// clang-format on

extern "C" {

int cuCtxDestroy_v2(void* context);
int cuCtxDetach(void* context) { return cuCtxDestroy_v2(context); }
int cuCtxGetApiVersion(void*, unsigned* version) { return *version = 3020, 0; }

int cuCtxPushCurrent_v2(void* context) {
  pushed.push_back(current);
  current = static_cast<Context*>(context);
  return 0;
}

int cuCtxPopCurrent_v2(void** context) {
  if (current == nullptr) return invalid_context;
  if (context != nullptr) *context = current;
  current = pushed.empty() ? nullptr : pushed.back();
  if (!pushed.empty()) pushed.pop_back();
  return 0;
}

#define FAKE_CUDA_NOTHING(name) \
  int name() { return not_supported; }
FAKE_CUDA_NAMES(FAKE_CUDA_NOTHING)

}  // extern "C"
