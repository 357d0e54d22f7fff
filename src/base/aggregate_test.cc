#include "base/aggregate.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Aggregate, KeepsThePeakOfManyNumbers) {
  Aggregate<> all;
  for (int i = 0; i < 100; ++i) all.add(i == 42 ? 700.0 : 100.0);
  EXPECT_EQ(all.count(), 100U);
  EXPECT_EQ(all.least(), 100);
  EXPECT_EQ(all.most(), 700);
  EXPECT_EQ(all.mean(), 106);
}

TEST(Aggregate, OfAggregatesIsThatOfAllTheirNumbers) {
  Aggregate<> whole;
  Aggregate<> parts[2];
  for (const double number : {3.0, -1.0, 8.0, 2.0, 5.0}) {
    whole.add(number);
    parts[number > 2].add(number);
  }
  parts[0].add(parts[1]);
  EXPECT_EQ(parts[0], whole);
}

TEST(Aggregate, AnEmptyOneAddsNothing) {
  Aggregate<> below;
  below.add(-5);
  below.add(Aggregate<>());
  EXPECT_EQ(below, Aggregate<>(-5));
  Aggregate<> empty;
  EXPECT_TRUE(empty.is_empty());
  empty.add(below);
  EXPECT_EQ(empty.most(), -5) << "nothing is not 0";
}

TEST(NearestRank95, IsANumberThatWasThere) {
  std::vector<int> numbers;
  for (int i = 100; i > 0; --i) numbers.push_back(i);
  EXPECT_EQ(nearest_rank_95(numbers), 95);
  std::vector<int> one = {7};
  EXPECT_EQ(nearest_rank_95(one), 7);
}

}  // namespace
}  // namespace berth
