#include "run/shim_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "record/record_writer.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

constexpr const char* uuid = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10";

class ShimWatchOfUs : public testing::Test {
 protected:
  ShimWatchOfUs() {
    manifest_.given = SnapshotBuilder().gpu(uuid, 80_GiB).build();
    manifest_.promised = {10_GiB};
    manifest_.cap = RunCap{.tier = CapTier::shim,
                           .image = std::filesystem::canonical("/proc/self/exe").string()};
    const auto made = AccountFile::make(directory_ / "account", {{uuid, 10_GiB, Bytes(0)}});
    EXPECT_TRUE(made) << made.error().message();
  }
  [[nodiscard]] ShimWatch watch() const { return {manifest_, directory_.path(), "/proc"}; }
  static std::vector<ProcessSample> us(Reading<Bytes> memory) {
    return {{.device = 0, .pid = ::getpid(), .memory = memory}};
  }

  Manifest manifest_;
  TemporaryDirectory directory_;
  SystemClock clock_;
};

TEST_F(ShimWatchOfUs, WhatIsMappedInAProcessOnTheDeviceIsProved) {
  ShimWatch watch = this->watch();
  watch.before_look();
  EXPECT_THAT(watch.after_look(us(1_GiB), clock_), testing::IsEmpty());
  EXPECT_TRUE(watch.seen().in_processes);
  EXPECT_EQ(watch.seen().gap, "");
  EXPECT_TRUE(watch.has_changed());
  watch.before_look();
  EXPECT_THAT(watch.after_look(us(1_GiB), clock_), testing::IsEmpty());
  EXPECT_FALSE(watch.has_changed());
}

TEST_F(ShimWatchOfUs, AProcessWithoutItIsToldOnceAndNothingIsProved) {
  manifest_.cap->image = directory_ / "another/libcuda.so.1";
  ShimWatch watch = this->watch();
  for (int look = 0; look < 2; ++look) {
    watch.before_look();
    const auto news = watch.after_look(us(1_GiB), clock_);
    EXPECT_EQ(news.size(), look == 0 ? 1U : 0U);
  }
  EXPECT_FALSE(watch.seen().in_processes);
  EXPECT_THAT(watch.seen().gap, testing::HasSubstr("without the shim"));
}

TEST_F(ShimWatchOfUs, WhatTheDriverMeasuresAboveTheChargesCounts) {
  ShimWatch watch = this->watch();
  watch.before_look();
  (void)watch.after_look(us(3_GiB), clock_);
  // A program that asks now is refused 3 GiB earlier: the account says so to the shim.
  const auto account = AccountFile::open(directory_ / "account");
  ASSERT_TRUE(account);
  const auto bytes = read_file(directory_ / "account", 1 << 20);
  ASSERT_TRUE(bytes);
  std::uint64_t unseen = 0;
  std::memcpy(&unseen, bytes->data() + 4096 + 3 * sizeof unseen, sizeof unseen);
  EXPECT_EQ(Bytes(unseen), 3_GiB);
}

TEST_F(ShimWatchOfUs, MemoryThatCannotBeReadIsNotZero) {
  ShimWatch watch = this->watch();
  watch.before_look();
  (void)watch.after_look(us(3_GiB), clock_);
  watch.before_look();
  (void)watch.after_look(us(Absent::unsupported), clock_);
  const auto bytes = read_file(directory_ / "account", 1 << 20);
  ASSERT_TRUE(bytes);
  std::uint64_t unseen = 0;
  std::memcpy(&unseen, bytes->data() + 4096 + 3 * sizeof unseen, sizeof unseen);
  EXPECT_EQ(Bytes(unseen), 3_GiB);
}

TEST_F(ShimWatchOfUs, ADamagedAccountIsToldOnce) {
  ShimWatch watch = this->watch();
  std::filesystem::resize_file(directory_ / "account", 100);
  watch.before_look();
  EXPECT_EQ(watch.after_look(us(1_GiB), clock_).size(), 1U);
  watch.before_look();
  EXPECT_EQ(watch.after_look(us(1_GiB), clock_).size(), 0U);
  EXPECT_NE(watch.seen().gap, "");
}

TEST_F(ShimWatchOfUs, AnotherTierIsNotWatched) {
  manifest_.cap->tier = CapTier::watchdog;
  ShimWatch watch = this->watch();
  watch.before_look();
  EXPECT_THAT(watch.after_look(us(1_GiB), clock_), testing::IsEmpty());
  EXPECT_FALSE(watch.has_changed());
}

}  // namespace
}  // namespace berth
