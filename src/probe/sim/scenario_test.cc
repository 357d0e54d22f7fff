#include "probe/sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "probe/sim/motion.h"
#include "probe/sources.h"
#include "snapshot/json.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

using testing::HasSubstr;

sim::Scenario builtin(const std::string& name) {
  auto scenario = sim::load_scenario(name);
  EXPECT_TRUE(scenario) << name << ": " << (scenario ? "" : scenario.error().message());
  return scenario ? std::move(*scenario) : sim::Scenario{};
}

std::string mistake_in(std::string_view text) {
  const auto scenario = sim::scenario_from_json(text, "test");
  return scenario ? "none" : scenario.error().message();
}

TEST(BuiltinScenarios, AreAllReadable) {
  std::set<std::string_view> names;
  for (const ScenarioName& known : builtin_scenarios()) {
    const sim::Scenario scenario = builtin(std::string(known.name));
    EXPECT_FALSE(scenario.base.devices.empty()) << known.name;
    EXPECT_FALSE(scenario.about.empty()) << known.name;
    EXPECT_EQ(scenario.base.simulated, std::string(known.name));
    names.insert(known.name);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"server-8xh100", "lab-4", "desktop", "h100-mig",
                                            "no-history", "faults", "driver-mismatch"}));
}

TEST(BuiltinScenarios, CountTheProcessesOfEachDevice) {
  for (const ScenarioName& known : builtin_scenarios()) {
    const sim::Scenario scenario = builtin(std::string(known.name));
    const Snapshot seen = sim::scenario_at(scenario, scenario.base.taken);
    for (const Device& device : seen.devices) {
      const bool is_divided = std::ranges::any_of(
          seen.devices, [&](const Device& other) { return other.parent == device.id; });
      if (device.lost || is_divided || known.name == "driver-mismatch") continue;
      const auto listed = std::ranges::count(seen.gpu_processes, device.id, &GpuProcess::device);
      EXPECT_EQ(device.process_count, static_cast<std::uint64_t>(listed))
          << known.name << ' ' << device.id.text();
    }
  }
}

TEST(BuiltinScenarios, HaveDistinctDevicesAndMemoryThatAddsUp) {
  for (const ScenarioName& known : builtin_scenarios()) {
    const Snapshot host = builtin(std::string(known.name)).base;
    std::set<std::string> ids;
    for (const Device& device : host.devices) {
      EXPECT_TRUE(ids.insert(device.id.text()).second) << known.name << " " << device.id.text();
      if (!device.memory_total.get() || !device.memory_used.get()) continue;
      const Bytes parts = *device.memory_used.get() + *device.memory_free.get() +
                          device.memory_reserved.get().value_or(Bytes{0});
      EXPECT_EQ(parts, *device.memory_total.get()) << known.name << " " << device.id.text();
    }
    for (const GpuProcess& process : host.gpu_processes) {
      EXPECT_TRUE(ids.contains(process.device.text())) << known.name << " pid " << process.pid;
      EXPECT_NE(find_process(process.pid, host), nullptr) << known.name << " pid " << process.pid;
    }
  }
}

TEST(BuiltinScenarios, DesktopDraws927Of8192MebibytesAndNobodyComputes) {
  const Snapshot host = builtin("desktop").base;
  ASSERT_EQ(host.devices.size(), 1U);
  EXPECT_EQ(*host.devices[0].memory_used.get(), Bytes(927ULL << 20));
  EXPECT_EQ(*host.devices[0].memory_total.get(), Bytes(8192ULL << 20));
  EXPECT_EQ(*host.devices[0].utilization_gpu.get(), Percent(20));
  for (const GpuProcess& process : host.gpu_processes) EXPECT_TRUE(is_background(process));
}

TEST(BuiltinScenarios, ServerHasFiveFreeCards) {
  const Snapshot host = builtin("server-8xh100").base;
  int free = 0;
  for (const Device& device : host.devices) free += state_of(device, host) == DeviceState::free;
  EXPECT_EQ(host.devices.size(), 8U);
  EXPECT_EQ(free, 5);
}

