#include "snapshot/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "snapshot/fields.h"
#include "snapshot/sample_test.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string with_device(const std::string& members) {
  return R"({"berth_snapshot":1,"devices":[{"kind":"nvidia-gpu","id":"GPU-1")" + members + "}]}";
}

TEST(SnapshotJson, GivesBackAFullSnapshot) {
  const Snapshot snapshot = full_snapshot();
  for (const JsonLayout layout : {JsonLayout::compact, JsonLayout::indented}) {
    const auto back = snapshot_from_json(to_json(snapshot, layout));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->host, snapshot.host);
    EXPECT_EQ(back->devices, snapshot.devices);
    EXPECT_EQ(back->gpu_processes, snapshot.gpu_processes);
    EXPECT_EQ(back->processes, snapshot.processes);
    EXPECT_EQ(back->claims, snapshot.claims);
    EXPECT_EQ(back->waiters, snapshot.waiters);
    EXPECT_EQ(back->problems, snapshot.problems);
    EXPECT_EQ(*back, snapshot);
  }
}

TEST(SnapshotJson, OfAnEarlierBerthNamesNoKeeperByZero) {
  Snapshot snapshot;
  snapshot.claims = {{.id = "a", .keeper = ProcessId{}}, {.id = "b", .keeper = ProcessId{7, 8}}};
  const auto back = snapshot_from_json(to_json(snapshot, JsonLayout::compact));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->claims[0].keeper, std::nullopt);
  EXPECT_EQ(back->claims[1].keeper, (ProcessId{7, 8}));
}

TEST(SnapshotJson, HasOfADeviceWhatWasAskedFor) {
  const Snapshot snapshot = full_snapshot();
  const std::array asked = {find_field("id"), find_field("index"), find_field("state"),
                            find_field("memory.used")};
  const std::string text = to_json(snapshot, JsonLayout::compact, Form::plain, asked);
  EXPECT_THAT(text, HasSubstr(R"("state":)"));
  EXPECT_THAT(text, HasSubstr(R"("memory_used_bytes":)"));
  EXPECT_THAT(text, Not(HasSubstr("temperature_celsius")));
  EXPECT_THAT(text, Not(HasSubstr("utilization_history")));
  const auto back = snapshot_from_json(text);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_THAT(text, Not(HasSubstr("cpu_time_ms")));
  ASSERT_EQ(back->processes.size(), snapshot.processes.size());
  EXPECT_EQ(back->processes[0].id.pid, snapshot.processes[0].id.pid);
  EXPECT_EQ(back->processes[0].user, snapshot.processes[0].user);
  EXPECT_EQ(back->processes[0].command, snapshot.processes[0].command);
  EXPECT_EQ(back->processes[0].ancestors, snapshot.processes[0].ancestors);
  ASSERT_EQ(back->gpu_processes.size(), snapshot.gpu_processes.size());
  EXPECT_EQ(back->gpu_processes[0].device, snapshot.gpu_processes[0].device);
  EXPECT_EQ(back->gpu_processes[0].memory, snapshot.gpu_processes[0].memory);
  ASSERT_EQ(back->devices.size(), snapshot.devices.size());
  EXPECT_EQ(back->devices[0].id, snapshot.devices[0].id);
  EXPECT_EQ(back->devices[0].memory_used, snapshot.devices[0].memory_used);
  EXPECT_EQ(back->devices[0].temperature.why(), Absent::not_sampled);
}

TEST(SnapshotJson, GivesBackAnEmptySnapshot) {
  EXPECT_EQ(snapshot_from_json(to_json(Snapshot{}, JsonLayout::compact)).value(), Snapshot{});
}

TEST(SnapshotJson, NamesTheVendorsThatHaveNoKeysOfTheirOwn) {
  Snapshot snapshot;
  snapshot.host.software_of(Runtime::cuda).driver = std::string("590.48.01");
  EXPECT_THAT(to_json(snapshot, JsonLayout::compact), testing::Not(HasSubstr("other_vendors")));
  snapshot.host.software_of(Runtime::rocm) = {.driver = Absent::unsupported,
                                              .runtime = std::string("6.3.0-39")};
  const std::string text = to_json(snapshot, JsonLayout::compact);
  EXPECT_THAT(text, HasSubstr(R"("driver_version":"590.48.01")"));
  EXPECT_THAT(text, HasSubstr(R"("other_vendors":[{"vendor":"AMD","driver_version":null,)"
                              R"("runtime":"ROCm","runtime_version":"6.3.0-39",)"
                              R"("why":{"driver_version":"unsupported"}}])"));
  EXPECT_EQ(snapshot_from_json(text).value(), snapshot);
}

