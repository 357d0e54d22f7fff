// What becomes of probe processes that hang or die: these tests fork. What they wait for is the
// stall, a few hundredths of a second.

#include "probe/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <new>

#include "base/process.h"
#include "base/signals.h"
#include "probe/probe_process/child.h"
#include "probe/probe_process/progress.h"

namespace berth {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::ProbeStep;
using wire::StepKind;

constexpr ProbeStep open_step{StepKind::driver, 0};
ProbeStep device_step(std::uint64_t index) { return {StepKind::device, index}; }
ProbeStep command_step(std::uint64_t pid) { return {StepKind::command, pid}; }

[[noreturn]] void hang() {
  while (true) ::pause();
}

Device card(std::uint64_t index) {
  Device device;
  device.id = DeviceId("GPU-" + std::to_string(index));
  device.index = static_cast<int>(index);
  return device;
}

void open_with(int count, StepReporter& reporter) {
  reporter.begin(open_step);
  reporter.tell(wire::DeviceCount{static_cast<std::uint64_t>(count)});
  reporter.finish(open_step);
}

/// A driver with `count` devices. Some do what `instead` does.
Ask driver(std::uint64_t count, std::function<void(std::uint64_t)> instead) {
  return [=](const CollectRequest&, StepReporter& reporter) {
    open_with(static_cast<int>(count), reporter);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (reporter.progress().is_over(device_step(i))) continue;
      reporter.begin(device_step(i));
      reporter.tell(wire::Identified{i, card(i)});
      reporter.begin(device_step(i));
      instead(i);
      Device device = card(i);
      device.temperature = Celsius(40);
      reporter.tell(device);
      reporter.finish(device_step(i));
    }
    reporter.done();
  };
}

const Patience short_patience{.whole = milliseconds(1500), .stall = milliseconds(60)};

/// For what is noticed at once: a loaded machine may not run the probe process for a while.
const Patience long_patience{.whole = std::chrono::minutes(1), .stall = std::chrono::minutes(1)};

Snapshot watched(const Ask& ask, const Patience& patience = short_patience,
                 std::function<void(pid_t)> end_process = nullptr) {
  SystemClock clock;
  auto collector = Collector::start({}, {.looks = Looks::once,
                                         .patience = patience,
                                         .ask = ask,
                                         .end_process = std::move(end_process)});
  return collector->collect({.wanted = Wanted()}, clock);
}

/// For a hang in one place. It has more patience where a loaded machine let another step stall.
Snapshot watched_where_one_hangs(const Ask& ask) {
  Snapshot got = watched(ask);
  if (got.problems.size() > 1) {
    got = watched(ask, {.whole = std::chrono::seconds(30), .stall = std::chrono::seconds(2)});
  }
  return got;
}

TEST(Progress, GivesUpNoMoreDevicesThanADriverCanHave) {
  Progress progress;
  apply(progress, wire::DeviceCount{std::uint64_t{1} << 62});
  give_up_driver(progress, {.why = GivenUp::Why::out_of_time});
  EXPECT_EQ(progress.snapshot.problems.size(), 1024U);
}

TEST(Progress, AVersionOnAServerThatDoesNotAnswerCostsNothingElse) {
  Progress progress{.driver = DeviceKind::amd_gpu};
  Host told;
  told.software_of(Runtime::rocm).driver = Absent::unsupported;
  apply(progress, told);
  apply(progress, SourceReport{"amdgpu", true});
  apply(progress, Device{.id = DeviceId("GPU-0"), .index = 0, .temperature = Celsius(40)});
  apply(progress, Host{});  // what nobody asked for takes no reason away
  const ProbeStep step{StepKind::runtime, 0};
  apply(progress, wire::Begun{step});
  EXPECT_TRUE(give_up_current(progress, {.waited = milliseconds(700)}, true));
  const Snapshot got = finished_snapshot(std::move(progress));
  EXPECT_EQ(got.devices.at(0).temperature, Reading<Celsius>(Celsius(40)));
  EXPECT_EQ(got.sources.at(0), (SourceReport{"amdgpu", true}));
  EXPECT_EQ(got.host.software_of(Runtime::rocm).driver.why(), Absent::unsupported);
  EXPECT_EQ(got.host.software_of(Runtime::rocm).runtime.why(), Absent::failed);
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].source, "runtime");
  EXPECT_EQ(got.problems[0].message.english(),
            "reading the version of ROCm: no answer for 700 ms, given up");
}

