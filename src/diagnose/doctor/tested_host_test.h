#pragma once
// A machine whose card was tested by --gpu-test and did well. The tests of the rules that judge
// tests use it: each changes a step.

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {

/// Card 0 of the healthy host, tested: every figure as an H100 has it.
inline Examined tested_host() {
  Examined host = healthy();
  Device& card = host.snapshot.devices.front();
  card.cuda_cores = std::uint64_t{16896};
  card.clock_sm_max = Megahertz(1980);
  card.memory_bandwidth = BytesPerSecond(3'352'320'000'000);
  card.pcie_generation_max = std::uint64_t{5};
  card.pcie_width_max = std::uint64_t{16};
  host.gpu_proofs = {
      {.device = card.id,
       .steps = {{.what = compute::ProofOf::opening, .detail = "cuda:0"},
                 {.what = compute::ProofOf::multiply, .per_second = 20e12},
                 {.what = compute::ProofOf::multiply_cpu, .per_second = 20e9},
                 {.what = compute::ProofOf::copy_inside, .per_second = 2.6e12},
                 {.what = compute::ProofOf::copy_in, .per_second = 9e9},
                 {.what = compute::ProofOf::copy_out, .per_second = 9e9},
                 {.what = compute::ProofOf::copy_in_pinned, .per_second = 55e9},
                 {.what = compute::ProofOf::copy_out_pinned, .per_second = 55e9},
                 {.what = compute::ProofOf::copy_to_peer, .per_second = 20e9, .peer = "1"}},
       .cpu_threads = 16}};
  return host;
}

/// The same, but for a step that came to another end.
inline Examined tested_host_where(std::size_t number, compute::ProofEnd end, std::string detail) {
  Examined host = tested_host();
  compute::ProofStep& step = host.gpu_proofs[0].steps[number];
  step = {.what = step.what, .end = end, .detail = std::move(detail), .peer = step.peer};
  return host;
}

}  // namespace berth::doctor
