#include "view/refresh.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
