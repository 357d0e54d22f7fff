// Each member of a record has its key: one that walk() forgets is lost without a word.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/member_count.h"
#include "record/record_writer.h"

namespace berth {
namespace {

using nlohmann::json;

Summary full_summary() {
  const DeviceSummary device{.mean_utilization = Percent(1),
                             .memory_peak = Bytes(2),
                             .own_memory_peak = Bytes(3),
                             .energy = Millijoules(4),
                             .temperature_peak = Celsius(5),
                             .not_read = Milliseconds(6)};
  return {.samples = 7,
          .devices = {device},
          .mean_utilization = Percent(8),
          .energy = Millijoules(9),
          .tree_memory_peak = Bytes(10),
          .tree_cpu = Milliseconds(11),
          .device_files_open = std::uint64_t{12},
          .device_files_looks = std::uint64_t{13},
          .gpu_contexts = std::uint64_t{14},
          .gpu_contexts_looks = std::uint64_t{15}};
}

/// What Form::sparse leaves out where it is as it is by itself has a value.
Manifest full_manifest() {
  Manifest manifest;
  manifest.id = "20260101-000000-aaaaaa";
  manifest.command = {"python3"};
  manifest.started_steady_ms = 1;
  manifest.job = ProcessId{2, 3};
  manifest.retry_of = "20260101-000000-bbbbbb";
  manifest.spec = {{"name", "n"}};
  manifest.devices_wanted = 4;
  manifest.isolated_by = "landlock";
  manifest.waiting = true;
  manifest.time_limit_ms = 5;
  manifest.log = "/l";
  manifest.log_from = 6;
  manifest.cap = RunCap{.tier = CapTier::shim,
                        .not_held_by = {{"kernel", "why"}},
                        .said = {Sentence("said")},
                        .image = "/i"};
  manifest.git = GitFacts{.root = "/g"};
  manifest.python = PythonFacts{.frameworks = {{.name = "torch"}}};
  manifest.variables_set = {{"A", "b"}};
  manifest.toolkit = ToolkitFacts{};
  return manifest;
}

template <class Struct>
void expect_a_key_for_each(const json& object) {
  const std::size_t of_absent = object.contains("why") ? 1 : 0;  // their reasons
  EXPECT_EQ(object.size() - of_absent, member_count<Struct>()) << object.dump(1);
}

TEST(FullRecord, HasAKeyForEachMemberAndIsReadAsItWasWritten) {
  const std::string text = manifest_to_json(full_manifest());
  json written = json::parse(text);
  for (const char* head : {"format", "version"}) EXPECT_EQ(written.erase(head), 1U);
  expect_a_key_for_each<Manifest>(written);
  expect_a_key_for_each<MachineFacts>(written["machine"]);
  expect_a_key_for_each<GitFacts>(written["git"]);
  expect_a_key_for_each<PythonFacts>(written["python"]);
  expect_a_key_for_each<FrameworkFacts>(written["python"]["frameworks"][0]);
  expect_a_key_for_each<ToolkitFacts>(written["toolkit"]);
  EXPECT_EQ(written["cap"].size(), member_count<RunCap>() - 1) << "its outcome is told, not kept";
  const auto read = manifest_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(manifest_to_json(*read), text);
}

TEST(FullRecord, OfItsEndHasAKeyForEachMemberToo) {
  const RunEnd end{.exit = {.code = 3},
                   .lasted_ms = 1,
                   .because = "stopped",
                   .stopped_by = "anna",
                   .time_limit_ms = 2,
                   .died_of = "out of GPU memory",
                   .released = WallTime{3},
                   .cpu_ms = 4,
                   .summary = full_summary()};
  const std::string text = end_to_json(end);
  json written = json::parse(text);
  for (const char* head : {"format", "version"}) EXPECT_EQ(written.erase(head), 1U);
  // `exit` is three keys.
  EXPECT_EQ(written.size(), member_count<RunEnd>() + 2) << written.dump(1);
  expect_a_key_for_each<Summary>(written["summary"]);
  expect_a_key_for_each<DeviceSummary>(written["summary"]["devices"][0]);
  const auto read = end_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(end_to_json(*read), text);
  EXPECT_EQ(read->summary, end.summary);
}

}  // namespace
}  // namespace berth
