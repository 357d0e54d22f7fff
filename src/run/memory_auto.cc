#include "run/memory_auto.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr Bytes least_margin(512 * mib);

/// The most on any of its devices; nothing: on one of them it was not seen.
std::optional<Bytes> peak_of(const RunRecord& run) {
  std::optional<Bytes> most;
  for (const DeviceSummary& device : run.end->summary.devices) {
    const auto& peak = device.own_memory_peak.get();
    if (!peak) return std::nullopt;
    most = std::max(most.value_or(*peak), *peak);
  }
  return most;
}

bool fits(Bytes share, const RunRecord& run) {
  return std::ranges::all_of(run.manifest.given.devices, [&](const Device& device) {
    const auto& total = device.memory_total.get();
    return !total || share.count() <= total->count();
  });
}

}  // namespace

LearntMemory memory_learnt(std::span<const RunRecord> runs, const std::vector<std::string>& command,
                           int devices, bool simulated) {
  for (const RunRecord& run : runs) {
    if (!ended_well(run) || run.manifest.command != command ||
        run.manifest.given.simulated.has_value() != simulated ||
        run.manifest.given.devices.size() != static_cast<std::size_t>(devices)) {
      continue;
    }
    const auto peak = peak_of(run);
    if (!peak) continue;
    const std::uint64_t margin = std::max(peak->count() / 10, least_margin.count());
    const Bytes share((peak->count() + margin + mib - 1) / mib * mib);
    return {.run = run.manifest.id,
            .peak = *peak,
            .share = fits(share, run) ? std::optional(share) : std::nullopt};
  }
  return {};
}

}  // namespace berth
