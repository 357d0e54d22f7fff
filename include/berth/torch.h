#pragma once
// LibTorch on leased devices: which c10::Device to use, and a module moved there. Tensors are held
// to one device, with an error that names both. What the allocator holds becomes marks of the run.
//
// Compiled by your program, with torch's own flags: nothing of torch is in libberth. Apply the
// lease first: device() asks the runtime, which reads CUDA_VISIBLE_DEVICES, ZE_AFFINITY_MASK and
// the like once. (The namespace is not berth::torch, so that `using namespace berth` leaves torch::
// alone.)

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <berth/berth.hpp>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// A torch without CUDA has the first header, too, but not what it includes.
#if __has_include(<c10/cuda/CUDACachingAllocator.h>) && \
    __has_include(<c10/cuda/impl/cuda_cmake_macros.h>) && __has_include(<cuda_runtime_api.h>)
#include <c10/cuda/CUDACachingAllocator.h>
#define BERTH_TORCH_HAS_CUDA 1
#else
#define BERTH_TORCH_HAS_CUDA 0
#endif

namespace berth::torch_ext {

/// The i-th device of the lease that was applied: cuda:i (AMD's too), xpu:i, or a package's, such
/// as torch_npu's. The CPU, with one warning, where there is none. After Request::after_init
/// nothing is applied: i is a Device::ordinal of the lease.
inline c10::Device device(int i = 0) {
  std::string name = "cuda";
  // As torch.accelerator chooses: what a package adds to torch goes first.
  for (const c10::DeviceType type :
       {c10::DeviceType::PrivateUse1, c10::DeviceType::CUDA, c10::DeviceType::XPU}) {
    if (!c10::impl::hasDeviceGuardImpl(type)) continue;
    const int count = c10::impl::getDeviceGuardImpl(type)->deviceCount();
    if (i >= 0 && i < count) return c10::Device(type, static_cast<c10::DeviceIndex>(i));
    name = c10::Device(type).str();
    if (count > 0) break;
  }
  TORCH_WARN_ONCE("there is no ", name, ":", i, " for this process: the CPU is used");
  return c10::Device(c10::DeviceType::CPU);
}

namespace detail {

template <class Module, class = void>
struct IsHolder : std::false_type {};
template <class Module>
struct IsHolder<Module, std::void_t<decltype(std::declval<Module&>().ptr())>> : std::true_type {};

/// The module itself: torch::nn::Linear and the like only hold theirs.
template <class Module>
auto& module_of(Module& module) {
  if constexpr (IsHolder<Module>::value) {
    return *module;
  } else {
    return module;
  }
}

/// What of `tensors` is not on `device` yet; one that several share counts once.
template <class Tensors>
std::uint64_t bytes_elsewhere(const Tensors& tensors, c10::Device device,
                              std::set<const void*>& seen) {
  std::uint64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.device() == device) continue;
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) bytes += tensor.nbytes();
  }
  return bytes;
}

inline std::string in_mib(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace detail

/// Moves a module's parameters and buffers to `device`, and marks in the run's record how many
/// bytes that were. It is for torch::nn and torch::jit modules; outside a run there is no mark.
template <class Module>
Module& place(Module& module, c10::Device device) {
  auto& inner = detail::module_of(module);
  std::set<const void*> seen;
  std::uint64_t bytes = detail::bytes_elsewhere(inner.parameters(), device, seen);
  bytes += detail::bytes_elsewhere(inner.buffers(), device, seen);
  inner.to(device);
  (void)mark("placed_mib=" + detail::in_mib(bytes) + " device=" + device.str());
  return module;
}

namespace detail {

/// The names in "weight, f(x, y), z": what a macro was given, cut at its own commas.
inline std::vector<std::string> names_in(std::string_view given) {
  std::vector<std::string> names(1);
  int depth = 0;
  for (const char c : given) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      names.emplace_back();
    } else if (c != ' ' || !names.back().empty()) {
      names.back() += c;
    }
  }
  return names;
}

