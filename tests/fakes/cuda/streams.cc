// More of the fake driver's streams, events and pinned memory, for JAX. JAX asks for it to list its
// cards, take memory and copy. All is done when the call returns.

#include <cstring>

#include "fake_driver.h"

using namespace fake;

extern "C" {

// contexts.cc, memory.cc and fake_cuda.cc
int cuStreamCreate(void** stream, unsigned flags);
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes);
int cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes);
int cuMemAllocHost_v2(void** memory, std::size_t bytes);

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return 0;
}

int cuStreamCreateWithPriority(void** stream, unsigned flags, int) {
  if (const int code = fault("cuStreamCreateWithPriority")) return code;
  return cuStreamCreate(stream, flags);
}
int cuStreamQuery(void*) { return broken ? illegal_address : 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuEventQuery(void*) { return broken ? illegal_address : 0; }

int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void*) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void*) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, void*) {
  return cuMemcpyDtoD_v2(to, from, bytes);
}
int cuMemsetD8Async(Address address, unsigned char value, std::size_t count, void*) {
  std::memset(pointer(address), value, count);
  return 0;
}
int cuLaunchHostFunc(void*, void (*function)(void*), void* data) {
  function(data);
  return 0;
}

int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return cuMemAllocHost_v2(memory, bytes);
}
int cuMemHostRegister_v2(void*, std::size_t, unsigned) { return 0; }
int cuMemHostUnregister(void*) { return 0; }
int cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) {
  *address = reinterpret_cast<Address>(memory);
  return 0;
}

}  // extern "C"
