#include <algorithm>

#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings nccl_slow_settings(const Examined& host) {
  std::vector<Sentence> slow;
  const bool several = working_gpus(host).size() > 1;
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"}) {
    const auto value = host.world.variable(name);
    // Without InfiniBand nothing is lost by doing without.
    const bool has_ib = std::ranges::any_of(
        host.world.interfaces, [](const std::string& one) { return one.starts_with("ib"); });
    if (std::string_view(name) == "NCCL_IB_DISABLE" && !has_ib) continue;
    if (value && *value == "1" && several) slow.push_back(sentence("{}={}", name, *value));
  }
  if (slow.empty()) return {};
  return {
      {.rule = "nccl_slow_settings",
       .severity = Severity::hint,
       .title = sentence("NCCL may not use its fast ways"),
       .evidence = std::move(slow),
       .meaning = sentence("Set to get past a fault, these make every exchange between GPUs slower "
                           "for good."),
       .steps =
           {{sentence("see whether it works without; NCCL then says which way it takes"),
             "env -u NCCL_P2P_DISABLE -u NCCL_SHM_DISABLE -u NCCL_IB_DISABLE NCCL_DEBUG=INFO …"}},
       .doubt = sentence("there may be a good reason on this machine")}};
}

}  // namespace berth::doctor
