#include "diagnose/doctor/gpu_speed.h"

#include <fmt/format.h>

#include <string_view>

#include "diagnose/pcie.h"

namespace berth::doctor {

namespace {

using compute::ProofOf;

std::optional<double> single_precision(const Device& device) {
  const auto& cores = device.cuda_cores.get();
  const auto& clock = device.clock_sm_max.get();
  if (!cores || !clock) return std::nullopt;
  // A multiplication and an addition per core and cycle.
  return 2.0 * static_cast<double>(*cores) * static_cast<double>(clock->count()) * 1e6;
}

std::optional<double> pcie_link(const Device& device) {
  const auto& generation = device.pcie_generation_max.get();
  const auto& width = device.pcie_width_max.get();
  if (!generation || !width) return std::nullopt;
  return pcie_bytes_per_second(*generation, *width);
}

}  // namespace

std::optional<double> best_rate(ProofOf what, const Device& device) {
  switch (what) {
    case ProofOf::multiply:
      return single_precision(device);
    case ProofOf::copy_inside:
      if (const auto& bandwidth = device.memory_bandwidth.get()) {
        return static_cast<double>(bandwidth->count());
      }
      return std::nullopt;
    case ProofOf::copy_in_pinned:
    case ProofOf::copy_out_pinned:
      return pcie_link(device);
    case ProofOf::opening:
    case ProofOf::multiply_cpu:
    case ProofOf::copy_in:  // as fast as the host copies into its own pinned memory
    case ProofOf::copy_out:
    case ProofOf::copy_to_peer:  // NVLink, PCIe or through the host
    case ProofOf::closing:
      return std::nullopt;
  }
  return std::nullopt;
}

double least_share(ProofOf what) { return what == ProofOf::multiply ? 0.1 : 0.5; }

Sentence words_of(const compute::ProofStep& step) {
  switch (step.what) {
    case ProofOf::opening:
      return sentence("opening it");
    case ProofOf::multiply:
      return sentence("a product of two matrices");
    case ProofOf::multiply_cpu:
      return sentence("the same product on the CPU");
    case ProofOf::copy_inside:
      return sentence("a copy within its memory");
    case ProofOf::copy_in:
      return sentence("a copy from the host");
    case ProofOf::copy_out:
      return sentence("a copy to the host");
    case ProofOf::copy_in_pinned:
      return sentence("a copy from the host's pinned memory");
    case ProofOf::copy_out_pinned:
      return sentence("a copy to the host's pinned memory");
    case ProofOf::copy_to_peer:
      return sentence("a copy to GPU {}", step.peer);
    case ProofOf::closing:
      return sentence("letting go of it");
  }
  return {};
}

std::string rate_text(ProofOf what, double per_second) {
  const bool computes = what == ProofOf::multiply || what == ProofOf::multiply_cpu;
  const std::string_view unit = computes ? "FLOP/s" : "B/s";
  if (per_second >= 1e12) return fmt::format("{:.3g} T{}", per_second / 1e12, unit);
  if (per_second >= 1e9) return fmt::format("{:.3g} G{}", per_second / 1e9, unit);
  return fmt::format("{:.3g} M{}", per_second / 1e6, unit);
}

}  // namespace berth::doctor
