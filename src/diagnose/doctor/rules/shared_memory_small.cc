#include <cstdint>

#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

constexpr Bytes gibibyte{std::uint64_t{1} << 30};

}  // namespace

Findings shared_memory_small(const Examined& host) {
  if (!host.world.limits) return {};
  const auto& total = host.world.limits->shared_memory_total.get();
  const auto& free = host.world.limits->shared_memory_free.get();
  if (!total || !free) return {};
  const bool small = total->count() < gibibyte.count() / 4;
  const bool full = free->count() * 20 < total->count();
  if (!small && !full) return {};
  Finding finding{
      .rule = "shared_memory_small",
      .severity = small && !is_container(host) ? Severity::hint : Severity::warning,
      .title = small ? sentence("shared memory is small") : sentence("shared memory is full"),
      .evidence = {sentence("/dev/shm has {}, {} of it free", short_size(*total),
                            short_size(*free))},
      .meaning = sentence("Data-loader workers hand batches over through it; when it is full "
                          "they die with \"bus error\".")};
  if (!small) {
    finding.steps.push_back(
        {sentence("see what lies there; what no program uses can go"), "ls -lS /dev/shm | head"});
  } else if (is_container(host)) {
    finding.steps.push_back(
        {sentence("start the container with more"), "docker run --shm-size=8g …"});
  } else {
    finding.steps.push_back({sentence("give it more"), "sudo mount -o remount,size=8g /dev/shm"});
  }
  finding.steps.push_back({sentence("or let PyTorch's workers use files instead: "
                                    "torch.multiprocessing.set_sharing_strategy('file_system')"),
                           ""});
  return {finding};
}

}  // namespace berth::doctor
