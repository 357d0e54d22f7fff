#include <fmt/format.h>

#include <array>

#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

struct OldName {
  std::string_view old;
  std::string_view now;
};

// torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp since 2.2: the old names are still read, with a
// warning.
constexpr std::array<OldName, 4> old_names = {{
    {"NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"},
    {"NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"},
    {"NCCL_DESYNC_DEBUG", "TORCH_NCCL_DESYNC_DEBUG"},
    {"NCCL_ENABLE_TIMING", "TORCH_NCCL_ENABLE_TIMING"},
}};

}  // namespace

Findings nccl_old_names(const Examined& host) {
  std::vector<Sentence> evidence;
  std::string command;
  for (const OldName& one : old_names) {
    if (!host.world.variable(one.old) || host.world.variable(one.now)) continue;
    evidence.push_back(sentence("{} is called {} now", one.old, one.now));
    if (!command.empty()) command += " && ";
    command += fmt::format("export {}=\"${}\" && unset {}", one.now, one.old, one.old);
  }
  const FrameworkBuild* torch = host.world.python ? host.world.python->framework("torch") : nullptr;
  const auto release = torch != nullptr ? two_part(torch->version) : std::nullopt;
  if (evidence.empty() || !release || *release < TwoPart{2, 2}) return {};
  return {{.rule = "nccl_old_names",
           .severity = Severity::hint,
           .title = sentence("variables with names that PyTorch has given up"),
           .evidence = std::move(evidence),
           .meaning = sentence("torch {} still reads them, with a warning; later ones need not.",
                               torch->version),
           .steps = {{sentence("give them the names that they have now"), command}}}};
}

}  // namespace berth::doctor
