// The fake driver's contexts, streams and events. All is done when a call returns. So waiting for a
// stream only makes pools give back what they keep.

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "fake_driver.h"

namespace fake {
bool broken = false;
thread_local Context* current = nullptr;
int current_device() { return current == nullptr ? -1 : current->device; }
}  // namespace fake

using namespace fake;

namespace {

auto& primaries = *new std::array<Context, 64>;
auto& others = *new std::vector<std::unique_ptr<Context>>;
auto& greens = *new std::map<void*, int>;
std::mutex contexts_guard;  // of all above

struct Stream {
  bool is_captured = false;
};

/// false: the card has no memory for it.
bool fill(Context& one, int device) {
  const std::size_t bytes = bytes_of(variable("BERTH_FAKE_CUDA_CONTEXT"));
  if (!use(device, bytes)) return false;
  one.device = device;
  one.bytes = bytes;
  return true;
}

/// As the driver does when the last user of a device has let go of it.
void end(Context& one) {
  one.modules.clear();
  release_memory(&one);
  give_back(one.device, one.bytes);
  one.bytes = 0;
  broken = false;
}

int retain(void** context, int device) {
  if (card(device) == nullptr || !has_begun())
    return has_begun() ? invalid_device : not_initialized;
  const std::lock_guard lock(contexts_guard);
  Context& one = primaries[static_cast<std::size_t>(device)];
  if (one.retained == 0 && !fill(one, device)) return out_of_memory;
  ++one.retained;
  if (context != nullptr) *context = &one;
  return 0;
}

int release(int device) {
  const std::lock_guard lock(contexts_guard);
  Context& one = primaries[static_cast<std::size_t>(device)];
  if (one.retained == 0) return invalid_context;
  if (--one.retained == 0) end(one);
  return 0;
}

int create(void** context, int device) {
  if (card(device) == nullptr || !has_begun())
    return has_begun() ? invalid_device : not_initialized;
  auto made = std::make_unique<Context>();
  const std::lock_guard lock(contexts_guard);
  if (!fill(*made, device)) return out_of_memory;
  current = made.get();
  *context = made.get();
  others.push_back(std::move(made));
  return 0;
}

int wait() {
  trim_pools();
  return 0;
}

}  // namespace

extern "C" {

int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int code = fault("cuDevicePrimaryCtxRetain")) return code;
  return retain(context, device);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  const int code = release(device);
  return code != 0 ? code : fault("cuDevicePrimaryCtxRelease_v2");
}

int cuDevicePrimaryCtxReset_v2(int device) {
  const std::lock_guard lock(contexts_guard);
  Context& one = primaries[static_cast<std::size_t>(device)];
  if (one.retained > 0) end(one);
  one.retained = 0;
  return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (card(device) == nullptr) return has_begun() ? invalid_device : not_initialized;
  *flags = 0;
  *active = primaries[static_cast<std::size_t>(device)].retained > 0 ? 1 : 0;
  return 0;
}

int cuCtxCreate_v2(void** context, unsigned, int device) {
  if (const int code = fault("cuCtxCreate_v2")) return code;
  return create(context, device);
}
int cuCtxCreate_v3(void** context, void*, int, unsigned, int device) {
  return create(context, device);
}

int cuCtxDestroy_v2(void* context) {
  if (const int code = fault("cuCtxDestroy_v2")) return code;
  const std::lock_guard lock(contexts_guard);
  const auto found = std::ranges::find_if(others, [&](auto& one) { return one.get() == context; });
  if (found == others.end()) return invalid_context;
  end(**found);
  if (current == context) current = nullptr;
  others.erase(found);
  return 0;
}

/// A green context holds its device's primary one.
int cuGreenCtxCreate(void** context, void*, int device, unsigned) {
  if (const int code = fault("cuGreenCtxCreate")) return code;
  if (const int code = retain(nullptr, device)) return code;
  const std::lock_guard lock(contexts_guard);
  *context = new char;
  greens[*context] = device;
  return 0;
}
int cuGreenCtxDestroy(void* context) {
  contexts_guard.lock();
  const auto found = greens.extract(context);
  contexts_guard.unlock();
  if (!found) return invalid_context;
  delete static_cast<char*>(context);
  return release(found.mapped());
}

int cuCtxSetCurrent(void* context) {
  current = static_cast<Context*>(context);
  return fault("cuCtxSetCurrent");
}

int cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}

int cuCtxGetDevice(int* device) {
  *device = current_device();
  return *device < 0 ? invalid_context : 0;
}

int cuCtxSynchronize() {
  if (current == nullptr) return invalid_context;
  wait();
  return fault("cuCtxSynchronize");
}

int cuCtxEnablePeerAccess(void*, unsigned) { return fault("cuCtxEnablePeerAccess"); }

int cuStreamCreate(void** stream, unsigned) {
  if (current == nullptr) return invalid_context;
  *stream = new Stream;
  return 0;
}
int cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  return 0;
}
int cuStreamSynchronize(void*) { return wait(); }
int cuStreamSynchronize_ptsz(void*) { return wait(); }

/// What a captured stream is asked to do is not put down: nothing of it happens.
int cuStreamBeginCapture_v2(void* stream, int) {
  if (stream == nullptr) return not_supported;
  static_cast<Stream*>(stream)->is_captured = true;
  return 0;
}
int cuStreamEndCapture(void* stream, void** graph) {
  static_cast<Stream*>(stream)->is_captured = false;
  *graph = nullptr;
  return 0;
}
int cuStreamIsCapturing(void* stream, int* status) {
  *status = stream != nullptr && static_cast<Stream*>(stream)->is_captured ? 1 : 0;
  return 0;
}
int cuStreamIsCapturing_ptsz(void* stream, int* status) {
  return cuStreamIsCapturing(stream, status);
}

int cuEventCreate(void** event, unsigned) {
  *event = new char;
  return 0;
}
int cuEventRecord(void*, void*) { return 0; }
int cuEventSynchronize(void*) { return wait(); }
int cuEventDestroy_v2(void* event) {
  delete static_cast<char*>(event);
  return 0;
}

}  // extern "C"
