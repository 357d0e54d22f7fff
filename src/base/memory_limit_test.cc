#include "base/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

namespace berth {
namespace {

using ::testing::HasSubstr;

TEST(MemoryLimit, TheLimitsThatHoldAreNamedAsAShellSetsThem) {
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  // So much that nothing fails meanwhile.
  struct rlimit limited = before;
  limited.rlim_cur = rlim_t{1} << 50;
  if (before.rlim_max < limited.rlim_cur) GTEST_SKIP() << "this machine has a limit of its own";
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &limited), 0);
  const std::string told(memory_ran_out());
  ::setrlimit(RLIMIT_DATA, &before);
  EXPECT_THAT(told, HasSubstr("ulimit -d 1099511627776"));
  EXPECT_THAT(told, HasSubstr("memory ran out under the limit"));
}

}  // namespace
}  // namespace berth
