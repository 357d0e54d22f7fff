#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(MemoryHeldIdle, IsAProgramThatRestsWithTheMemoryInItsHands) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  const Finding found = first_finding(idle);
  EXPECT_EQ(found.rule, "memory_held_idle");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("30.0 GiB of the GPU's memory is held by process 100 (python)"));
  EXPECT_THAT(steps_in(found), HasSubstr("py-spy dump --pid 100"));
}

TEST(MemoryHeldIdle, WhatThinksOnTheCpuOrWaitsForTheDiskIsNoIdleNotebook) {
  auto idle = ActivityBuilder().busy(0).main(1).workers(0, 0);
  EXPECT_THAT(rules_that_speak(idle.main(300)), Not(Contains("memory_held_idle")));
  auto reads = ActivityBuilder().busy(0).main(1).workers(2, 0, 0, 'D');
  EXPECT_THAT(rules_that_speak(reads), Not(Contains("memory_held_idle")));
}

}  // namespace
}  // namespace berth::pace
