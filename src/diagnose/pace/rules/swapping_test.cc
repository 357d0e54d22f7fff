#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/pace/answer_test.h"

namespace berth::pace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Swapping, IsSaidOfMemoryThatIsReadBack) {
  auto swaps = ActivityBuilder().busy(30).main(100).workers(2, 50, 0, 'D').each([](Step& step) {
    for (ProcessStep& one : step.processes) {
      one.swapped = 4_GiB;
      one.major_faults = std::uint64_t{400};
    }
    step.host.swap_in = 20_MiB;
  });
  const Finding found = first_finding(swaps);
  EXPECT_EQ(found.rule, "swapping");
  EXPECT_THAT(evidence_in(found), HasSubstr("12.0 GiB of the job's memory is swapped out"));
  EXPECT_THAT(evidence_in(found), HasSubstr("the machine reads 40 MiB/s back"));
  EXPECT_THAT(steps_in(found), HasSubstr("ps aux --sort=-rss"));
  const auto rests = [](Step& step) {
    step.host.swap_in = Bytes{0};
    for (ProcessStep& one : step.processes) one.major_faults = std::uint64_t{0};
  };
  EXPECT_THAT(rules_that_speak(swaps.each(rests)), Not(Contains("swapping")))
      << "what was put away long ago costs nothing";
}

}  // namespace
}  // namespace berth::pace
