#include "view/refresh.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"

namespace berth {
namespace {

using std::chrono::milliseconds;

TEST(Refresh, CutsToTheHeightAndSaysHowMuchIsHidden) {
  EXPECT_EQ(fit_to_height("a\nb\nc\nd\n", 5, {}), "a\nb\nc\nd\n");
  EXPECT_EQ(fit_to_height("a\nb\nc\nd\n", 4, {}),
            "a\nb\n2 more lines (a taller window shows them)\n");
  EXPECT_EQ(fit_to_height("a\nb\nc\n", 1, {}), "3 more lines (a taller window shows them)\n");
  EXPECT_EQ(fit_to_height("a\nb\n", 0, {}), "a\nb\n");
}

TEST(Refresh, ClearsTheScreenOnceAndThenWritesOnlyChangedLines) {
  EXPECT_EQ(redraw("a\nb\n", {}), "\033[2J\033[1;1Ha\033[K\033[2;1Hb\033[K\033[3;1H\033[J");
  EXPECT_EQ(redraw("a\nc\n", "a\nb\n"), "\033[2;1Hc\033[K\033[3;1H\033[J");
  EXPECT_EQ(redraw("a\nb\n", "a\nb\n"), "\033[3;1H\033[J");
}

TEST(Refresh, ClearsWhatALongerPictureLeft) {
  EXPECT_EQ(redraw("a\n", "a\nb\nc\n"), "\033[2;1H\033[J");
}

TEST(Refresh, PutsALineInPlaceOfAnother) { EXPECT_EQ(over_line("2 left"), "\r2 left\033[K"); }

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