TEST(CollectorOfProcessesThatHang, AnswersOfAHealthyMachineArriveWhole) {
  const Snapshot got = watched(driver(3, [](std::uint64_t) {}), long_patience);
  ASSERT_EQ(got.devices.size(), 3U);
  EXPECT_EQ(*got.devices[2].temperature.get(), Celsius(40));
  EXPECT_THAT(got.problems, IsEmpty());
}

TEST(CollectorOfProcessesThatHang, AStepOfManySlowAnswersIsNotSilent) {
  const Snapshot got = watched(
      [](const CollectRequest&, StepReporter& reporter) {
        reporter.tell(wire::DeviceCount{1});
        reporter.begin(device_step(0));
        reporter.begin(device_step(0));
        SystemClock clock;
        for (int i = 0; i < 10; ++i) {
          clock.wait_until(clock.now() + milliseconds(110));
          reporter.goes_on();
        }
        reporter.tell(Device{.id = DeviceId("GPU-0"), .index = 0, .temperature = Celsius(40)});
        reporter.finish(device_step(0));
        reporter.done();
      },
      {.whole = milliseconds(500), .stall = milliseconds(400)});
  ASSERT_EQ(got.devices.size(), 1U);
  EXPECT_EQ(got.devices[0].temperature, Reading<Celsius>(Celsius(40)));
  EXPECT_THAT(got.problems, IsEmpty());
}

TEST(Progress, WhatIsSaidOfANamelessDeviceIsSaidOfTheRowItGets) {
  Progress progress;
  apply(progress, wire::DeviceCount{2});
  give_up(progress, device_step(1), {.why = GivenUp::Why::stalled, .waited = milliseconds(60)});
  apply(progress, Device{.id = DeviceId("GPU-0"), .index = 0});
  apply(progress, Device{.id = DeviceId("nvml-index-1"), .index = 1});
  const Snapshot got = finished_snapshot(std::move(progress));
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].device, DeviceId("nvml-index-1"));
}

TEST(CollectorOfProcessesThatHang, DeviceThatHangsIsOneRowAndTheOthersAreShown) {
  const Snapshot got = watched_where_one_hangs(driver(4, [](std::uint64_t i) {
    if (i == 1) hang();
  }));
  ASSERT_EQ(got.devices.size(), 4U);
  EXPECT_EQ(got.devices[1].temperature, Reading<Celsius>(Absent::failed));
  EXPECT_FALSE(got.devices[1].unusable_because.empty());
  EXPECT_EQ(*got.devices[3].temperature.get(), Celsius(40));
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].code, "timeout");
  EXPECT_EQ(got.problems[0].device, DeviceId("GPU-1"));
  EXPECT_THAT(got.problems[0].message.english(), HasSubstr("GPU 1"));
}

TEST(CollectorOfProcessesThatHang, ProbeProcessThatCannotBeKilledIsNotWaitedFor) {
  std::vector<pid_t> left;
  const Patience patience{.whole = std::chrono::seconds(30), .stall = std::chrono::seconds(1)};
  const Ask ask = driver(2, [](std::uint64_t i) {
    if (i == 0) hang();
  });
  const Snapshot got = watched(ask, patience, [&](pid_t pid) { left.push_back(pid); });
  EXPECT_EQ(*got.devices.at(1).temperature.get(), Celsius(40));
  ASSERT_EQ(left.size(), 1U);
  ASSERT_TRUE(signal_child(left[0], SIGKILL));
  EXPECT_EQ(reap(left[0])->signal, SIGKILL) << "it had ended: nothing was tested";
}

