#pragma once
// The devices that --gpu-test was to try, those left out among them, one by one and step by step,
// for the rules that judge them.

#include <functional>
#include <string>
#include <vector>

#include "diagnose/doctor/examined.h"

namespace berth::doctor {

struct TestedGpu {
  const GpuProof& test;
  const Device& device;
  std::string name;  // its index, else its id
};
/// Those that the snapshot still has.
[[nodiscard]] std::vector<TestedGpu> tested_gpus(const Examined& host);

using StepJudge =
    std::function<void(const TestedGpu&, const compute::ProofStep&, Findings& findings)>;
/// What `judge` adds, asked of each step of each of them.
[[nodiscard]] Findings each_step(const Examined& host, const StepJudge& judge);

/// A finding with nothing but its evidence: the device, the step and what it said.
[[nodiscard]] Finding step_finding(const TestedGpu& gpu, const compute::ProofStep& step);

}  // namespace berth::doctor
