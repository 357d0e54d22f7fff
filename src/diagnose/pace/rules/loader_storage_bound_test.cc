#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(LoaderStorageBound, IsSaidOfLoadersThatStandInDiskWait) {
  auto slow = ActivityBuilder().busy(30).main(150).workers(4, 40, 0, 'D').each([](Step& step) {
    for (ProcessStep& one : step.processes) one.storage_read = one.read = Bytes{20'000'000};
  });
  const Finding found = first_finding(slow);
  EXPECT_EQ(found.rule, "loader_storage_bound");
  EXPECT_THAT(evidence_in(found),
              HasSubstr("4 processes that load stood waiting for storage (state D) in 100 % of the "
                        "looks at them, and used 8 % of a CPU each"));
  EXPECT_THAT(evidence_in(found), HasSubstr("191 MiB/s came from storage"));
  EXPECT_THAT(steps_in(found), HasSubstr("copy the data to a local disk"));
  EXPECT_EQ(answer(slow.busy(95).main(480)), "nothing") << "it reads a lot and the GPU never waits";
}

TEST(LoaderStorageBound, WhatComesFromThePageCacheIsNotTheDisk) {
  auto cached = ActivityBuilder().busy(30).main(150).workers(4, 40).each([](Step& step) {
    for (ProcessStep& one : step.processes) one.read = Bytes{20'000'000};
  });
  EXPECT_THAT(rules_that_speak(cached), Not(Contains("loader_storage_bound")));
}

}  // namespace
}  // namespace berth::pace
