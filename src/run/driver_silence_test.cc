#include "base/sentence.h"
#include "run/driver_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Means = DriverSilence::Means;

Snapshot answers() {
  Snapshot look = SnapshotBuilder().gpu("A", 8_GiB).gpu("B", 8_GiB).build();
  look.sources = {{"nvml", true}};
  return look;
}

Snapshot unheard(const char* code, const char* message = "counting failed: Unknown Error (999)") {
  Snapshot look;
  look.sources = {{"nvml", false}};
  look.problems = {
      {.source = "nvml", .device = {}, .code = code, .message = Sentence(message), .remedy = {}}};
  return look;
}

/// A run with the second card, looked at once a second.
class WatchedRun {
 public:
  SilenceNews look(const Snapshot& snapshot, Means means = Means::there) {
    now_ += seconds(1);
    return silence_.news(snapshot, means, now_);
  }
  /// Makes so many looks. The number of the look that took the device for failed; nothing: none
  /// did.
  std::optional<int> failed_at(const Snapshot& snapshot, int looks, Means means = Means::there) {
    for (int i = 1; i <= looks; ++i) {
      if (!look(snapshot, means).faults.empty()) return i;
    }
    return std::nullopt;
  }

 private:
  DriverSilence silence_{{answers().devices[1]}};
  Instant now_{};
};

std::vector<std::string> kinds(const SilenceNews& news) {
  std::vector<std::string> kinds;
  for (const Note& one : news.events) kinds.emplace_back(one.kind);
  return kinds;
}

TEST(DriverSilence, IsToldAtTheFirstLookAndOnceAndSoIsItsEnd) {
  WatchedRun run;
  EXPECT_THAT(run.look(answers()).events, IsEmpty());
  const SilenceNews first = run.look(unheard("driver_failed"));
  ASSERT_THAT(kinds(first), ElementsAre("driver_silent"));
  EXPECT_EQ(first.events[0].text.english(),
            "the driver no longer answers for GPU 1: counting failed: Unknown Error (999)");
  EXPECT_THAT(first.faults, IsEmpty()) << "one look proves nothing";
  EXPECT_EQ(run.look(unheard("driver_failed")), SilenceNews{}) << "told once";
  const SilenceNews last = run.look(answers());
  ASSERT_THAT(kinds(last), ElementsAre("driver_answers"));
  EXPECT_EQ(last.events[0].text.english(), "the driver answers again, after 2 s");
  EXPECT_THAT(kinds(run.look(unheard("driver_failed"))), ElementsAre("driver_silent"));
}

TEST(DriverSilence, ErrorsInTenLooksInARowAreSure) {
  WatchedRun run;
  EXPECT_EQ(run.failed_at(unheard("driver_failed"), 9), std::nullopt);
  EXPECT_EQ(run.look(answers()).faults, SilenceNews{}.faults);
  EXPECT_EQ(run.failed_at(unheard("device_lost"), 9), std::nullopt) << "the row began anew";
  const SilenceNews tenth = run.look(unheard("driver_failed"));
  ASSERT_THAT(tenth.faults, SizeIs(1));
  EXPECT_EQ(tenth.faults[0],
            (FaultNews{FaultKind::failed, 0, "driver_silent",
                       Sentence("GPU 1: the driver has told nothing but errors for 9 s")}));
  EXPECT_EQ(run.failed_at(unheard("driver_failed"), 100), std::nullopt) << "told once";
}

TEST(DriverSilence, SilenceIsSureOnlyAfterItWasAskedAnewTwice) {
  WatchedRun run;
  EXPECT_EQ(run.failed_at(unheard("timeout"), 100), 36);
}

TEST(DriverSilence, OfADoubtfulReasonNothingIsEverDone) {
  for (const char* code : {"crashed", "driver_not_loaded", "version_mismatch", "no_permission",
                           "library_not_found", "library_unusable", "no_devices"}) {
    WatchedRun run;
    EXPECT_THAT(kinds(run.look(unheard(code))), ElementsAre("driver_silent")) << code;
    EXPECT_EQ(run.failed_at(unheard(code), 1000), std::nullopt) << code;
  }
  WatchedRun short_of_memory;
  const Snapshot look = unheard("driver_failed", "counting failed: Insufficient Memory (20)");
  EXPECT_EQ(short_of_memory.failed_at(look, 1000), std::nullopt);
  WatchedRun without_means;
  EXPECT_EQ(without_means.failed_at(unheard("driver_failed"), 1000, Means::lacking), std::nullopt);
}

TEST(DriverSilence, ADoubtfulLookBetweenErrorsBeginsTheRowAnew) {
  WatchedRun run;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(run.failed_at(unheard("driver_failed"), 9), std::nullopt);
    EXPECT_THAT(run.look(unheard("crashed")).faults, IsEmpty());
  }
}

TEST(DriverSilence, OurOwnProbeThatIsNotToBeHadIsTold) {
  WatchedRun run;
  Snapshot look;
  look.sources = {{"nvml", false}};
  look.problems = {{.source = "probe",
                    .device = {},
                    .code = "no_process",
                    .message = Sentence("no fork"),
                    .remedy = {}}};
  const SilenceNews news = run.look(look);
  ASSERT_THAT(kinds(news), ElementsAre("driver_silent"));
  EXPECT_EQ(news.events[0].text.english(), "the driver no longer answers for GPU 1: no fork");
  EXPECT_EQ(run.failed_at(look, 1000), std::nullopt);
}

TEST(DriverSilence, IsNoMatterWhereNobodyAskedOrNothingWasGiven) {
  WatchedRun run;
  EXPECT_EQ(run.look(Snapshot{}), SilenceNews{});
  DriverSilence without_device({});
  EXPECT_EQ(without_device.news(unheard("driver_failed"), Means::there, Instant{}), SilenceNews{});
}

TEST(DriverSilence, IsNotToldForever) {
  WatchedRun run;
  std::size_t told = 0;
  for (int i = 0; i < 1000; ++i) {
    told += run.look(unheard("crashed")).events.size() + run.look(answers()).events.size();
  }
  EXPECT_EQ(told, 20U);
}

}  // namespace
}  // namespace berth
