#include "run/faults.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "place/placement.h"
#include "run/retry.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

Snapshot two_devices() { return SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build(); }

DeviceFault lost(const char* device) {
  return {DeviceId(device), FaultKind::lost, "lost", Sentence("it fell off the bus")};
}
DeviceFault xid(const char* device, const char* code) {
  return {DeviceId(device), FaultKind::error, code, Sentence("XID")};
}

TEST(FaultLine, ComesBackAsItWas) {
  const FaultNews news{FaultKind::error, 3, "xid_79",
                       Sentence("GPU 2: XID 79: it has fallen off the bus")};
  EXPECT_EQ(to_line(news), "gpu_error 3 xid_79 GPU 2: XID 79: it has fallen off the bus");
  EXPECT_EQ(fault_from_line(to_line(news)), news);
}

TEST(FaultLine, IsOneLineWhateverIsInIt) {
  const FaultNews news{FaultKind::failed, 0, "unusable", Sentence("a\nfault gpu_lost 0 lost b")};
  EXPECT_EQ(to_line(news).find('\n'), std::string::npos);
}

TEST(FaultLine, WhatIsNoneIsNone) {
  for (const char* line : {"", "gpu_lost", "gpu_lost 0", "gpu_lost 0 lost", "gpu_lost x lost text",
                           "gpu_lost -1 lost text", "cured 0 lost text"}) {
    EXPECT_FALSE(fault_from_line(line)) << line;
  }
}

TEST(FaultWatch, TellsOfTheRunsDevicesWhatIsNew) {
  FaultWatch watch({two_devices().devices[1]}, FaultWatch::Known::nothing);
  EXPECT_THAT(watch.news({lost("A")}, two_devices()), IsEmpty()) << "not ours";
  const auto news = watch.news({lost("A"), lost("B")}, two_devices());
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].device, 0U) << "its place among the run's devices";
  EXPECT_EQ(news[0].text.english(), "GPU 1: it fell off the bus");
  EXPECT_THAT(watch.news({lost("A"), lost("B")}, two_devices()), IsEmpty()) << "told once";
  EXPECT_THAT(watch.news({lost("B"), xid("B", "xid_79")}, two_devices()), SizeIs(1));
}

TEST(FaultWatch, ADeviceLostBeforeTheFirstLookIsNewsAndAnOldXidIsNot) {
  FaultWatch watch(two_devices().devices, FaultWatch::Known::nothing);
  const auto news = watch.news({lost("A"), xid("B", "xid_48")}, two_devices());
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].kind, FaultKind::lost);
  EXPECT_THAT(watch.news({xid("B", "xid_48")}, two_devices()), IsEmpty());
  EXPECT_THAT(watch.news({xid("B", "xid_63")}, two_devices()), SizeIs(1));
}

TEST(FaultWatch, KnowsADeviceThatWasLostBeforeItCouldSayItsNameByItsNumber) {
  Snapshot look = two_devices();
  look.devices[1].id = DeviceId("nvml-index-1");
  FaultWatch watch(two_devices().devices, FaultWatch::Known::nothing);
  EXPECT_THAT(watch.news({lost("nvml-index-1")}, look), IsEmpty()) << "another, with a UUID";
  look.devices[1].uuid = Absent::failed;
  ASSERT_THAT(watch.news({lost("nvml-index-1")}, look), SizeIs(1));
}

Snapshot answered(Snapshot look) {
  look.sources = {{"nvml", true}};
  return look;
}

TEST(FaultWatch, ADeviceThatTheDriverListsNoLongerIsLost) {
  FaultWatch watch(two_devices().devices, FaultWatch::Known::nothing);
  EXPECT_THAT(watch.news({}, answered(two_devices())), IsEmpty());
  const Snapshot without_b = SnapshotBuilder().gpu("A", 8_GiB).build();
  EXPECT_THAT(watch.news({}, without_b), IsEmpty()) << "the driver said nothing at all";
  const auto news = watch.news({}, answered(without_b));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].kind, FaultKind::lost);
  EXPECT_EQ(news[0].text.english(), "GPU 1: the driver lists it no longer");
  EXPECT_THAT(watch.news({}, answered(without_b)), IsEmpty()) << "told once";
}

TEST(FaultWatch, AnInstanceThatIsTakenAwayIsNotLostButThatOfALostCardIs) {
  const auto as_instance = [](Device& device) {
    device.kind = DeviceKind::nvidia_mig;
    device.parent = DeviceId("A");
  };
  const Snapshot given = SnapshotBuilder().gpu("M", 8_GiB).with(as_instance).build();
  FaultWatch watch(given.devices, FaultWatch::Known::nothing);
  EXPECT_THAT(watch.news({}, answered(SnapshotBuilder().gpu("A", 8_GiB).build())), IsEmpty());
  EXPECT_THAT(watch.news({}, answered(SnapshotBuilder().gpu("B", 8_GiB).build())), SizeIs(1));
}

