// The metrics page of every built-in scenario: well formed to the letter in each profile and
// format. One picture per profile is kept to be looked at.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/sim/motion.h"
#include "probe/sim/scenario.h"
#include "probe/sources.h"
#include "serve/exposition_reader_test.h"
#include "serve/metrics.h"
#include "view/golden_file.h"

namespace berth::serve {
namespace {

using enum MetricsProfile;

constexpr WallTime noon{1'760'011'200'000};  // 2025-10-09 12:00 UTC

Snapshot server(const std::string& name, WallTime now = noon) {
  const auto scenario = sim::load_scenario(name);
  EXPECT_TRUE(scenario.has_value()) << name;
  return sim::scenario_at(*scenario, now);
}

std::string page_of(const std::string& name, std::vector<MetricsProfile> profiles,
                    MetricsFormat format) {
  WindowKeeper window;
  for (int second = 0; second < 3; ++second) {
    window.add(server(name, {noon.unix_ms + second * 1000}), Instant(std::chrono::seconds(second)));
  }
  const Snapshot newest = server(name, {noon.unix_ms + 2000});
  const Scrape scrape{.snapshot = newest,
                      .age = std::chrono::milliseconds(250),
                      .interval = std::chrono::seconds(1),
                      .look_duration = std::chrono::milliseconds(12),
                      .daemon = {.looks = 3,
                                 .requests = 1,
                                 .cpu_time = Duration{},
                                 .resident = Bytes{},
                                 .started = noon},
                      .window = &window.statistics(),
                      .version = "0.1.0"};
  return metrics_page(scrape, {.profiles = std::move(profiles), .per_process = true}, format);
}

TEST(MetricsInScenarios, AreStrictlyWellFormed) {
  for (const ScenarioName& scenario : builtin_scenarios()) {
    const std::string name(scenario.name);
    for (const MetricsFormat format : {MetricsFormat::text_0_0_4, MetricsFormat::openmetrics_1_0}) {
      const bool openmetrics = format == MetricsFormat::openmetrics_1_0;
      const ReadPage page =
          read_page(page_of(name, {berth, dcgm, nvidia_smi}, format), openmetrics);
      EXPECT_EQ(page.all_faults(), "") << name;
      EXPECT_EQ(page.value("berth_simulation_info{scenario=\"" + name + "\"}"), 1) << name;
      EXPECT_GT(page.samples.size(), 60U) << name;
    }
  }
}

TEST(MetricsInScenarios, LookAsTheyAlwaysDid) {
  expect_golden("metrics_berth", page_of("desktop", {berth}, MetricsFormat::text_0_0_4));
  expect_golden("metrics_dcgm", page_of("h100-mig", {dcgm}, MetricsFormat::openmetrics_1_0));
  expect_golden("metrics_nvidia_smi", page_of("h100-mig", {nvidia_smi}, MetricsFormat::text_0_0_4));
}

}  // namespace
}  // namespace berth::serve