TEST(BuiltinScenarios, FaultsHaveALostCardMemoryNobodyExplainsAndABrokenRow) {
  const Snapshot host = builtin("faults").base;
  EXPECT_EQ(state_of(host.devices[1], host), DeviceState::lost);
  EXPECT_EQ(host.devices[1].temperature.why(), Absent::failed);
  EXPECT_GT(*unexplained_memory(host.devices[3], host).get(), Bytes(60ULL << 30));
  EXPECT_EQ(host.devices[4].details.get<bool>(Detail::remapped_rows_failed), Reading<bool>(true));
}

TEST(Scenario, DeviceStartsFromItsModelAndOverridesIt) {
  const auto scenario = sim::scenario_from_json(
      R"({"berth_snapshot": 1,
          "models": {"card": {"name": "Card", "memory_total_bytes": 1024, "serial": "1"}},
          "devices": [{"id": "GPU-1", "model": "card", "memory_total_bytes": 2048,
                       "serial": null, "why": {"serial": "unsupported"}}]})",
      "test");
  ASSERT_TRUE(scenario) << scenario.error().message();
  const Device& device = scenario->base.devices[0];
  EXPECT_EQ(*device.name.get(), "Card");
  EXPECT_EQ(*device.memory_total.get(), Bytes(2048));
  EXPECT_EQ(device.serial, Reading<std::string>(Absent::unsupported));
}

TEST(Scenario, AnySnapshotIsAScenarioThatDoesNotMove) {
  const auto scenario =
      sim::scenario_from_json(to_json(builtin("lab-4").base, JsonLayout::compact), "saved");
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(scenario->base.devices, builtin("lab-4").base.devices);
  EXPECT_TRUE(scenario->moves.empty());
  EXPECT_EQ(scenario->base.simulated, "saved");
}

TEST(Scenario, MistakesAreNamed) {
  EXPECT_THAT(mistake_in("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(mistake_in("[]"), HasSubstr("not an object"));
  EXPECT_THAT(mistake_in(std::string(100'000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(mistake_in(R"({"berth_snapshot": 99})"), HasSubstr("99"));
  EXPECT_THAT(mistake_in(R"({"berth_snapshot": 1, "devices": [{"id": "A", "model": "x"}]})"),
              HasSubstr("\"x\""));
  const auto move = [](const std::string& text) {
    return mistake_in(R"({"berth_snapshot": 1, "devices": [{"id": "A"}], "moves": [)" + text +
                      "]}");
  };
  EXPECT_THAT(move(R"({"device": 3, "field": "power_draw_milliwatts", "rate": {}})"),
              HasSubstr("no device 3"));
  EXPECT_THAT(move(R"({"device": 0, "field": "colour", "rate": {"per_second": 1}})"),
              HasSubstr("\"colour\""));
  EXPECT_THAT(move(R"({"device": 0, "field": "name", "rate": {"per_second": 1}})"),
              HasSubstr("\"name\""));
  EXPECT_THAT(move(R"({"device": 0, "field": "power_draw_milliwatts"})"), HasSubstr("\"wave\""));
  EXPECT_THAT(move(R"({"device": 0, "load": {"low": 9, "high": 1}})"), HasSubstr("\"low\""));
  EXPECT_THAT(move(R"({"device": 0, "load": {"low": 0, "high": 1, "period_s": 0}})"),
              HasSubstr("\"period_s\""));
  EXPECT_THAT(move("7"), HasSubstr("move 0"));
}

TEST(Scenario, FileThatIsNotThereIsNamedWithTheBuiltinOnes) {
  const auto scenario = sim::load_scenario("/nowhere/server.json");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.error().code(), ErrorCode::invalid);
  EXPECT_THAT(scenario.error().message(), HasSubstr("/nowhere/server.json"));
  EXPECT_THAT(scenario.error().message(), HasSubstr("server-8xh100"));
}

TEST(Scenario, FileIsNamedAfterItsFileName) {
  const TemporaryDirectory directory;
  const std::string path = directory / "two-cards.json";
  ASSERT_TRUE(write_file_atomically(path, R"({"berth_snapshot": 1, "devices": [{"id": "A"}]})"));
  const auto scenario = sim::load_scenario(path);
  ASSERT_TRUE(scenario) << scenario.error().message();
  EXPECT_EQ(scenario->base.simulated, "two-cards");
}

}  // namespace
}  // namespace berth