TEST(SnapshotJson, LeavesOutAVendorThatANewerBerthKnows) {
  const auto read = snapshot_from_json(
      R"({"berth_snapshot":1,"host":{"driver_version":"590","other_vendors":[)"
      R"({"vendor":"Acme","driver_version":"1"},{"vendor":"NVIDIA","driver_version":"2"}]}})");
  ASSERT_TRUE(read) << read.error().message();
  Host expected;
  expected.software_of(Runtime::cuda).driver = std::string("590");
  EXPECT_EQ(read->host, expected);
}

TEST(SnapshotJson, TellsWhenTheDriverWasLoadedWhereThatIsKnown) {
  Snapshot snapshot;
  EXPECT_THAT(to_json(snapshot, JsonLayout::compact),
              testing::Not(testing::HasSubstr("driver_loaded")));
  snapshot.driver_loaded = WallTime{1'760'000'000'123};
  const auto read = snapshot_from_json(to_json(snapshot, JsonLayout::compact));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, snapshot);
}

TEST(SnapshotJson, CompactIsOneLine) {
  EXPECT_EQ(to_json(full_snapshot(), JsonLayout::compact).find('\n'), std::string::npos);
}

TEST(SnapshotJson, AbsentIsNullWithTheReasonBesideIt) {
  Snapshot snapshot;
  snapshot.devices = {Device{.id = DeviceId("GPU-1"), .power_draw = Absent::no_permission}};
  const std::string text = to_json(snapshot, JsonLayout::compact);
  EXPECT_THAT(text, HasSubstr(R"("power_draw_milliwatts":null)"));
  EXPECT_THAT(text, HasSubstr(R"("power_draw_milliwatts":"no permission")"));
}

TEST(SnapshotJson, WhatAFileLeavesOutIsNotSampled) {
  const auto snapshot = snapshot_from_json(with_device(""));
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->devices.at(0).memory_used, Reading<Bytes>(Absent::not_sampled));
}

TEST(SnapshotJson, IgnoresUnknownKeys) {
  EXPECT_TRUE(snapshot_from_json(with_device(R"(,"colour":"green","new":{"a":[1]})")));
  EXPECT_TRUE(snapshot_from_json(R"({"berth_snapshot":1,"later":[]})"));
}

TEST(SnapshotJson, RefusesANewerVersion) {
  const auto snapshot = snapshot_from_json(R"({"berth_snapshot":2})");
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code(), ErrorCode::invalid);
  EXPECT_THAT(snapshot.error().message(), HasSubstr("newer"));
}

TEST(SnapshotJson, RefusesWhatIsNoSnapshot) {
  for (const char* text :
       {"", "null", "[]", "{}", "7", "{\"berth_snapshot\":", "\xFF", R"({"berth_snapshot":"1"})",
        R"({"berth_snapshot":0})", R"({"berth_snapshot":1,"devices":{}})",
        R"({"berth_snapshot":1,"devices":[7]})",
        R"({"berth_snapshot":1,"devices":[{"kind":"toaster","id":"x"}]})",
        R"({"berth_snapshot":1,"devices":[{"kind":"other","id":""}]})",
        R"({"berth_snapshot":1,"gpu_processes":[{"device":"x","pid":"1"}]})",
        R"({"berth_snapshot":1,"leases":[{"devices":"GPU-1"}]})",
        R"({"berth_snapshot":1,"queue":[{"gathered":[7]}]})"}) {
    const auto snapshot = snapshot_from_json(text);
    ASSERT_FALSE(snapshot) << text;
    EXPECT_EQ(snapshot.error().code(), ErrorCode::invalid) << text;
  }
}

