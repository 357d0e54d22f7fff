#include "view/progress.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"

namespace berth {
namespace {

using std::chrono::milliseconds;

TEST(Progress, BarIsAsLongAsTheShare) {
  EXPECT_EQ(progress_bar(0), "[....................]");
  EXPECT_EQ(progress_bar(0.5), "[##########..........]");
  EXPECT_EQ(progress_bar(1), "[####################]");
}

TEST(Progress, BarOfAnImpossibleShareStaysABar) {
  EXPECT_EQ(progress_bar(7), "[####################]");
  EXPECT_EQ(progress_bar(-1), "[....................]");
  EXPECT_EQ(progress_bar(std::numeric_limits<double>::quiet_NaN()), "[....................]");
}

TEST(Progress, WithoutAKnownEndSaysHowLongItTook) {
  EXPECT_EQ(render_progress(std::nullopt, milliseconds(3900), "reading", {}), "reading: 3 s");
  EXPECT_EQ(render_progress(0.5, milliseconds(3900), "reading", {}),
            "[##########..........] reading");
}

TEST(Progress, IsNeverAsWideAsTheTerminal) {
  const std::string line =
      render_progress(0.5, milliseconds(0), "reading a long name", {.width = 30});
  EXPECT_EQ(display_width(line), 29) << line;
}

}  // namespace
}  // namespace berth
