#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/death/ended_run_test.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LastLines, AreShownWhereNothingSaysWhy) {
  const LogText log("one\ntwo\n\x1b[31mKeyError: 'x'\x1b[0m\n");
  const RunRecord run = ended_run({.code = 1});
  const Findings findings = explain_death({.run = run, .log = &log});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "last_lines");
  EXPECT_EQ(findings[0].evidence.back().english(), "KeyError: 'x'");
}

TEST(LastLines, AreNotShownBesideACauseOrWhereThereAreNone) {
  const LogText cause("RuntimeError: CUDA error: an illegal memory access was encountered\n");
  const RunRecord run = ended_run({.code = 1});
  EXPECT_THAT(causes_of({.run = run, .log = &cause}), ElementsAre("illegal_address"));
  const LogText empty("");
  EXPECT_THAT(causes_of({.run = run, .log = &empty}), IsEmpty());
}

}  // namespace
}  // namespace berth