TEST(SnapshotJson, RefusesValuesOfTheWrongTypeOrRange) {
  for (const char* member :
       {R"(,"index":-1)", R"(,"index":99999999999)", R"(,"index":"0")", R"(,"index":1.5)",
        R"(,"memory_total_bytes":"80G")", R"(,"memory_total_bytes":-1)",
        R"(,"memory_total_bytes":1e300)", R"(,"memory_total_bytes":1.5)", R"(,"name":7)",
        R"(,"mig_mode":"yes")", R"(,"lost":1)", R"(,"compute_capability":"8")",
        R"(,"compute_capability":"99999999999999999999.0")", R"(,"name":{})",
        R"(,"utilization_history_ms_percent":[[1]])", R"(,"utilization_history_ms_percent":7)",
        R"(,"utilization_history_ms_percent":[["a",1]])", R"(,"mig":{"gpu_instance":-1})"}) {
    EXPECT_FALSE(snapshot_from_json(with_device(member))) << member;
  }
}

TEST(SnapshotJson, RefusesIdsThatAreNoPlainWords) {
  for (const char* id : {"$(touch X)", "`touch X`", "GPU-1;reboot", "GPU 1", "GPU-1\\n2", "'",
                         "\\\"", "GPU-1,GPU-2", "-rf", "GPU-\xC3\xA9", "GPU-1\\u0000", ""}) {
    const std::string word = "\"" + std::string(id) + "\"";
    const std::string named = R"({"berth_snapshot":1,"devices":[{"kind":"other","id":)";
    EXPECT_FALSE(snapshot_from_json(named + word + "}]}")) << id;
    for (const char* key : {"uuid", "pci_address", "parent"}) {
      EXPECT_FALSE(snapshot_from_json(named + R"("x",")" + key + "\":" + word + "}]}"))
          << key << id;
    }
  }
  for (const char* id : {"GPU-6a2b0f11-d702-6a10-c12f-20bd9faed9f6", "00000000:3b:00.0",
                         "nvml-index-0", "MIG-GPU-6a2b0f11-d702-6a10-c12f-20bd9faed9f6/3/0"}) {
    EXPECT_TRUE(
        snapshot_from_json(std::string(R"({"berth_snapshot":1,"devices":[{"id":")") + id + "\"}]}"))
        << id;
  }
}

TEST(SnapshotJson, SurvivesDeepNesting) {
  EXPECT_FALSE(snapshot_from_json(std::string(1'000'000, '[')));
  EXPECT_FALSE(snapshot_from_json(R"({"berth_snapshot":1,"x":)" + std::string(200'000, '[')));
}

TEST(SnapshotJson, WritesValidJsonOfBrokenUtf8) {
  Snapshot snapshot;
  snapshot.host.name = std::string("a\xFF\xC3(b\n\x01");
  const auto back = snapshot_from_json(to_json(snapshot, JsonLayout::compact));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->host.name.get().value_or(""), "a\uFFFD\uFFFD(b\n\x01");
}

TEST(SnapshotJson, WhatCouldNotBeLookedForComesBackWithItsReason) {
  for (const Absent why : {Absent::failed, Absent::no_permission, Absent::not_sampled}) {
    Snapshot snapshot;
    snapshot.xids = why;
    snapshot.device_files = why;
    const std::string text = to_json(snapshot, JsonLayout::compact);
    EXPECT_EQ(text.contains("\"xids\":null"), why != Absent::not_sampled) << text;
    const auto back = snapshot_from_json(text);
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, snapshot) << text;
  }
}

TEST(SnapshotJson, ProcessesThatCouldNotBeLookedIntoMayBeUncounted) {
  for (const Reading<std::uint64_t>& count :
       {Reading<std::uint64_t>(12U), Reading<std::uint64_t>(Absent::no_permission),
        Reading<std::uint64_t>(Absent::failed)}) {
    Snapshot snapshot;
    snapshot.device_files = DeviceFiles{.holders = {{777, 6}}, .unreadable = count};
    const auto back = snapshot_from_json(to_json(snapshot, JsonLayout::compact));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->device_files, snapshot.device_files);
  }
}

TEST(SnapshotJson, UnknownReasonIsAFailure) {
  const auto snapshot = snapshot_from_json(
      with_device(R"(,"power_draw_milliwatts":null,"why":{"power_draw_milliwatts":"gremlins"})"));
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->devices[0].power_draw, Reading<Milliwatts>(Absent::failed));
}

}  // namespace
}  // namespace berth
