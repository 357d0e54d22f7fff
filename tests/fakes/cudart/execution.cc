// The stand-in runtime's streams, events and launches. All is done when the call returns; a kernel
// does nothing.

#include <array>
#include <chrono>
#include <cstring>

#include "runtime.h"

using namespace stand_in;

namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  int device;
  unsigned flags;
  int priority;
};
struct Event {
  Clock::time_point recorded;
};
struct Dim3 {
  unsigned x, y, z;
};
struct Launch {
  Dim3 grid;
  Dim3 block;
  std::size_t shared;
  void* stream;
};
thread_local Launch pushed{};
thread_local int capture_mode = 0;

struct FunctionAttributes {  // cudaFuncAttributes of driver_types.h
  std::size_t shared, constant, local;
  int most_threads, registers, ptx_version, binary_version;
  std::array<int, 25> rest;
};
static_assert(sizeof(FunctionAttributes) == 144);

/// 0, 1 and 2 are the default streams.
bool is_made(const void* stream) { return reinterpret_cast<std::size_t>(stream) > 2; }

int synchronize() {
  if (const int code = enter()) return code;
  return driver().cuCtxSynchronize();
}

}  // namespace

extern "C" {

int cudaStreamCreateWithPriority(Stream** stream, unsigned flags, int priority) {
  if (const int code = enter()) return finish(code);
  *stream = new Stream{device(), flags, priority};
  return 0;
}
int cudaStreamCreateWithFlags(Stream** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
int cudaStreamCreate(Stream** stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
int cudaStreamDestroy(Stream* stream) {
  if (is_made(stream)) delete stream;
  return 0;
}
int cudaStreamGetPriority(const Stream* stream, int* priority) {
  *priority = is_made(stream) ? stream->priority : 0;
  return 0;
}
int cudaStreamGetFlags(const Stream* stream, unsigned* flags) {
  *flags = is_made(stream) ? stream->flags : 0;
  return 0;
}
int cudaStreamQuery(const Stream*) { return finish(synchronize()); }
int cudaStreamSynchronize(const Stream*) { return finish(synchronize()); }
int cudaStreamWaitEvent(const Stream*, const Event*, unsigned) { return 0; }

int cudaStreamAddCallback(Stream* stream, void (*function)(Stream*, int, void*), void* data,
                          unsigned) {
  function(stream, 0, data);
  return 0;
}
int cudaLaunchHostFunc(Stream*, void (*function)(void*), void* data) {
  function(data);
  return 0;
}

// Nothing is ever captured into a graph: beginning it is "not supported".
int cudaStreamIsCapturing(const Stream*, int* status) {
  *status = 0;
  return 0;
}
int cudaStreamGetCaptureInfo_v2(const Stream*, int* status, unsigned long long* id, void* graph,
                                void* dependencies, std::size_t* count) {
  *status = 0;
  if (id != nullptr) *id = 0;
  if (graph != nullptr) *static_cast<void**>(graph) = nullptr;
  if (dependencies != nullptr) *static_cast<void**>(dependencies) = nullptr;
  if (count != nullptr) *count = 0;
  return 0;
}
int cudaThreadExchangeStreamCaptureMode(int* mode) {
  const int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

int cudaEventCreateWithFlags(Event** event, unsigned) {
  if (const int code = enter()) return finish(code);
  *event = new Event{};
  return 0;
}
int cudaEventCreate(Event** event) { return cudaEventCreateWithFlags(event, 0); }
int cudaEventDestroy(Event* event) {
  delete event;
  return 0;
}
int cudaEventRecord(Event* event, const Stream*) {
  event->recorded = Clock::now();
  return 0;
}
int cudaEventRecordWithFlags(Event* event, const Stream* stream, unsigned) {
  return cudaEventRecord(event, stream);
}
int cudaEventQuery(const Event*) { return 0; }
int cudaEventSynchronize(const Event*) { return finish(synchronize()); }
/// What passed on the host.
int cudaEventElapsedTime(float* milliseconds, const Event* from, const Event* to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->recorded - from->recorded).count();
  return 0;
}

// What the compiler has every CUDA library do when it is loaded: nothing begins by it.
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
char __cudaInitModule(void**) { return 1; }

unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}
int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  std::memcpy(stream, &pushed.stream, sizeof pushed.stream);
  return 0;
}

int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, Stream*) {
  return finish(enter());
}
int cudaLaunchCooperativeKernel(const void*, Dim3, Dim3, void**, std::size_t, Stream*) {
  return finish(enter());
}
int cudaLaunchKernelExC(const void*, const void*, void**) { return finish(enter()); }

int cudaFuncGetAttributes(FunctionAttributes* attributes, const void*) {
  if (const int code = enter()) return finish(code);
  const int version = 10 * attribute(75, device()) + attribute(76, device());
  *attributes = {0, 0, 0, 1024, 32, version, version, {}};
  return 0;
}
int cudaFuncSetAttribute(const void*, int, int) { return 0; }
int cudaFuncSetCacheConfig(const void*, int) { return 0; }
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                           std::size_t, unsigned) {
  *blocks = 2;
  return 0;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 2;
  return 0;
}

int cudaProfilerStart() { return 0; }
int cudaProfilerStop() { return 0; }

}  // extern "C"
