// berth/torch.h with Debian's LibTorch, which has no CUDA: prints what was wrong; 0: nothing was.

#include <ATen/ATen.h>
#include <berth/torch.h>
#include <c10/core/impl/FakeGuardImpl.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace on_torch = berth::torch_ext;

namespace {

int wrong = 0;

void expect(bool holds, const char* claim, int line) {
  if (holds) return;
  ++wrong;
  std::fprintf(stderr, "line %d: not so: %s\n", line, claim);
}
#define EXPECT(claim) expect((claim), #claim, __LINE__)

std::string refusal(const at::Tensor& weight, const at::Tensor& x) {
  try {
    (void)BERTH_SAME_DEVICE(weight, at::zeros({1}), x);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

/// What torch::nn and torch::jit modules have, as far as place() asks.
struct Module {
  std::vector<at::Tensor> parameters() const { return {weight, weight, bias}; }
  std::vector<at::Tensor> buffers() const { return {}; }
  void to(c10::Device device) {
    weight = at::empty(weight.sizes(), weight.options().device(device));
    bias = at::empty(bias.sizes(), bias.options().device(device));
  }
  at::Tensor weight = at::zeros({1024, 512});  // shared by two parameters: 2 MiB, once
  at::Tensor bias = at::zeros({1024, 256});    // 1 MiB
};

/// Twice without a device, and one warning (on standard error: torch's own place for it).
void devices() {
  EXPECT(on_torch::device(0).is_cpu());
  EXPECT(on_torch::device(0).is_cpu());
  EXPECT(on_torch::device(-1).is_cpu());
}

/// Some devices of a maker's, as a build of torch for it, or its package, says.
template <c10::DeviceType type>
void some_devices_of() {
  static const c10::impl::FakeGuardImpl<type> says;
  const c10::impl::DeviceGuardImplRegistrar registered(type, &says);
}

void devices_of_other_makers() {
  some_devices_of<c10::DeviceType::XPU>();
  EXPECT(on_torch::device(0) == c10::Device(c10::DeviceType::XPU, 0));
  EXPECT(on_torch::device(c10::impl::kFakeGuardImplMaxDevices).is_cpu());
  some_devices_of<c10::DeviceType::PrivateUse1>();
  EXPECT(on_torch::device(0) == c10::Device(c10::DeviceType::PrivateUse1, 0));
}

void tensors() {
  const at::Tensor weight = at::zeros({3, 4});
  EXPECT(refusal(weight, at::zeros({2, 4})).empty());
  EXPECT(BERTH_SAME_DEVICE(weight).is_cpu());
  EXPECT(refusal(weight, at::empty({2, 4}, c10::Device(c10::kMeta))) ==
         "weight [3, 4] is on cpu, but x [2, 4] is on meta; move one: x = x.to(weight.device())");
  EXPECT(refusal(weight, at::Tensor()) == "x is not defined: it was never assigned");
  EXPECT(on_torch::detail::names_in("a, f(b, c)[1, 2], {d, e}") ==
         (std::vector<std::string>{"a", "f(b, c)[1, 2]", "{d, e}"}));
}

void memory() {
  const auto on_cpu = on_torch::memory(c10::Device(c10::kCPU));
  EXPECT(!on_cpu && on_cpu.error().code() == BERTH_E_UNSUPPORTED);
  const auto too_early = on_torch::memory(c10::Device(c10::kCUDA, 0));
  EXPECT(!too_early && too_early.error().code() == BERTH_E_NOT_FOUND);
}

}  // namespace

int main() {
  devices();
  tensors();
  memory();
  Module module;
  Module& placed = on_torch::place(module, c10::Device(c10::kMeta));
  EXPECT(&placed == &module && module.weight.device().is_meta());
  on_torch::mark_memory("epoch=1", c10::Device(c10::kCPU));
  devices_of_other_makers();
  return wrong;
}