TEST(CollectorOfProcessesThatHang, EverythingThatHangsEndsWithinPatience) {
  const Patience patience{.whole = milliseconds(400), .stall = milliseconds(100)};
  SystemClock clock;
  const Instant began = clock.now();
  const Snapshot got = watched(driver(64, [](std::uint64_t) { hang(); }), patience);
  // By the clock.
  EXPECT_LT(clock.now() - began, milliseconds(3000)) << "one after the other they take 6.4 s";
  const auto names_a_gpu = [](const Problem& problem) {
    return problem.message.english().starts_with("asking GPU ");
  };
  EXPECT_EQ(std::count_if(got.problems.begin(), got.problems.end(), names_a_gpu), 64);
}

TEST(CollectorOfProcessesThatHang, TwoVendorsThatHangTakeOnePatience) {
  void* const shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const begun = new (shared) std::atomic<int>(0);
  const Ask ask = [begun](const CollectRequest&, StepReporter& reporter) {
    if (reporter.progress().driver && !reporter.progress().is_over(open_step)) {
      reporter.begin(open_step);
      ++*begun;
      hang();
    }
    reporter.done();
  };
  const Duration one_patience = std::chrono::seconds(10);
  auto collector = Collector::start(
      {}, {.looks = Looks::once,
           .patience = {.whole = 4 * one_patience, .stall = one_patience, .opening = one_patience},
           .ask = ask,
           .asked_of = {DeviceKind::nvidia_gpu, DeviceKind::amd_gpu}});
  ASSERT_TRUE(collector);
  FakeClock clock;
  std::optional<Snapshot> look;
  const auto wait_for = [&](const auto& claim) {
    for (int i = 0; i < 1000 && !claim(); ++i) {
      look = collector->advance(clock);
      const auto news = collector->descriptor();
      if (!look && news) static_cast<void>(wait_readable({*news}, milliseconds(10)));
    }
  };
  collector->begin({.wanted = Wanted()}, clock);
  wait_for([&] { return *begun == 2; });
  EXPECT_EQ(*begun, 2) << "both are asked at once";
  look = collector->advance(clock);  // what they told before they hung is taken in
  clock.advance(one_patience);
  wait_for([&] { return look.has_value(); });
  ASSERT_TRUE(look) << "one has a patience of its own behind the other's";
  EXPECT_EQ(look->problems.size(), 2U);
  ::munmap(shared, sizeof(std::atomic<int>));
}

TEST(CollectorOfProcessesThatHang, CrashInTheVendorsLibraryIsAProblemOfThatDevice) {
  const Ask ask = driver(3, [](std::uint64_t i) {
    if (i == 2) ::raise(SIGKILL);
  });
  const Snapshot got = watched(ask, long_patience);
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].code, "crashed");
  EXPECT_THAT(got.problems[0].message.english(), HasSubstr("signal 9"));
  EXPECT_EQ(got.problems[0].device, DeviceId("GPU-2"));
  EXPECT_EQ(got.devices.size(), 3U);
}

TEST(CollectorOfProcessesThatHang, LibraryThatExitsTheProcessIsAProblem) {
  const Ask ask = driver(2, [](std::uint64_t i) {
    if (i == 0) ::_exit(3);
  });
  const Snapshot got = watched(ask, long_patience);
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_THAT(got.problems[0].message.english(), HasSubstr("exit code 3"));
  EXPECT_EQ(*got.devices.at(1).temperature.get(), Celsius(40));
}

TEST(CollectorOfProcessesThatHang, WithoutAProbeProcessNoSourceHasSucceeded) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  SystemClock clock;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto got = collect({}, {}, clock);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->problems.size(), 1U);
  EXPECT_EQ(got->problems[0].code, "no_process");
  for (const SourceReport& source : got->sources) EXPECT_FALSE(source.succeeded) << source.source;
  EXPECT_FALSE(got->host.name.get());
}

