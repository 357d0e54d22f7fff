#include "probe/nvml/memory_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GroupsOf, AreItsOwnAndThoseAbove) {
  EXPECT_THAT(groups_of("12:memory:/x\n0::/user.slice/a.scope\n", "/c"),
              ElementsAre("/c/user.slice/a.scope", "/c/user.slice", "/c"));
  EXPECT_THAT(groups_of("0::/\n", "/c"), ElementsAre("/c"));
}

TEST(GroupsOf, AreNoneWithoutVersion2OrOutsideOfTheContainer) {
  EXPECT_THAT(groups_of("12:memory:/x\n", "/c"), IsEmpty());
  EXPECT_THAT(groups_of("0::/../other\n", "/c"), IsEmpty());
  EXPECT_THAT(groups_of("", "/c"), IsEmpty());
}

}  // namespace
}  // namespace berth::nvml
