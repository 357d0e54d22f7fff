// look_at_tree SYS PROC [LOOKS]: what the collector sees there, a line of JSON per look. With "cpu"
// behind LOOKS: the microseconds of processor time that each look of one source took, instead.

#include <sys/resource.h>

#include <cstdio>
#include <string>

#include "base/clock.h"
#include "base/text.h"
#include "probe/amdgpu/amdgpu_source.h"
#include "probe/collector.h"
#include "snapshot/json.h"

namespace {

std::int64_t processor_microseconds() {
  rusage used{};
  (void)::getrusage(RUSAGE_SELF, &used);
  constexpr std::int64_t per_second = 1'000'000;
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * per_second + used.ru_utime.tv_usec +
         used.ru_stime.tv_usec;
}

/// In this process, with nothing around it.
void time_source(const berth::Sources& sources, std::uint64_t looks) {
  berth::AmdgpuSource source(sources.sys, sources.proc);
  for (std::uint64_t i = 0; i < looks; ++i) {
    const std::int64_t before = processor_microseconds();
    const auto count = source.open();
    std::size_t seen = 0;
    for (int card = 0; card < count.value_or(0); ++card) {
      seen += source.observe_device(card, berth::Depth::state, {}).devices.size();
    }
    std::printf("%lld %zu\n", static_cast<long long>(processor_microseconds() - before), seen);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  const berth::Sources sources{.nvml_library = "libnvidia-ml.so.1",
                               .proc = words[2],
                               .sys = words[1],
                               .pci_ids = std::string(words[1]) + "/pci.ids",
                               .passwd = "/etc/passwd",
                               .kernel_log = "/nonexistent",
                               .root = words[1]};
  const std::uint64_t looks = count > 3 ? berth::parse_unsigned(words[3]).value_or(1) : 1;
  if (count > 4) {
    time_source(sources, looks);
    return 0;
  }
  berth::SystemClock clock;
  auto collector = berth::Collector::start(sources, {.looks = berth::Looks::again});
  if (!collector) return 1;
  for (std::uint64_t i = 0; i < looks; ++i) {
    if (i > 0) clock.wait_until(clock.now() + std::chrono::milliseconds(20));
    const berth::Snapshot seen = collector->collect({.wanted = berth::Depth::lists}, clock);
    std::printf("%s\n", berth::to_json(seen, berth::JsonLayout::compact).c_str());
    std::fflush(stdout);
  }
  return 0;
}
