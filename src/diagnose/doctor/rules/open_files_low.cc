#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "diagnose/doctor/rules.h"

namespace berth::doctor {

Findings open_files_low(const Examined& host) {
  if (!host.world.limits) return {};
  const auto& soft = host.world.limits->open_files.get();
  // 1024 is what every login has; data loaders get by with it until they keep many batches.
  if (!soft || *soft >= 1024) return {};
  const auto& hard = host.world.limits->open_files_hard.get();
  const std::uint64_t more = std::min<std::uint64_t>(hard.value_or(65'536), 65'536);
  const Finding::Step raise =
      more > *soft
          ? Finding::Step{sentence("raise it for this shell"), fmt::format("ulimit -n {}", more)}
          : Finding::Step{sentence("it is the most that you are allowed: ask the administrator "
                                   "(nofile in limits.conf, LimitNOFILE of the service)"),
                          "ulimit -Hn"};
  return {{.rule = "open_files_low",
           .severity = Severity::warning,
           .title = sentence("few files may be open at a time"),
           .evidence = {sentence("the limit is {} (ulimit -n)", *soft)},
           .meaning = sentence(
               "Data-loader workers pass batches as open files: \"too many open files\" or "
               "\"received 0 items of ancdata\" is how that ends."),
           .steps = {raise}}};
}

}  // namespace berth::doctor
