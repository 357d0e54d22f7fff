// A CUDA device through the driver library alone, in its primary context: what a framework that
// runs beside us would share.

#include <algorithm>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "compute/cuda_api.h"
#include "compute/device.h"

namespace berth::compute {

namespace {

constexpr CudaResult peer_access_already_enabled = 704;

std::unexpected<Error> refused(const CudaApi& api, const std::string& attempted, CudaResult code) {
  const char* word = nullptr;
  if (api.get_error_name(code, &word) != 0 || word == nullptr) word = "an unknown error";
  return fail(ErrorCode::io, "{}: {} ({})", attempted, word, code);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaApi& api, CudaOrdinal ordinal, void* context, std::string name)
      : Device(Kind::cuda, std::move(name)), api_(api), ordinal_(ordinal), context_(context) {}
  ~CudaDevice() override { (void)api_.primary_context_release(ordinal_); }

  Result<Buffer> allocate(std::size_t bytes, Memory memory) override {
    if (auto ready = enter(); !ready) return std::unexpected(std::move(ready).error());
    if (memory == Memory::pinned) {
      void* address = nullptr;
      const CudaResult code = api_.allocate_host(&address, bytes);
      if (code != 0) return refusal(fmt::format("pinning {} bytes of host memory", bytes), code);
      return Buffer(*this, std::bit_cast<std::uint64_t>(address), bytes, memory);
    }
    CudaAddress address = 0;
    const CudaResult code = api_.allocate(&address, bytes);
    if (code != 0) return refusal(fmt::format("allocating {} bytes", bytes), code);
    return Buffer(*this, address, bytes, memory);
  }

  Result<void> start(const Kernel& kernel, const Arguments& arguments) override {
    auto function = function_of(kernel);
    if (!function) return std::unexpected(std::move(function).error());
    std::vector<CudaAddress> addresses;
    for (const Buffer* buffer : arguments.buffers) addresses.push_back(buffer->address());
    std::vector<std::uint32_t> numbers = arguments.numbers;
    std::vector<void*> parameters;
    for (CudaAddress& address : addresses) parameters.push_back(&address);
    for (std::uint32_t& number : numbers) parameters.push_back(&number);
    const Shape& shape = arguments.shape;
    const CudaResult code = api_.launch(*function, shape.grid_x, shape.grid_y, 1, shape.block_x,
                                        shape.block_y, 1, 0, nullptr, parameters.data(), nullptr);
    if (code != 0) return refusal(fmt::format("starting {}", kernel.name), code);
    return {};
  }

  Result<void> finish() override {
    if (auto ready = enter(); !ready) return ready;
    const CudaResult code = api_.context_synchronize();
    if (code != 0) return refusal("waiting for what was started", code);
    return {};
  }

  Result<std::size_t> free_bytes() override {
    if (auto ready = enter(); !ready) return std::unexpected(std::move(ready).error());
    std::size_t free = 0;
    std::size_t total = 0;
    const CudaResult code = api_.memory_info(&free, &total);
    if (code != 0) return refusal("asking for its free memory", code);
    return free;
  }

 private:
  std::unexpected<Error> refusal(const std::string& attempted, CudaResult code) const {
    return refused(api_, name() + ": " + attempted, code);
  }

  /// Its context is the thread's.
  Result<void> enter() {
    const CudaResult code = api_.context_set_current(context_);
    if (code != 0) return refusal("entering its context", code);
    return {};
  }

  /// Compiled by the driver for this device, once.
  Result<void*> function_of(const Kernel& kernel) {
    if (auto ready = enter(); !ready) return std::unexpected(std::move(ready).error());
    void*& known = functions_[kernel.name];
    if (known != nullptr) return known;
    void* module = nullptr;
    if (const CudaResult code = api_.load_module(&module, kernel.ptx().c_str()); code != 0) {
      return refusal(fmt::format("compiling {}", kernel.name), code);
    }
    if (const CudaResult code = api_.get_function(&known, module, kernel.name); code != 0) {
      known = nullptr;
      return refusal(fmt::format("finding {} in its module", kernel.name), code);
    }
    return known;
  }

  void release(Buffer& buffer) override {
    if (!enter()) return;
    if (buffer.memory() == Memory::pinned) {
      (void)api_.release_host(std::bit_cast<void*>(buffer.address()));
    } else {
      (void)api_.release(buffer.address());
    }
  }

  Result<void> copy_here(const Buffer& from, Buffer& to) override {
    if (auto ready = enter(); !ready) return ready;
    CudaResult code = 0;
    if (from.is_host() && to.is_host()) {
      std::ranges::copy(from.words(), to.words().begin());
      return {};
    }
    if (from.is_host()) {
      code = api_.copy_to_device(to.address(), from.words().data(), from.bytes());
    } else if (to.is_host()) {
      code = api_.copy_from_device(to.words().data(), from.address(), from.bytes());
    } else if (&to.device() == this) {
      code = api_.copy_on_device(to.address(), from.address(), from.bytes());
    } else {
      return copy_to_peer(from, to);
    }
    // Copies of pageable memory and within a device may come back before they are done.
    if (code == 0) code = api_.context_synchronize();
    if (code == 0) return {};
    return refusal(fmt::format("copying {} bytes from {} to {}", from.bytes(), from.device().name(),
                               to.device().name()),
                   code);
  }

  Result<void> copy_to_peer(const Buffer& from, Buffer& to) {
    auto& peer = static_cast<CudaDevice&>(to.device());
    int direct = 0;
    if (api_.device_can_access_peer(&direct, ordinal_, peer.ordinal_) == 0 && direct != 0) {
      const CudaResult enabled = api_.context_enable_peer_access(peer.context_, 0);
      if (enabled != 0 && enabled != peer_access_already_enabled) {
        return refusal("opening the way to " + peer.name(), enabled);
      }
    }
    CudaResult code =
        api_.copy_to_peer(to.address(), peer.context_, from.address(), context_, from.bytes());
    if (code == 0) code = api_.context_synchronize();
    if (code == 0) return {};
    return refusal(fmt::format("copying {} bytes to {}", from.bytes(), peer.name()), code);
  }

  const CudaApi& api_;
  CudaOrdinal ordinal_;
  void* context_;
  std::map<std::string, void*> functions_;  // by the kernel's name
};

}  // namespace

Result<std::unique_ptr<Device>> make_cuda(const CudaApi& api, const std::string& uuid) {
  if (const CudaResult code = api.init(0); code != 0) return refused(api, "cuInit", code);
  int count = 0;
  if (const CudaResult code = api.device_get_count(&count); code != 0) {
    return refused(api, "cuDeviceGetCount", code);
  }
  for (int i = 0; i < count; ++i) {
    CudaOrdinal ordinal = 0;
    CudaUuid own{};
    if (api.device_get(&ordinal, i) != 0 || api.device_get_uuid(&own, ordinal) != 0) continue;
    if (text_of(own) != uuid) continue;
    void* context = nullptr;
    if (const CudaResult code = api.primary_context_retain(&context, ordinal); code != 0) {
      return refused(api, fmt::format("cuda:{}: making a context", i), code);
    }
    return std::make_unique<CudaDevice>(api, ordinal, context, fmt::format("cuda:{}", i));
  }
  return fail(ErrorCode::not_found, "CUDA shows no device {} among its {}", uuid, count);
}

}  // namespace berth::compute