/// "weight [3, 4] is on cpu"
inline std::string where_is(const std::string& name, const at::Tensor& tensor) {
  std::string text = name + " [";
  for (const std::int64_t size : tensor.sizes()) {
    if (text.back() != '[') text += ", ";
    text += std::to_string(size);
  }
  return text + "] is on " + tensor.device().str();
}

}  // namespace detail

/// The one device of all these tensors. c10::Error names the two that differ, and how to move one.
inline c10::Device same_device(const char* given, std::initializer_list<at::Tensor> tensors) {
  TORCH_CHECK(tensors.size() > 0, "same_device() was given no tensor");
  std::vector<std::string> names = detail::names_in(given);
  if (names.size() != tensors.size()) {  // a comma that is no border, as in f<1, 2>()
    names.clear();
    for (std::size_t at = 0; at < tensors.size(); ++at) {
      names.push_back("tensor " + std::to_string(at + 1));
    }
  }
  const at::Tensor& first = *tensors.begin();
  auto name = names.begin();
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.defined(), *name, " is not defined: it was never assigned");
    TORCH_CHECK(tensor.device() == first.device(), detail::where_is(names.front(), first), ", but ",
                detail::where_is(*name, tensor), "; move one: ", *name, " = ", *name, ".to(",
                names.front(), ".device())");
    ++name;
  }
  return first.device();
}
/// BERTH_SAME_DEVICE(weight, x): same_device() with their names as they are written there.
#define BERTH_SAME_DEVICE(...) ::berth::torch_ext::same_device(#__VA_ARGS__, {__VA_ARGS__})

/// What torch's CUDA allocator holds of a device for this process.
struct Memory {
  Bytes allocated, peak_allocated;  ///< given out to tensors
  Bytes reserved, peak_reserved;    ///< taken from the driver
  Bytes inactive_split;             ///< free, in blocks that cannot be given back: fragmentation
  std::uint64_t retries, out_of_memory;
};

/// BERTH_E_UNSUPPORTED: not a CUDA device, a torch without CUDA, or another allocator.
/// BERTH_E_NOT_FOUND: CUDA has not started here; asking the allocator would have started it.
inline Result<Memory> memory(c10::Device device) {
  if (device.type() != c10::DeviceType::CUDA) {
    return Error(BERTH_E_UNSUPPORTED, "torch counts no memory on " + device.str());
  }
  if (berth_cuda_state() != BERTH_CUDA_STARTED) {
    return Error(BERTH_E_NOT_FOUND, "CUDA has not started in this process: no memory on " +
                                        device.str() + " is torch's");
  }
#if BERTH_TORCH_HAS_CUDA
  try {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(
        static_cast<c10::DeviceIndex>(device.has_index() ? device.index() : 0));
    const auto bytes = [](std::int64_t count) { return Bytes(static_cast<std::uint64_t>(count)); };
    return Memory{bytes(stats.allocated_bytes[0].current),
                  bytes(stats.allocated_bytes[0].peak),
                  bytes(stats.reserved_bytes[0].current),
                  bytes(stats.reserved_bytes[0].peak),
                  bytes(stats.inactive_split_bytes[0].current),
                  static_cast<std::uint64_t>(stats.num_alloc_retries),
                  static_cast<std::uint64_t>(stats.num_ooms)};
  } catch (const c10::Error& error) {  // another allocator, or one that holds nothing yet
    return Error(BERTH_E_UNSUPPORTED, error.what_without_backtrace());
  }
#else
  return Error(BERTH_E_UNSUPPORTED, "this program was built without torch's CUDA headers");
#endif
}

/// Marks `label` and what memory() says in the run's record; outside a run nothing.
inline void mark_memory(std::string_view label, c10::Device device) {
  std::string text(label);
  if (const Result<Memory> now = memory(device)) {
    text += " cuda_allocated_mib=" + detail::in_mib(now->allocated.count()) +
            " cuda_peak_mib=" + detail::in_mib(now->peak_allocated.count()) +
            " cuda_reserved_mib=" + detail::in_mib(now->reserved.count());
  }
  (void)mark(text);
}

}  // namespace berth::torch_ext
