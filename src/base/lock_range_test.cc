#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"
#include "base/lock.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

/// Two descriptions of one file, as two processes would have them.
class OfdRange : public testing::Test {
 protected:
  OfdRange() {
    mine_ = Fd(*open_fd(directory_ / "lock", O_RDWR | O_CREAT, 0600));
    theirs_ = Fd(*open_fd(directory_ / "lock", O_RDWR));
  }
  TemporaryDirectory directory_;
  Fd mine_;
  Fd theirs_;
};

TEST_F(OfdRange, IsSeenByOthersWhereItBegins) {
  ASSERT_TRUE(take_ofd_lock(mine_.get(), {.start = 1000, .length = 1}));
  EXPECT_EQ((*find_ofd_lock(theirs_.get(), {.start = 0, .length = 0}))->start, 1000);
  EXPECT_FALSE(find_ofd_lock(theirs_.get(), {.start = 0, .length = 1000})->has_value());
  EXPECT_FALSE(find_ofd_lock(mine_.get(), {})->has_value()) << "one's own do not count";
}

TEST_F(OfdRange, GoesAloneWhenDropped) {
  ASSERT_TRUE(take_ofd_lock(mine_.get(), {.start = 0, .length = 10}));
  ASSERT_TRUE(take_ofd_lock(mine_.get(), {.start = off_t{1} << 40, .length = 1}));
  ASSERT_TRUE(drop_ofd_lock(mine_.get(), {.start = 0, .length = 10}));
  EXPECT_EQ((*find_ofd_lock(theirs_.get(), {}))->start, off_t{1} << 40);
}

TEST_F(OfdRange, RefusesOthersAndSaysBusy) {
  ASSERT_TRUE(take_ofd_lock(mine_.get(), {.start = 5, .length = 5}));
  const auto taken = take_ofd_lock(theirs_.get(), {.start = 9, .length = 1});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::busy);
  EXPECT_TRUE(take_ofd_lock(theirs_.get(), {.start = 10, .length = 1}));
}

TEST(SystemClockWait, EndsWhenTheDescriptorIsReadable) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  SystemClock clock;
  EXPECT_FALSE(clock.wait_readable(read_end.get(), clock.now())) << "nothing there, no time left";
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  EXPECT_TRUE(clock.wait_readable(read_end.get(), clock.now() + std::chrono::hours(1)));
}

}  // namespace
}  // namespace berth
