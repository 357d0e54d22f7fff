#include <cstdint>

#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings disk_nearly_full(const Examined& host) {
  if (!host.world.directory) return {};
  const WorkingDirectory& here = *host.world.directory;
  const auto& total = here.total.get();
  const auto& free = here.free.get();
  const std::uint64_t gibibyte = std::uint64_t{1} << 30;
  if (!total || !free || total->count() == 0 || free->count() >= gibibyte ||
      free->count() * 50 >= total->count()) {
    return {};
  }
  return {{.rule = "disk_nearly_full",
           .severity = Severity::warning,
           .title = sentence("the disk of the working directory is nearly full"),
           .evidence = {sentence("{} of {} are free in {}", short_size(*free), short_size(*total),
                                 here.path)},
           .meaning = sentence("Checkpoints and logs end there."),
           .steps = {{sentence("see what takes the room"), "du -xsh * | sort -h | tail"}}}};
}

}  // namespace berth::doctor
