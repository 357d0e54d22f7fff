#include "diagnose/doctor/torch_threads.h"

namespace berth::doctor {

std::optional<int> torch_threads(const Examined& host) {
  if (!host.world.python) return std::nullopt;
  const FrameworkSaid* said = host.world.python->said_of("torch");
  return said == nullptr ? std::nullopt : said->threads;
}

void add_torch_threads(const Examined& host, Finding& finding) {
  const auto threads = torch_threads(host);
  if (!threads) return;
  finding.evidence.push_back(
      sentence("torch, asked in a process of its own, computes with {} threads", *threads));
}

}  // namespace berth::doctor
