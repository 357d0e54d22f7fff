#include "place/reap.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::hours;

WallTime at_hour(std::int64_t hour) { return {hour * 3'600'000}; }

Policy policy_that(IdleHolders what) {
  return {.notify = {"/usr/bin/tell"},
          .notice = hours(2),
          .rules = {{.rules = {.idle_holders = what}}}};
}

ReapStep reap_step(const Policy& policy, const std::map<std::string, WallTime>& told,
                   WallTime now) {
  Claim claim;
  claim.id = "a";
  return plan_reap({{claim, at_hour(10)}}, policy, told, now).at(0);
}

TEST(Reap, DoesNothingThatThePolicyDoesNotSay) {
  Policy silent = policy_that(IdleHolders::end);
  silent.rules.clear();
  EXPECT_EQ(reap_step(silent, {}, at_hour(20)).act, ReapAct::leave);
  EXPECT_EQ(reap_step(policy_that(IdleHolders::nothing), {{"a", at_hour(11)}}, at_hour(20)).act,
            ReapAct::leave);
}

TEST(Reap, TellsFirstAndEndsWhenTheNoticeIsOver) {
  const Policy policy = policy_that(IdleHolders::end);
  const ReapStep first = reap_step(policy, {}, at_hour(12));
  EXPECT_EQ(first.act, ReapAct::tell);
  EXPECT_EQ(first.ends, at_hour(14));
  EXPECT_EQ(reap_step(policy, {{"a", at_hour(12)}}, at_hour(13)).act, ReapAct::wait);
  EXPECT_EQ(reap_step(policy, {{"a", at_hour(12)}}, at_hour(14)).act, ReapAct::end);
}

TEST(Reap, WhoHasComputedSinceIsToldAnew) {
  EXPECT_EQ(reap_step(policy_that(IdleHolders::end), {{"a", at_hour(9)}}, at_hour(20)).act,
            ReapAct::tell);
  EXPECT_EQ(reap_step(policy_that(IdleHolders::end), {{"a", at_hour(21)}}, at_hour(20)).act,
            ReapAct::tell)
      << "told in a time to come";
}

TEST(Reap, WhoIsOnlyToBeToldIsToldOnceAndNeverEnded) {
  const Policy policy = policy_that(IdleHolders::notify);
  EXPECT_EQ(reap_step(policy, {}, at_hour(12)).act, ReapAct::tell);
  EXPECT_EQ(reap_step(policy, {}, at_hour(12)).ends, std::nullopt);
  EXPECT_EQ(reap_step(policy, {{"a", at_hour(12)}}, at_hour(500)).act, ReapAct::leave);
}

TEST(Reap, EndsNobodyWhoCouldNotBeTold) {
  Policy policy = policy_that(IdleHolders::end);
  policy.notify.clear();
  EXPECT_EQ(reap_step(policy, {{"a", at_hour(10)}}, at_hour(500)).act, ReapAct::untold);
}

TEST(Reap, KeepsWhomItHasTold) {
  const std::map<std::string, WallTime> told = {{"a", at_hour(1)}, {"b", at_hour(2)}};
  EXPECT_EQ(told_in(told_text(told)), told);
  EXPECT_TRUE(told_in("what\nis this\na 1 2\n").empty());
}

}  // namespace
}  // namespace berth
