// links: berth_view berth_probe
// A series of `berth explain --series`, with all that is made of it: it may come from anybody. And
// the lines that workloads write for a simulated server.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "diagnose/bottleneck/activity_json.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "probe/sim/work.h"
#include "snapshot/builder.h"
#include "view/bottleneck_text.h"

namespace fuzz_activity {

namespace {

void check_series(std::string_view text) {
  auto activity = berth::bottleneck::activity_from_lines(text);
  if (!activity) {
    BERTH_CHECK(!activity.error().message().empty(), "a refusal says why");
    return;
  }
  const std::string written = to_lines(*activity);
  const auto again = berth::bottleneck::activity_from_lines(written);
  BERTH_CHECK(again.has_value(), "the series that we write, we read");
  BERTH_CHECK(again->torn_lines == 0, "and all of its steps");
  BERTH_CHECK(to_lines(*again) == written, "writing what was read changes nothing");
  berth::BottleneckAnswer answer{.activity = *activity,
                                 .bottleneck = berth::bottleneck::explain_bottleneck(*activity)};
  for (const berth::Finding& finding : answer.bottleneck.findings) {
    BERTH_CHECK(!finding.evidence.empty(), "a finding has evidence");
  }
  for (const auto& load : answer.bottleneck.features.devices) {
    BERTH_CHECK(!load.busy || (*load.busy >= 0 && *load.busy <= 1), "a share is one");
  }
  for (const char byte : render_bottleneck(answer, {.width = 60})) {
    const auto value = static_cast<unsigned char>(byte);
    BERTH_CHECK(byte == '\n' || (value >= 0x20 && value != 0x7f), "nothing commands the terminal");
  }
  BERTH_CHECK(!berth::bottleneck_json({answer}).empty(), "and JSON can be made of it");
}

void check_work(std::string_view text) {
  berth::sim::WorkFile file;
  file.feed(text);
  berth::Snapshot snapshot =
      berth::SnapshotBuilder().gpu("GPU-A", berth::Bytes(std::uint64_t{1} << 36)).build();
  berth::sim::put_work(snapshot, {file}, berth::WallTime{1'000'000}, std::nullopt);
  const auto& busy = snapshot.devices[0].utilization_gpu.get();
  BERTH_CHECK(busy && busy->count() >= 0 && busy->count() <= 100, "a share is one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_series(text);
  check_work(text);
  return 0;
}

}  // namespace fuzz_activity