TEST(Faults, ErrorsOfSomebodyElsesJobAreNotOurs) {
  const auto error_of = [](FaultKind kind, std::optional<std::uint64_t> pid) {
    return DeviceFault{DeviceId("A"), kind, "xid", Sentence("XID"), pid};
  };
  const auto left = without_errors_of_others(
      {error_of(FaultKind::job_error, 7), error_of(FaultKind::job_error, 8),
       error_of(FaultKind::job_error, std::nullopt), error_of(FaultKind::error, 8)},
      {7});
  ASSERT_THAT(left, SizeIs(3));
  EXPECT_EQ(left[0].pid, 7U);
  EXPECT_EQ(left[1].pid, std::nullopt);
  EXPECT_EQ(left[2].kind, FaultKind::error) << "the device's own errors are everybody's";
}

TEST(FaultWatch, WhoTookAFailedDeviceIsToldOfFurtherFaultsOnly) {
  FaultWatch watch(two_devices().devices, FaultWatch::Known::what_the_first_look_finds);
  const DeviceFault rows{DeviceId("A"), FaultKind::failed, "row_remap_failed",
                         Sentence("no spare")};
  EXPECT_THAT(watch.news({rows}, two_devices()), IsEmpty());
  EXPECT_THAT(watch.news({rows, lost("A")}, two_devices()), SizeIs(1));
}

// --- starting again ------------------------------------------------------------------------------

RunOptions retried(RetryOn retry_on = RetryOn::gpu_lost) {
  return {.job = {.retry_on = retry_on, .retries = 1}};
}

LauncherReport ended(Exit exit, FaultKind kind = FaultKind::lost) {
  LauncherReport report;
  report.exit = exit;
  report.faults = {{kind, 1, "code", Sentence("text")}};
  return report;
}

std::vector<DeviceId> left(const RunOptions& options, const LauncherReport& report) {
  return devices_to_leave(options, two_devices().devices, report);
}

TEST(Retry, LeavesTheDeviceThatWentWrongWhereTheJobEndedBadly) {
  EXPECT_THAT(left(retried(), ended({.code = 1})), ElementsAre(DeviceId("B")));
  EXPECT_THAT(left(retried(), ended({.signal = SIGSEGV})), ElementsAre(DeviceId("B")));
}

TEST(Retry, IsOnlyAfterTheFaultThatItIsFor) {
  EXPECT_THAT(left(retried(), ended({.code = 1}, FaultKind::failed)), IsEmpty());
  EXPECT_THAT(left(retried(RetryOn::gpu_fault), ended({.code = 1}, FaultKind::failed)), SizeIs(1));
  EXPECT_THAT(left(retried(RetryOn::gpu_fault), ended({.code = 1}, FaultKind::error)), SizeIs(1));
  EXPECT_THAT(left(retried(RetryOn::gpu_fault), ended({.code = 1}, FaultKind::job_error)),
              IsEmpty());
  EXPECT_THAT(left(retried(RetryOn::never), ended({.code = 1})), IsEmpty());
  LauncherReport well_device = ended({.code = 1});
  well_device.faults.clear();
  EXPECT_THAT(left(retried(), well_device), IsEmpty());
}

TEST(Retry, IsNotForAJobThatEndedWellOrWasWantedToEnd) {
  EXPECT_THAT(left(retried(), ended({.code = 0})), IsEmpty());
  for (const std::string_view because :
       {end_cause::stopped, end_cause::time_limit, end_cause::warned}) {
    LauncherReport report = ended({.signal = SIGTERM});
    report.because = because;
    EXPECT_THAT(left(retried(), report), IsEmpty()) << because;
  }
  LauncherReport interrupted = ended({.signal = SIGINT});
  interrupted.end_wanted = true;
  EXPECT_THAT(left(retried(), interrupted), IsEmpty());
  LauncherReport alone = ended({.code = 125});
  alone.keeper_lost = true;
  EXPECT_THAT(left(retried(), alone), IsEmpty());
}

TEST(Retry, IsForAJobThatWasStoppedForItsDeviceHoweverItEnded) {
  LauncherReport report = ended({.code = 0});
  report.because = end_cause::gpu_fault;
  EXPECT_THAT(left(retried(), report), SizeIs(1));
}

