#pragma once
/* The one list of what the shim knows of the driver. First the functions that it stands in for,
 * with what each charges or gives back. Then those that it only calls. doc/CAPS.md has the first
 * list (tools/list_wrappers.py). */

#include "guard/shim/abi.h"

// clang-format off
#define GUARD_WRAPPERS(X) \
  X(cuGetProcAddress, (const char *, void **, int, flags64), "nothing: hands out these wrappers") \
  X(cuGetProcAddress_v2, (const char *, void **, int, flags64, int *), "nothing: hands out these wrappers") \
  X(cuMemAlloc, (old_address *, unsigned), "the bytes asked for, on the current device") \
  X(cuMemAlloc_v2, (address *, size_t), "the bytes asked for, on the current device") \
  X(cuMemAllocPitch, (old_address *, unsigned *, unsigned, unsigned, unsigned), "rows with their padding") \
  X(cuMemAllocPitch_v2, (address *, size_t *, size_t, size_t, unsigned), "rows with their padding") \
  X(cuMemAllocManaged, (address *, size_t, unsigned), "all bytes, wherever they are") \
  X(cuMemFree, (old_address), "gives back") \
  X(cuMemFree_v2, (address), "gives back") \
  X(cuMemAllocAsync, (address *, size_t, void *), "what the device's pool reserves more") \
  X(cuMemAllocAsync_ptsz, (address *, size_t, void *), "what the device's pool reserves more") \
  X(cuMemAllocFromPoolAsync, (address *, size_t, void *, void *), "what the pool reserves more") \
  X(cuMemAllocFromPoolAsync_ptsz, (address *, size_t, void *, void *), "what the pool reserves more") \
  X(cuMemFreeAsync, (address, void *), "gives back what the pool no longer reserves") \
  X(cuMemFreeAsync_ptsz, (address, void *), "gives back what the pool no longer reserves") \
  X(cuMemPoolCreate, (void **, const struct located *), "nothing: tells the pool's device") \
  X(cuMemPoolDestroy, (void *), "gives back what is not in use") \
  X(cuMemPoolTrimTo, (void *, size_t), "gives back what the pool no longer reserves") \
  X(cuStreamSynchronize, (void *), "gives back what pools no longer reserve") \
  X(cuStreamSynchronize_ptsz, (void *), "gives back what pools no longer reserve") \
  X(cuEventSynchronize, (void *), "gives back what pools no longer reserve") \
  X(cuCtxSynchronize, (void), "gives back what pools no longer reserve") \
  X(cuCtxSynchronize_v2, (void *), "gives back what pools no longer reserve") \
  X(cuMemCreate, (address *, size_t, const struct located *, flags64), "the bytes, on the device of its properties") \
  X(cuMemRelease, (address), "gives back when nothing maps it any more") \
  X(cuMemMap, (address, size_t, size_t, address, flags64), "nothing: holds what cuMemCreate charged") \
  X(cuMemUnmap, (address, size_t), "gives back when no handle is left") \
  X(cuMemRetainAllocationHandle, (address *, void *), "nothing: holds what cuMemCreate charged") \
  X(cuMemImportFromShareableHandle, (address *, void *, int), "nothing: who exported it pays") \
  X(cuArrayCreate, (void **, const struct old_array *), "its elements") \
  X(cuArrayCreate_v2, (void **, const struct array *), "its elements") \
  X(cuArray3DCreate, (void **, const struct old_array_3d *), "its elements; nothing if sparse or mapped later") \
  X(cuArray3DCreate_v2, (void **, const struct array_3d *), "its elements; nothing if sparse or mapped later") \
  X(cuArrayDestroy, (void *), "gives back") \
  X(cuMipmappedArrayCreate, (void **, const struct array_3d *, unsigned), "the elements of all levels") \
  X(cuMipmappedArrayDestroy, (void *), "gives back") \
  X(cuGraphInstantiate, (void **, void *, void **, char *, size_t), "nothing: learns what a launch will need") \
  X(cuGraphInstantiate_v2, (void **, void *, void **, char *, size_t), "nothing: learns what a launch will need") \
  X(cuGraphInstantiateWithFlags, (void **, void *, flags64), "nothing: learns what a launch will need") \
  X(cuGraphInstantiateWithParams, (void **, void *, void *), "nothing: learns what a launch will need") \
  X(cuGraphInstantiateWithParams_ptsz, (void **, void *, void *), "nothing: learns what a launch will need") \
  X(cuGraphUpload, (void *, void *), "what its allocation nodes reserve more") \
  X(cuGraphUpload_ptsz, (void *, void *), "what its allocation nodes reserve more") \
  X(cuGraphLaunch, (void *, void *), "what its allocation nodes reserve more") \
  X(cuGraphLaunch_ptsz, (void *, void *), "what its allocation nodes reserve more") \
  X(cuGraphExecDestroy, (void *), "gives back what graphs no longer reserve") \
  X(cuDeviceGraphMemTrim, (int), "gives back what graphs no longer reserve") \
  X(cuCtxCreate, (void **, unsigned, int), "the estimate of a context") \
  X(cuCtxCreate_v2, (void **, unsigned, int), "the estimate of a context") \
  X(cuCtxCreate_v3, (void **, void *, int, unsigned, int), "the estimate of a context") \
  X(cuCtxCreate_v4, (void **, void *, unsigned, int), "the estimate of a context") \
  X(cuCtxDestroy, (void *), "gives back, with what was allocated in it") \
  X(cuCtxDestroy_v2, (void *), "gives back, with what was allocated in it") \
  X(cuCtxDetach, (void *), "gives back, with what was allocated in it") \
  X(cuDevicePrimaryCtxRetain, (void **, int), "the estimate of a context, once") \
  X(cuDevicePrimaryCtxRelease, (int), "gives back at the last, with what was allocated in it") \
  X(cuDevicePrimaryCtxRelease_v2, (int), "gives back at the last, with what was allocated in it") \
  X(cuDevicePrimaryCtxReset, (int), "gives back, with what was allocated in it") \
  X(cuDevicePrimaryCtxReset_v2, (int), "gives back, with what was allocated in it") \
  X(cuGreenCtxCreate, (void **, void *, int, unsigned), "the estimate of the device's context, once") \
  X(cuGreenCtxDestroy, (void *), "gives back the device's context, if it ends") \
  X(cuMemGetInfo, (unsigned *, unsigned *), "nothing: shows the limit") \
  X(cuMemGetInfo_v2, (size_t *, size_t *), "nothing: shows the limit") \
  X(cuDeviceTotalMem, (unsigned *, int), "nothing: shows the limit") \
  X(cuDeviceTotalMem_v2, (size_t *, int), "nothing: shows the limit")

#define GUARD_CALLED(X) \
  X(cuCtxGetCurrent, (void **)) \
  X(cuCtxGetDevice, (int *)) \
  X(cuDeviceGetUuid, (unsigned char *, int)) \
  X(cuDeviceGetUuid_v2, (unsigned char *, int)) \
  X(cuDeviceGetMemPool, (void **, int)) \
  X(cuDeviceGetDefaultMemPool, (void **, int)) \
  X(cuDeviceGetCount, (int *)) \
  X(cuMemPoolGetAttribute, (void *, int, void *)) \
  X(cuStreamIsCapturing, (void *, int *)) \
  X(cuStreamIsCapturing_ptsz, (void *, int *)) \
  X(cuDevicePrimaryCtxGetState, (int, unsigned *, int *)) \
  X(cuDeviceGetGraphMemAttribute, (int, int, void *)) \
  X(cuGraphGetNodes, (void *, void **, size_t *)) \
  X(cuGraphNodeGetType, (void *, int *)) \
  X(cuGraphChildGraphNodeGetGraph, (void *, void **)) \
  X(cuGraphMemAllocNodeGetParams, (void *, struct allocation_node *))
// clang-format on
