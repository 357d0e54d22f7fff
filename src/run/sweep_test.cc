#include "run/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<SweepParameter> set(const std::vector<std::string>& texts) {
  std::vector<SweepParameter> parameters;
  for (const std::string& text : texts) parameters.push_back(parse_parameter(text).value());
  return parameters;
}

std::string refusal(const std::vector<std::string>& texts,
                    const std::vector<std::string>& command) {
  const auto points = points_of(set(texts), command);
  return points ? "" : points.error().message();
}

TEST(Sweep, ReadsListsAndRanges) {
  EXPECT_THAT(parse_parameter("lr=0.1,0.01")->values, ElementsAre("0.1", "0.01"));
  EXPECT_THAT(parse_parameter("seed=1..3")->values, ElementsAre("1", "2", "3"));
  EXPECT_THAT(parse_parameter("shift=-1..1")->values, ElementsAre("-1", "0", "1"));
  EXPECT_THAT(parse_parameter("path=../data")->values, ElementsAre("../data"));
  EXPECT_THAT(parse_parameter("seed=1..3,7")->values, ElementsAre("1", "2", "3", "7"));
  EXPECT_THAT(parse_parameter("name=a..b")->values, ElementsAre("a..b"));
  for (const char* wrong :
       {"", "lr", "=1", "lr=", "l r=1", "seed=3..1", "seed=1..1000000", "lr=0.1..0.3"}) {
    EXPECT_FALSE(parse_parameter(wrong)) << wrong;
  }
}

TEST(Sweep, MakesEachPointOnce) {
  const auto points =
      points_of(set({"lr=0.1,0.01", "seed=1..2"}), {"train", "--lr={lr}", "{seed}"});
  ASSERT_THAT(*points, SizeIs(4));
  EXPECT_THAT((*points)[1].command, ElementsAre("train", "--lr=0.1", "2"));
  EXPECT_THAT((*points)[2].values, ElementsAre("0.01", "1"));
}

TEST(Sweep, LeavesBracesThatAreNotItsOwn) {
  const auto points = points_of(set({"a=1"}), {"{a} {{a}} {\"k\": 1} ${x y}"});
  EXPECT_THAT((*points)[0].command, ElementsAre("1 {a} {\"k\": 1} ${x y}"));
}

TEST(Sweep, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(refusal({"a=1..10000", "b=1..100"}, {"{a}{b}"}), HasSubstr("1000000 points"));
  EXPECT_THAT(refusal({"a=1", "a=2"}, {"{a}"}), HasSubstr("a is set twice"));
  EXPECT_THAT(refusal({"a=1"}, {"train"}), HasSubstr("does not use a"));
  EXPECT_THAT(refusal({"a=1"}, {"{a}{b}"}), HasSubstr("--set b="));
}

TEST(Sweep, KnowsItselfAgain) {
  const auto of = [](const char* one) { return sweep_id(set({one}), {"train", "{a}"}, "/home"); };
  EXPECT_EQ(of("a=1,2"), of("a=1,2"));
  EXPECT_NE(of("a=1,2"), of("a=1,3"));
}

TEST(Sweep, FindsItsRunsByTheirNames) {
  const SweepName name{.sweep = "0123456789abcdef", .time = 2, .point = 17};
  EXPECT_EQ(sweep_name_in(typed(name)), name);
  for (const char* other : {"", "sweep", "sweep-x", "sweep-x.1", "sweep-x.1-", "sweep-x.1-99999",
                            "train.1-2", "sweep-a-b.1"}) {
    EXPECT_EQ(sweep_name_in(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace berth
