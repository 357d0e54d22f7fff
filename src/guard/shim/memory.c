/* Allocations on the device of the current context, and frees of whatever has an address. */

#include "guard/shim/guard.h"

int cuMemAlloc_v2(address* result, size_t bytes) {
  ALLOCATE(current_place(), bytes, of_memory, cuMemAlloc_v2, result, bytes);
}
int cuMemAlloc(old_address* result, unsigned bytes) {
  ALLOCATE(current_place(), bytes, of_memory, cuMemAlloc, result, bytes);
}
int cuMemAllocManaged(address* result, size_t bytes, unsigned flags) {
  ALLOCATE(current_place(), bytes, of_memory, cuMemAllocManaged, result, bytes, flags);
}

int cuMemFree_v2(address memory) { FREE(of_memory, cuMemFree_v2, memory); }
int cuMemFree(old_address memory) { FREE(of_memory, cuMemFree, memory); }
int cuMemFreeAsync(address memory, void* stream) {
  FREE(of_memory, cuMemFreeAsync, memory, stream);
}
int cuMemFreeAsync_ptsz(address memory, void* stream) {
  FREE(of_memory, cuMemFreeAsync_ptsz, memory, stream);
}

/* The driver chooses the padding of rows; what it is before it is asked is a guess of ours. */
static uint64_t guessed_bytes(uint64_t width, uint64_t height) {
  uint64_t bytes;
  const uint64_t pitch = width / 512 * 512 + (width % 512 > 0 ? 512 : 0);
  return __builtin_mul_overflow(pitch, height, &bytes) ? UINT64_MAX : bytes;
}

/* With the padding that was chosen. false: the difference is above the limit. */
static bool correct(int device, uint64_t* bytes, uint64_t real) {
  if (real > *bytes && !charge(device, real - *bytes)) return false;
  if (real < *bytes) refund(device, *bytes - real);
  *bytes = real;
  return true;
}

int cuMemAllocPitch_v2(address* result, size_t* pitch, size_t width, size_t height,
                       unsigned element) {
  const struct place here = current_place();
  uint64_t bytes = guessed_bytes(width, height);
  if (!charge(here.device, bytes)) return out_of_memory;
  int code = DRIVER(cuMemAllocPitch_v2)(result, pitch, width, height, element);
  if (code == success && !correct(here.device, &bytes, (uint64_t)*pitch * height)) {
    DRIVER(cuMemFree_v2)(*result);
    code = out_of_memory;
  }
  return settle(code, of_memory, code == success ? *result : 0, here, bytes);
}

int cuMemAllocPitch(old_address* result, unsigned* pitch, unsigned width, unsigned height,
                    unsigned element) {
  const struct place here = current_place();
  uint64_t bytes = guessed_bytes(width, height);
  if (!charge(here.device, bytes)) return out_of_memory;
  int code = DRIVER(cuMemAllocPitch)(result, pitch, width, height, element);
  if (code == success && !correct(here.device, &bytes, (uint64_t)*pitch * height)) {
    DRIVER(cuMemFree)(*result);
    code = out_of_memory;
  }
  return settle(code, of_memory, code == success ? *result : 0, here, bytes);
}
