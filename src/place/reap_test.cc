#include "place/reap.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::hours;

constexpr std::int64_t hour_ms = 3'600'000;
WallTime at(std::int64_t hour) { return {hour * hour_ms}; }

Policy policy_that(IdleHolders what) {
  return {.notify = {"/usr/bin/tell"},
          .notice = hours(2),
          .rules = {{.rules = {.idle_holders = what}}}};
}

ReapStep step(const Policy& policy, const std::map<std::string, WallTime>& told, WallTime now) {
  Claim claim;
  claim.id = "a";
  return plan_reap({{claim, at(10)}}, policy, told, now).at(0);
}

TEST(Reap, DoesNothingThatThePolicyDoesNotSay) {
  Policy silent = policy_that(IdleHolders::end);
  silent.rules.clear();
  EXPECT_EQ(step(silent, {}, at(20)).act, ReapAct::leave);
  EXPECT_EQ(step(policy_that(IdleHolders::nothing), {{"a", at(11)}}, at(20)).act, ReapAct::leave);
}

TEST(Reap, TellsFirstAndEndsWhenTheNoticeIsOver) {
  const Policy policy = policy_that(IdleHolders::end);
  const ReapStep first = step(policy, {}, at(12));
  EXPECT_EQ(first.act, ReapAct::tell);
  EXPECT_EQ(first.ends, at(14));
  EXPECT_EQ(step(policy, {{"a", at(12)}}, at(13)).act, ReapAct::wait);
  EXPECT_EQ(step(policy, {{"a", at(12)}}, at(14)).act, ReapAct::end);
}

TEST(Reap, WhoHasComputedSinceIsToldAnew) {
  EXPECT_EQ(step(policy_that(IdleHolders::end), {{"a", at(9)}}, at(20)).act, ReapAct::tell);
  EXPECT_EQ(step(policy_that(IdleHolders::end), {{"a", at(21)}}, at(20)).act, ReapAct::tell)
      << "told in a time to come";
}

TEST(Reap, WhoIsOnlyToBeToldIsToldOnceAndNeverEnded) {
  const Policy policy = policy_that(IdleHolders::notify);
  EXPECT_EQ(step(policy, {}, at(12)).act, ReapAct::tell);
  EXPECT_EQ(step(policy, {}, at(12)).ends, std::nullopt);
  EXPECT_EQ(step(policy, {{"a", at(12)}}, at(500)).act, ReapAct::leave);
}

TEST(Reap, EndsNobodyWhoCouldNotBeTold) {
  Policy policy = policy_that(IdleHolders::end);
  policy.notify.clear();
  EXPECT_EQ(step(policy, {{"a", at(10)}}, at(500)).act, ReapAct::untold);
}

TEST(Reap, KeepsWhomItHasTold) {
  const std::map<std::string, WallTime> told = {{"a", at(1)}, {"b", at(2)}};
  EXPECT_EQ(told_in(told_text(told)), told);
  EXPECT_TRUE(told_in("what\nis this\na 1 2\n").empty());
}

}  // namespace
}  // namespace berth
