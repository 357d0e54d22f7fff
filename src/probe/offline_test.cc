#include "probe/offline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "probe/collector.h"
#include "snapshot/builder.h"
#include "snapshot/json.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

Sources nowhere() {
  return {.nvml_library = "/nowhere/libnvidia-ml.so.1",
          .proc = "/nowhere/proc",
          .sys = "/nowhere/sys",
          .passwd = "/nowhere/passwd",
          .root = "/nowhere"};
}

Claim claim_of_this_process(const DeviceId& device) {
  Claim claim;
  claim.id = "lease-1";
  claim.user = "alice";
  claim.job = own_process_id();
  claim.command = "python train.py";
  claim.since = {FakeClock().wall_now().unix_ms - 60'000};
  claim.devices.push_back({device, std::nullopt});
  return claim;
}

TEST(Collect, MachineWithNothingIsAnEmptySnapshotWithAProblemPerSource) {
  SystemClock clock;
  const auto got = collect(nowhere(), {}, clock);
  ASSERT_TRUE(got);
  EXPECT_THAT(got->devices, testing::IsEmpty());
  EXPECT_THAT(got->sources, testing::Contains(SourceReport{"nvml", false}));
  EXPECT_THAT(got->sources, testing::Contains(SourceReport{"pci", false}));
  EXPECT_THAT(got->problems, testing::Contains(testing::Field(&Problem::source, "nvml")));
  EXPECT_THAT(got->problems, testing::Contains(testing::Field(&Problem::source, "pci")));
}

TEST(Collect, ContainerOfAJobHasTheNameThatItsRuntimeWrites) {
  const TemporaryDirectory machine;
  const std::string id(64, '7');
  const auto put = [&](const std::string& name, const std::string& text) {
    const std::string path = machine / name;
    ASSERT_TRUE(make_directories(path.substr(0, path.rfind('/'))));
    ASSERT_TRUE(write_file_atomically(path, text));
  };
  const std::string folder = "proc/77";
  put(folder + "/stat", "77 (python) R 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 42 0 10 0\n");
  put(folder + "/status", "Name:\tpython\nUid:\t1001\t0\t0\t0\n");
  put(folder + "/cgroup", "0::/system.slice/docker-" + id + ".scope\n");
  put("var/lib/docker/containers/" + id + "/config.v2.json", R"({"Name": "/train"})");
  Sources sources = nowhere();
  sources.proc = machine / "proc";
  sources.root = machine.path();
  Claim claim;
  claim.job = ProcessId{.pid = 77, .start_ticks = 42};
  SystemClock clock;
  const auto got = collect(sources, {.claims = {claim}}, clock);
  ASSERT_TRUE(got);
  const HostProcess* process = find_process(77, *got);
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(enclosure_title(*process), Reading<std::string>("docker train"));
  EXPECT_EQ(process->enclosure->image, Reading<std::string>(Absent::failed));
  const auto quick = collect(sources, {.wanted = Depth::state, .claims = {claim}}, clock);
  EXPECT_EQ(find_process(77, *quick)->enclosure->name, Reading<std::string>(Absent::not_sampled))
      << "placement does not need it";
}

TEST(Collect, UnreadableScenarioIsAnError) {
  FakeClock clock;
  EXPECT_EQ(collect({.simulated = "no-such"}, {}, clock).error().code(), ErrorCode::invalid);
}

TEST(Collector, PlaysARecordingAndShowsItsFirstSnapshotToWhoLooksOnce) {
  FakeClock clock;
  std::string text;
  for (const std::int64_t second : {0, 5}) {
    Snapshot recorded = SnapshotBuilder().gpu("A", Bytes(1)).build();
    recorded.taken = {second * 1000};
    text += to_json(recorded, JsonLayout::compact) + "\n";
  }
  const auto taken = [&](Looks looks) {
    auto collector = Collector::play(*Recording::parse(text, Sentence("f")), looks);
    EXPECT_EQ(collector->collect({}, clock).taken.unix_ms, 0);
    clock.advance(std::chrono::seconds(6));
    return collector->collect({}, clock).taken.unix_ms;
  };
  EXPECT_EQ(taken(Looks::once), 0);
  EXPECT_EQ(taken(Looks::again), 5000);
}

TEST(Collect, LeasedJobRunsOnTheSimulatedServerWhileItsProcessLives) {
  FakeClock clock;
  const Sources sources{.simulated = "server-8xh100"};
  const Snapshot idle = *collect(sources, {}, clock);
  EXPECT_EQ(idle.simulated, "server-8xh100");
  Claim claim = claim_of_this_process(idle.devices[5].id);
  const Snapshot busy = *collect(sources, {.claims = {claim}}, clock);
  EXPECT_GT(*busy.devices[5].utilization_gpu.get(), Percent(70));
  EXPECT_EQ(processes_on(busy.devices[5].id, busy).size(), 1U);
  const HostProcess* job = find_process(claim.job->pid, busy);
  ASSERT_NE(job, nullptr);
  EXPECT_FALSE(job->ancestors.empty());
  claim.job->start_ticks += 1;  // another process has the pid now
  const Snapshot after = *collect(sources, {.claims = {claim}}, clock);
  EXPECT_EQ(after, idle);
}

TEST(OfflineSource, MovesFromLookToLook) {
  FakeClock clock;
  auto source = OfflineSource::simulate({.simulated = "server-8xh100"});
  ASSERT_TRUE(source) << source.error().message();
  const Snapshot first = source->look({}, clock.wall_now());
  clock.advance(std::chrono::seconds(9));
  const Snapshot second = source->look({}, clock.wall_now());
  EXPECT_EQ(second.taken, clock.wall_now());
  EXPECT_GT(*second.devices[0].energy.get(), *first.devices[0].energy.get());
}

}  // namespace
}  // namespace berth
