#include "diagnose/bottleneck/activity_recorder.h"

#include <gtest/gtest.h>

#include "diagnose/bottleneck/run_activity.h"
#include "snapshot/builder.h"

namespace berth::bottleneck {
namespace {

using namespace berth::literals;
using std::chrono::milliseconds;

ProcessCounters python(std::int64_t cpu_ms, std::uint64_t thread_ns, std::uint64_t read) {
  ProcessCounters counters{.id = {.pid = 7, .start_ticks = 1}, .parent = 1, .name = "python"};
  counters.state = 'R';
  counters.cpu = Milliseconds(cpu_ms);
  counters.threads = std::vector<ThreadCounters>{{7, 'R', thread_ns, 20'000'000}, {8, 'S', 0, 0}};
  counters.knows_delays = true;
  counters.read = Bytes(read);
  counters.storage_read = Absent::no_permission;
  return counters;
}

const Target card = {.subject = "GPU 0", .devices = {DeviceId("GPU-A")}};

class ActivityRecorderTest : public testing::Test {
 protected:
  Snapshot look(double history, std::uint64_t received) {
    return SnapshotBuilder()
        .gpu("GPU-A", 80_GiB)
        .process(7, "ana", 10_GiB)
        .process(9, "bob", 1_GiB)
        .with([&](Device& device) {
          device.pcie_received = Bytes(received);
          device.utilization_history =
              std::vector<UtilizationSample>{{Milliseconds(0), Percent(history)},
                                             {Milliseconds(300), Percent(history / 2)},
                                             {Milliseconds(700), Percent(100)}};
        })
        .build();
  }
};

TEST_F(ActivityRecorderTest, AJobHasEndedOnceItWasThereAndADeviceNever) {
  for (const bool is_job : {true, false}) {
    Target target = card;
    target.ends_with_job = is_job;
    FakeClock clock;
    ActivityRecorder watched(look(0, 0), target);
    const auto is_over_after = [&](std::vector<ProcessCounters> processes) {
      clock.advance(milliseconds(500));
      watched.add(clock.now(), look(0, 0), {.processes = std::move(processes)});
      return watched.has_ended();
    };
    EXPECT_FALSE(is_over_after({})) << "it may yet begin";
    EXPECT_FALSE(is_over_after({python(0, 0, 0)}));
    EXPECT_EQ(is_over_after({}), is_job);
    EXPECT_EQ(watched.activity().steps.size(), is_job ? 1U : 2U);
    EXPECT_EQ(is_over_after({python(0, 0, 0)}), is_job) << "another has its number";
  }
}

TEST_F(ActivityRecorderTest, AStepIsWhatCountersGrewBySinceTheLookBefore) {
  FakeClock clock;
  ActivityRecorder watched(look(0, 0), card);
  watched.add(clock.now(), look(0, 1000), {.processes = {python(1000, 900'000'000, 50)}});
  EXPECT_TRUE(watched.activity().steps.empty()) << "one look is no step";
  clock.advance(milliseconds(500));
  watched.add(clock.now(), look(80, 5000), {.processes = {python(1400, 1'310'000'000, 70)}});
  ASSERT_EQ(watched.activity().steps.size(), 1U);
  const ActivitySample& step = watched.activity().steps[0];
  EXPECT_EQ(step.span, Milliseconds(500));
  EXPECT_EQ(step.devices[0].pcie_received, Bytes(4000));
  EXPECT_EQ(step.devices[0].utilization, Percent(60)) << "of the samples of this step alone";
  EXPECT_EQ(step.devices[0].utilization_max, Percent(80));
  EXPECT_EQ(step.devices[0].others, std::uint64_t{1}) << "bob's";
  ASSERT_EQ(step.processes.size(), 1U);
  EXPECT_EQ(step.processes[0].cpu, Milliseconds(410));
  EXPECT_EQ(step.processes[0].read, Bytes(20));
  EXPECT_EQ(step.processes[0].storage_read.why(), Absent::no_permission);
  EXPECT_EQ(step.processes[0].devices, std::vector<std::size_t>{0});
  ASSERT_TRUE(step.processes[0].threads.get());
  EXPECT_EQ(step.processes[0].threads.get()->size(), 1U) << "a thread that slept says nothing";
}

TEST_F(ActivityRecorderTest, WhoIsListedAndCannotBeReadIsThere) {
  FakeClock clock;
  ActivityRecorder watched(look(0, 0), card);
  watched.add(clock.now(), look(0, 0), {.roots = {7}});
  clock.advance(milliseconds(500));
  watched.add(clock.now(), look(0, 0), {.roots = {7}});
  const ActivitySample& step = watched.activity().steps.at(0);
  ASSERT_EQ(step.processes.size(), 1U);
  EXPECT_EQ(step.processes[0].devices, std::vector<std::size_t>{0});
  EXPECT_EQ(step.processes[0].gpu_memory, 10_GiB);
  EXPECT_FALSE(step.processes[0].cpu.get());
  // A process of the job that is not on the device is none that it holds.
  clock.advance(milliseconds(500));
  watched.add(clock.now(), look(0, 0), {.roots = {8}});
  EXPECT_TRUE(watched.activity().steps.at(1).processes.empty());
}

TEST_F(ActivityRecorderTest, APidThatIsAnotherProcessNowStartsAnew) {
  FakeClock clock;
  ActivityRecorder watched(look(0, 0), card);
  watched.add(clock.now(), look(0, 0), {.processes = {python(100'000, 90'000'000'000, 50)}});
  clock.advance(milliseconds(500));
  ProcessCounters other = python(30, 30'000'000, 5);
  other.id.start_ticks = 99;
  watched.add(clock.now(), look(0, 0), {.processes = {other}});
  EXPECT_EQ(watched.activity().steps.at(0).processes.at(0).cpu, Milliseconds(30));
}

TEST_F(ActivityRecorderTest, ACounterThatBeganAgainIsNoNegativeNumber) {
  FakeClock clock;
  ActivityRecorder watched(look(0, 0), card);
  watched.add(clock.now(), look(0, 9000), {});
  clock.advance(milliseconds(500));
  watched.add(clock.now(), look(0, 10), {});
  EXPECT_EQ(watched.activity().steps.at(0).devices.at(0).pcie_received.why(), Absent::failed);
}

TEST_F(ActivityRecorderTest, ADeviceThatIsGoneHasAbsentReadings) {
  FakeClock clock;
  ActivityRecorder watched(look(0, 0), card);
  watched.add(clock.now(), look(0, 0), {});
  clock.advance(milliseconds(500));
  watched.add(clock.now(), Snapshot{}, {});
  EXPECT_FALSE(watched.activity().steps.at(0).devices.at(0).utilization.get());
}

TEST(RunActivity, TellsWhatARecordHasAndNothingElse) {
  Manifest run{.id = "20260101-000000-abcdef"};
  run.given = SnapshotBuilder().gpu("GPU-A", 80_GiB).build();
  run.python = PythonFacts{.packages = {{"torch", "2.8.0"}, {"numpy", "2.0"}}};
  const auto sample = [](std::int64_t at, double busy, std::int64_t cpu) {
    Sample one{.at = {at}};
    one.devices.push_back({.utilization_gpu = Percent(busy)});
    one.processes.push_back({.device = 0, .pid = 7, .memory = 10_GiB});
    one.tree.cpu = Milliseconds(cpu);
    return one;
  };
  const Activity got = activity_of(
      run, std::vector<Sample>{sample(1000, 0, 0), sample(2000, 50, 400), sample(3000, 70, 900)});
  EXPECT_EQ(got.framework, Framework::torch);
  EXPECT_EQ(got.taken_by, TakenBy::run_samples);
  ASSERT_EQ(got.steps.size(), 2U);
  EXPECT_EQ(got.steps[1].devices[0].utilization, Percent(70));
  EXPECT_EQ(got.steps[1].processes[0].cpu, Milliseconds(500));
  EXPECT_FALSE(got.steps[1].processes[0].threads.get());
  EXPECT_FALSE(got.steps[1].devices[0].sm.get());
}

TEST(LifeMeter, KnowsALifeOnlyWhereEachLookReadEachDevice) {
  const auto look = [](std::int64_t at, Reading<Percent> busy) {
    Sample one{.at = {at}};
    one.devices.push_back({.utilization_gpu = busy});
    one.processes.push_back({.device = 0, .pid = 7, .memory = 2_GiB});
    return one;
  };
  LifeMeter meter;
  EXPECT_EQ(meter.life(), std::nullopt);
  meter.add(look(1000, Percent(0)));
  meter.add(look(61'000, Percent(4)));
  EXPECT_EQ(meter.life(), (WholeLife{Milliseconds(60'000), 2, Percent(4), 2_GiB}));
  meter.add(look(62'000, Absent::failed));
  EXPECT_EQ(meter.life(), std::nullopt);
}

}  // namespace
}  // namespace berth::bottleneck
