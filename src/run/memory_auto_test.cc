#include "run/memory_auto.h"

#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

const std::vector<std::string> train = {"python", "train.py"};

RunRecord run_of(std::string id, Reading<Bytes> peak, Exit exit = {}) {
  RunRecord run;
  run.manifest.id = std::move(id);
  run.manifest.command = train;
  run.manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).build();
  run.state = RunState::ended;
  run.end = RunEnd{.exit = exit};
  run.end->summary.devices = {{.own_memory_peak = peak}};
  return run;
}

TEST(MemoryAuto, IsThePeakOfTheLastRunThatEndedWellAndAMargin) {
  const std::vector<RunRecord> runs = {run_of("failed", 1_GiB, {.code = 1}), run_of("last", 10_GiB),
                                       run_of("before", 20_GiB)};
  const LearntMemory learnt = memory_learnt(runs, train, 1, false);
  EXPECT_EQ(learnt.run, "last");
  EXPECT_EQ(learnt.peak, Bytes(10_GiB));
  EXPECT_EQ(learnt.share, Bytes(11_GiB));
}

TEST(MemoryAuto, LearnsNothingFromAProgramThatGaveItsDevicesBackAndMayGoOn) {
  std::vector<RunRecord> runs = {run_of("gave back", 10_GiB)};
  runs[0].end->gave_back = true;
  EXPECT_EQ(memory_learnt(runs, train, 1, false), LearntMemory{});
}

TEST(MemoryAuto, LeavesHalfAGibibyteToASmallJob) {
  const std::vector<RunRecord> runs = {run_of("small", 1_GiB)};
  EXPECT_EQ(memory_learnt(runs, train, 1, false).share, Bytes(1536_MiB));
}

TEST(MemoryAuto, IsTheWholeDeviceWhereNoShareOfItWouldDo) {
  const std::vector<RunRecord> runs = {run_of("large", 23_GiB)};
  const LearntMemory learnt = memory_learnt(runs, train, 1, false);
  EXPECT_EQ(learnt.run, "large");
  EXPECT_FALSE(learnt.share);
}

TEST(MemoryAuto, LearnsNothingFromAnotherCommandOrAMemoryThatNobodySaw) {
  const std::vector<RunRecord> runs = {run_of("unseen", Absent::no_permission),
                                       run_of("seen", 10_GiB)};
  EXPECT_EQ(memory_learnt(runs, train, 1, false).run, "seen");
  EXPECT_EQ(memory_learnt(runs, {"python", "other.py"}, 1, false), LearntMemory{});
  EXPECT_EQ(memory_learnt(runs, train, 2, false), LearntMemory{}) << "its parts are others";
  EXPECT_EQ(memory_learnt(runs, train, 1, true), LearntMemory{}) << "no measure of a simulation";
}

}  // namespace
}  // namespace berth