TEST(Retry, NamesTheRunThatItFollowsAndEnds) {
  RunOutcome outcome;
  outcome.id = "20251121-014946-k3f9q2";
  outcome.failed = {DeviceId("B")};
  const RunOptions next = next_start(retried(), outcome);
  EXPECT_EQ(next.retry_of, outcome.id);
  EXPECT_EQ(as_typed(next.job.request), "-n 1 --except B");
  EXPECT_THAT(devices_to_leave(next, two_devices().devices, ended({.code = 1})), IsEmpty());
}

RunRecord died_of_memory(std::vector<std::optional<Bytes>> promised) {
  RunRecord run;
  run.manifest.given = two_devices();
  for (Device& device : run.manifest.given.devices) device.memory_total = Bytes(24_GiB);
  run.manifest.promised = std::move(promised);
  run.state = RunState::ended;
  run.end = RunEnd{.exit = {.code = 1}, .died_of = std::string(out_of_gpu_memory)};
  return run;
}

TEST(RetryOom, AsksForHalfAsMuchMoreAndForAWholeDeviceAtLast) {
  const RunOptions options{.job = {.retry_oom = 1}};
  const LauncherReport report = ended({.code = 1});
  const auto next = [&](std::vector<std::optional<Bytes>> promised) {
    return memory_of_next_start(options, died_of_memory(std::move(promised)), report);
  };
  const auto more = next({10_GiB});
  ASSERT_TRUE(more && more->share);
  EXPECT_GE(more->share->count(), Bytes(15_GiB).count());
  EXPECT_LE(more->share->count(), Bytes(15_GiB).count() + (2U << 20));
  EXPECT_EQ(next({20_GiB}), NextMemory{}) << "30 GiB are more than the card has";
  EXPECT_EQ(next({std::nullopt}), NextMemory{});
}

TEST(RetryOom, IsNotForAnotherEndNorForOneThatSomebodyWanted) {
  const RunOptions options{.job = {.retry_oom = 1}};
  RunRecord other = died_of_memory({10_GiB});
  other.end->died_of.clear();
  EXPECT_FALSE(memory_of_next_start(options, other, ended({.code = 1})));
  EXPECT_FALSE(memory_of_next_start({}, died_of_memory({10_GiB}), ended({.code = 1})));
  LauncherReport wanted = ended({.signal = SIGINT});
  wanted.end_wanted = true;
  EXPECT_FALSE(memory_of_next_start(options, died_of_memory({10_GiB}), wanted));
}

TEST(RetryOom, TellsTheJobHowOftenItDied) {
  RunOptions options{.job = {.retry_oom = 2}, .environment = {"BERTH_RETRY_OOM=7", "HOME=/h"}};
  options.job.request.memory = Bytes(10_GiB);
  RunOutcome died;
  died.id = "20251121-014946-k3f9q2";
  died.next_memory = NextMemory{15_GiB};
  const RunOptions once = next_start(options, died);
  EXPECT_THAT(once.environment, Contains("BERTH_RETRY_OOM=1"));
  EXPECT_EQ(as_typed(once.job.request), "-n 1 --memory 15G --prefer most-free");
  died.next_memory = NextMemory{};
  const RunOptions twice = next_start(once, died);
  EXPECT_THAT(twice.environment, UnorderedElementsAre("BERTH_RETRY_OOM=2", "HOME=/h"));
  EXPECT_EQ(as_typed(twice.job.request), "-n 1 --prefer most-free");
  EXPECT_EQ(twice.job.retry_oom, 0);
}

TEST(RetryOom, GoesOntoTheEmptiestDeviceWhateverWasPreferredBefore) {
  RunOptions options{.job = {.retry_oom = 1}};
  options.job.request.memory = Bytes(4_GiB);
  options.job.request.prefer = Preference::listed;
  options.job.request.preferred = {{"A"}};
  RunOutcome died;
  died.next_memory = NextMemory{6_GiB};
  const Request next = next_start(options, died).job.request;
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 20_GiB).build();
  const Placement placement = place(host, next, {});
  ASSERT_TRUE(placement.satisfied());
  EXPECT_EQ(placement.chosen.front().device, DeviceId("B"));
}

TEST(EndWanted, IsWhatAUserSendsAndNotWhatTheJobSends) {
  EXPECT_TRUE(asks_for_the_end({.signal = {.number = SIGINT, .from_kernel = true}}));
  EXPECT_TRUE(asks_for_the_end({.signal = {.number = SIGTERM, .sender = 7}}));
  EXPECT_FALSE(
      asks_for_the_end({.signal = {.number = SIGTERM, .sender = 7}, .sent_by_tree = true}));
  EXPECT_FALSE(asks_for_the_end({.signal = {.number = SIGWINCH, .from_kernel = true}}));
}

}  // namespace
}  // namespace berth
