#include "probe/probe_process/patience.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::ProbeStep;
using wire::StepKind;

constexpr Instant began{seconds(100)};

Progress at(ProbeStep step, int begun = 1) {
  Progress progress;
  progress.driver = DeviceKind::nvidia_gpu;
  for (int i = 0; i < begun; ++i) apply(progress, wire::Begun{step});
  return progress;
}
ProbeStep device(std::uint64_t number) { return {StepKind::device, number}; }

TEST(Deadlines, StartingTheLibraryAndWakingACardMayTakeSeconds) {
  const Deadlines deadlines({}, began);
  EXPECT_EQ(deadlines.silence_ends(at({StepKind::driver, 0}), began), began + seconds(10));
  EXPECT_EQ(deadlines.silence_ends(at({StepKind::driver, 0}, 2), began), began + milliseconds(700))
      << "it has started, and is asked";
  EXPECT_EQ(deadlines.silence_ends(at(device(0)), began), began + seconds(5));
  EXPECT_EQ(deadlines.silence_ends(at(device(0), 2), began), began + milliseconds(700));
  EXPECT_EQ(deadlines.silence_ends(at({StepKind::pci, 0}), began), began + milliseconds(700));
}

TEST(Deadlines, ADriverThatAnswersSlowlyGetsItsTime) {
  Deadlines deadlines({}, began);
  Instant now = began;
  for (std::uint64_t card = 0; card < 16; ++card) {
    ASSERT_GE(deadlines.silence_ends(at(device(card), 2), now), now + milliseconds(700)) << card;
    now += milliseconds(500);
    deadlines.answered(now);
  }
  EXPECT_LT(now, deadlines.end_of_all());
}

TEST(Deadlines, NoDriverGetsMoreThanAMinute) {
  Deadlines deadlines({}, began);
  Instant now = began;
  for (int i = 0; i < 1000; ++i) {
    now += milliseconds(500);
    deadlines.answered(now);
  }
  EXPECT_GE(now, deadlines.end_of_all());
  EXPECT_EQ(deadlines.end_of_all(), began + seconds(60) + milliseconds(2500));
}

TEST(Deadlines, EachThatHangsShortensWhatTheNextMayTake) {
  Deadlines deadlines({}, began);
  Instant now = began;
  Duration before = seconds(100);
  for (std::uint64_t card = 0; card < 16; ++card) {
    const Instant end = deadlines.silence_ends(at(device(card), 2), now);
    EXPECT_LE(end - now, before) << card;
    before = end - now;
    now = end;
    deadlines.gave_up(now);
  }
  EXPECT_LE(now, began + milliseconds(2500)) << "all of them within the whole";
}

TEST(Deadlines, OneThatHungBeforeIsNotWaitedForAsLongAgain) {
  const Deadlines deadlines({.whole = seconds(30), .stall = seconds(10), .waking = seconds(20)},
                            began);
  const auto waited = [&](int begun, Deadlines::Before before) {
    return deadlines.silence_ends(at(device(0), begun), began, before) - began;
  };
  EXPECT_EQ(waited(2, Deadlines::Before::unknown), seconds(10));
  EXPECT_EQ(waited(2, Deadlines::Before::hung), milliseconds(700));
  EXPECT_EQ(waited(1, Deadlines::Before::hung), milliseconds(700));
  EXPECT_EQ(deadlines.silence_ends(at({StepKind::driver, 0}), began, Deadlines::Before::hung),
            began + milliseconds(700));
}

TEST(Deadlines, ACardThatNeverWakesUpIsNotHeldAgainstTheOthers) {
  Deadlines deadlines({}, began);
  const Instant now = deadlines.silence_ends(at(device(0)), began);
  deadlines.gave_up(now);
  EXPECT_GE(deadlines.silence_ends(at(device(1), 2), now), now + milliseconds(300));
  EXPECT_EQ(deadlines.end_of_all(), began + milliseconds(2500 + 4300));
}

TEST(Deadlines, ACardThatWakesUpSlowlyIsWaitedForAfterTwoThatNeverDid) {
  Deadlines deadlines({}, began);
  Instant now = began;
  for (std::uint64_t card = 0; card < 2; ++card) {
    now = deadlines.silence_ends(at(device(card)), now);
    deadlines.gave_up(now);
  }
  EXPECT_GE(deadlines.silence_ends(at(device(2)), now), now + seconds(1));
  for (std::uint64_t card = 2; card < 8; ++card) {
    now = deadlines.silence_ends(at(device(card)), now);
    deadlines.gave_up(now);
  }
  EXPECT_LE(now, began + seconds(11)) << "eight that never wake up";
}

TEST(Deadlines, ASlowStartIsOneOfMoreThanTwoSeconds) {
  const Deadlines deadlines({}, began);
  const Progress opening = at({StepKind::driver, 0});
  EXPECT_FALSE(deadlines.is_slow_start(opening, began + milliseconds(1999)));
  EXPECT_TRUE(deadlines.is_slow_start(opening, began + seconds(2)));
  EXPECT_FALSE(deadlines.is_slow_start(at({StepKind::pci, 0}), began + seconds(3)));
}

}  // namespace
}  // namespace berth
