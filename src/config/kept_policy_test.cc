#include "config/kept_policy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_directory.h"

namespace berth {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class KeptPolicyTest : public testing::Test {
 protected:
  Result<std::shared_ptr<const Policy>> as_of(std::int64_t second, seconds offset = seconds(0)) {
    return policy_.read({.file = file_, .owner = ::geteuid(), .now = WallTime{second * 1000}},
                        offset);
  }
  /// Another file in its place, as install_policy() puts one there.
  void put(const std::string& text) {
    std::ofstream(file_ + ".new") << text;
    std::filesystem::rename(file_ + ".new", file_);
  }

  const TemporaryDirectory folder_;
  const std::string file_ = folder_ / "berth.toml";
  KeptPolicy policy_;
};

TEST_F(KeptPolicyTest, WithoutAFileThereIsNone) {
  const auto none = as_of(0);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_EQ(*none, nullptr);
  put("[everybody]\ndevices_at_most = 1\n");
  EXPECT_NE(as_of(0).value_or(nullptr), nullptr);
  std::filesystem::remove(file_);
  EXPECT_EQ(as_of(0).value(), nullptr);
}

TEST_F(KeptPolicyTest, IsReadAgainWhereTheFileIsAnotherOrAMinuteHasPassed) {
  put("[queue]\npriority_step = \"6h\"\n");
  const auto first = as_of(60, seconds(1)).value();
  EXPECT_EQ(as_of(119, seconds(2)).value(), first);
  EXPECT_EQ(as_of(120, seconds(3)).value()->local_offset, seconds(3));
  put("[queue]\npriority_step = \"7h\"\n");
  EXPECT_EQ(as_of(120).value()->priority_step, hours(7));
}

TEST_F(KeptPolicyTest, ABrokenFileIsNoPolicyHoweverGoodTheOneBefore) {
  put("[everybody]\n");
  ASSERT_TRUE(as_of(0));
  put("[everybody]\nnonsense = 1\n");
  EXPECT_FALSE(as_of(0));
  EXPECT_FALSE(as_of(0)) << "asked again";
}

}  // namespace
}  // namespace berth
