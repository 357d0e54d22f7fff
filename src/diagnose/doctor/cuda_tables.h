#pragma once
// Dated tables: which driver a CUDA version wants, and which builds of PyTorch there are. What is
// newer than a table is an allowed answer: nothing is then said.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "host_environment/host_facts.h"

namespace berth::doctor {

/// The oldest Linux driver for programs built with this CUDA. `runs`: they run at all, by minor
/// version compatibility: any CUDA of the same major. PTX compiled for something newer does not.
/// `own`: the driver that the toolkit itself came with. Nothing: newer than the table (13.1), or
/// older (11.0).
struct DriverNeeds {
  std::string_view runs;
  std::string_view own;
};
[[nodiscard]] std::optional<DriverNeeds> driver_needs(TwoPart cuda);

/// Whether a program with code for `architectures` runs on the device. Code of the same major and
/// at most its minor number does. So does PTX of at most its own.
[[nodiscard]] bool runs_on(ComputeCapability device,
                           const std::vector<ComputeCapability>& architectures, bool has_ptx);

/// One official build of PyTorch for x86-64 Linux.
struct TorchBuild {
  TwoPart torch;
  TwoPart cuda;
  TwoPart python_least;
  TwoPart python_most;
  bool is_default = false;  // what a package mirror gives without an index of its own
};
/// Newest torch first, of one torch the newest CUDA first. PyTorch's RELEASE.md, 2026-09.
[[nodiscard]] std::span<const TorchBuild> torch_builds();
/// The compute capabilities that official builds with this CUDA have code for; empty: not known.
[[nodiscard]] std::vector<ComputeCapability> torch_architectures(TwoPart torch, TwoPart cuda);

}  // namespace berth::doctor