TEST(CollectorOfProcessesThatHang, GarbageInThePipeCostsTheStepThatWroteIt) {
  const Ask ask = driver(2, [](std::uint64_t i) {
    const std::string_view garbage = "Segmentation fault, core dumped, have a nice day";
    if (i == 0 && ::write(3, garbage.data(), garbage.size()) > 0) hang();
  });
  const Snapshot got = watched(ask, long_patience);
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].code, "crashed");
  EXPECT_EQ(*got.devices.at(1).temperature.get(), Celsius(40));
}

TEST(CollectorOfProcessesThatHang, ProcessThatDiesBeforeItBeginsIsAskedNoSecondTime) {
  const Snapshot got =
      watched([](const CollectRequest&, StepReporter&) { ::_exit(9); }, long_patience);
  ASSERT_EQ(got.problems.size(), 1U);
  EXPECT_EQ(got.problems[0].source, "probe");
  EXPECT_EQ(got.problems[0].code, "crashed");
}

TEST(CollectorOfProcessesThatHang, LibraryThatNeverStartsLeavesTimeForTheOthers) {
  const Ask ask = [](const CollectRequest&, StepReporter& reporter) {
    if (!reporter.progress().is_over(open_step)) {
      reporter.begin(open_step);
      hang();
    }
    reporter.begin({StepKind::pci, 0});
    reporter.tell(card(7));
    reporter.tell(SourceReport{"pci", true});
    reporter.finish({StepKind::pci, 0});
    reporter.done();
  };
  constexpr milliseconds whole{4000};
  const Snapshot got =
      watched(ask, {.whole = whole, .stall = whole / 4, .opening = milliseconds(500)});
  EXPECT_EQ(got.devices.size(), 1U);
  EXPECT_THAT(got.sources, testing::Contains(SourceReport{"nvml", false}));
  EXPECT_THAT(got.sources, testing::Contains(SourceReport{"pci", true}));
}

TEST(CollectorOfProcessesThatHang, CommandOfAStuckProcessCostsOnlyThatCommand) {
  const Ask ask = [](const CollectRequest&, StepReporter& reporter) {
    for (const pid_t pid : {10, 11}) {
      const ProbeStep read{StepKind::process, static_cast<std::uint64_t>(pid)};
      if (reporter.progress().is_over(read)) continue;
      reporter.begin(read);
      HostProcess process{.id = {pid, 5}};
      process.executable_name = std::string("python");
      process.command = Absent::failed;
      reporter.tell(process);
      reporter.finish(read);
    }
    for (const std::uint64_t pid : {10U, 11U}) {
      if (reporter.progress().is_over(command_step(pid))) continue;
      reporter.begin(command_step(pid));
      if (pid == 10) hang();
      reporter.tell(wire::CommandOf{static_cast<pid_t>(pid), std::vector<std::string>{"ls"}});
      reporter.finish(command_step(pid));
    }
    reporter.done();
  };
  const Snapshot got = watched_where_one_hangs(ask);
  ASSERT_EQ(got.processes.size(), 2U);
  EXPECT_EQ(*got.processes[0].executable_name.get(), "python");
  EXPECT_EQ(got.processes[0].command, Reading<std::vector<std::string>>(Absent::failed));
  EXPECT_EQ(got.processes[1].command.get()->at(0), "ls");
  EXPECT_THAT(got.problems.at(0).message.english(), HasSubstr("10"));
}

TEST(CollectorOfProcessesThatHang, ProbeProcessHoldsNoDescriptorOfItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Ask ask = [&](const CollectRequest&, StepReporter& reporter) {
    for (const int fd : ends) {
      if (fd > probe_requests && ::close(fd) == 0) ::_exit(1);
    }
    if (::isatty(0) != 0 || ::isatty(1) != 0) ::_exit(2);
    reporter.done();
  };
  EXPECT_THAT(watched(ask, long_patience).problems, IsEmpty());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace berth
