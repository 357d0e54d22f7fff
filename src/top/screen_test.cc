#include "top/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "top/screen_writer.h"
#include "top/terminal_model_test.h"

namespace berth::top {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Screen, ControlCharactersBecomeVisible) {
  Screen screen({40, 1});
  screen.put(0, 0, "a\033[2Jb\nc\x9B");
  EXPECT_EQ(screen.text(), "a\\x1B[2Jb\\x0Ac\\x9B\n");
}

TEST(Screen, WideCharacterIsNotHalved) {
  Screen screen({5, 1});
  EXPECT_EQ(screen.put(0, 0, "ab中文"), 4);
  EXPECT_EQ(screen.text(), "ab中\n");
}

TEST(Screen, WritingOverHalfOfAWideCharacterBlanksTheOther) {
  Screen screen({6, 1});
  screen.put(0, 0, "中文");
  screen.put(1, 0, "x");
  EXPECT_EQ(screen.text(), " x文\n");
  screen.put(2, 0, "y");
  EXPECT_EQ(screen.text(), " xy\n");
}

TEST(Screen, RunsOverSeveralWideCharactersBlankWhatStandsOutAtTheirEnds) {
  Screen screen({8, 2});
  screen.put(0, 0, "中文中文");
  screen.put(1, 0, "│xyz");
  EXPECT_EQ(screen.text(), " │xyz 文\n\n");
  screen.put(0, 1, "中文中文");
  screen.fill(3, 1, 2, Tone::bold);
  EXPECT_EQ(screen.text(), " │xyz 文\n中    文\n");
  screen.put(0, 1, "a中");  // its right half where a left one was
  EXPECT_EQ(screen.text(), " │xyz 文\na中   文\n");
}

TEST(Screen, WritingNothingLeavesAWideCharacter) {
  Screen screen({4, 1});
  screen.put(0, 0, "中文");
  screen.put(1, 0, "");
  screen.put(1, 0, "文", Tone::plain, 1);  // does not fit
  EXPECT_EQ(screen.text(), "中文\n");
}

TEST(Screen, OutsideOfTheScreenIsNothing) {
  Screen screen({3, 2});
  screen.put(5, 0, "x");
  screen.put(-1, 0, "x");
  screen.put(0, 7, "x");
  screen.fill(2, 1, 100, Tone::bold);
  EXPECT_EQ(screen.text(), "\n\n");
}

TEST(Screen, CombiningMarksStayOnTheirCharacter) {
  Screen screen({4, 1});
  screen.put(0, 0, "e\xCC\x81x");
  EXPECT_EQ(screen.text(), "e\xCC\x81x\n");
  std::string many = "e";
  for (int i = 0; i < 50; ++i) many += "\xCC\x81";
  screen.put(0, 0, many);
  EXPECT_LT(screen.at(0, 0).text().size(), 14U);
  screen.put(3, 0, "e");
  EXPECT_EQ(screen.put(4, 0, "\xCC\x81"), 4) << "by itself, behind the last column";
  EXPECT_EQ(screen.at(3, 0).text(), "e\xCC\x81");
}

TEST(ScreenWriter, SameScreenWritesNothing) {
  Screen screen({20, 3});
  screen.put(0, 1, "hello");
  EXPECT_EQ(changes(&screen, screen, Theme::dark), "");
}

TEST(ScreenWriter, OnlyWhatChangedIsWritten) {
  Screen before({40, 3});
  before.put(0, 0, "utilization");
  before.put(30, 2, "41");
  Screen now = before;
  now.put(30, 2, "42");
  const std::string bytes = changes(&before, now, Theme::dark);
  EXPECT_THAT(bytes, Not(HasSubstr("utilization")));
  EXPECT_THAT(bytes, HasSubstr("\033[3;32H"));
  EXPECT_LT(bytes.size(), 24U);
}

TEST(ScreenWriter, ChangesMakeTheTerminalShowTheScreen) {
  Screen before({12, 2});
  before.put(0, 0, "abc中文def");
  before.put(2, 1, "xyz", Tone::bad);
  Screen now({12, 2});
  now.put(1, 0, "中文 中", Tone::good);
  now.put(0, 1, "e\xCC\x81", Tone::title);
  TerminalModel terminal({12, 2});
  terminal.feed(changes(nullptr, before, Theme::dark));
  EXPECT_EQ(terminal.text(), before.text());
  terminal.feed(changes(&before, now, Theme::dark));
  EXPECT_EQ(terminal.text(), now.text());
}

TEST(ScreenWriter, ColourlessThemeUsesNoColour) {
  Screen screen({10, 1});
  for (int tone = 0; tone <= static_cast<int>(Tone::chart_temperature); ++tone) {
    screen.put(0, 0, "x", static_cast<Tone>(tone));
    const std::string bytes = changes(nullptr, screen, Theme::mono);
    EXPECT_THAT(bytes, Not(testing::ContainsRegex("[;[][349][0-7]m"))) << tone;
  }
}

TEST(Theme, GoodAndBadDifferWithoutRedAndGreen) {
  EXPECT_NE(colours_of(Tone::good, Theme::colour_blind),
            colours_of(Tone::bad, Theme::colour_blind));
  for (int tone = 0; tone <= static_cast<int>(Tone::chart_temperature); ++tone) {
    const std::string colours(colours_of(static_cast<Tone>(tone), Theme::colour_blind));
    for (const char* forbidden : {"31", "32", "91", "92"}) {
      EXPECT_THAT(colours, Not(HasSubstr(forbidden))) << tone;
    }
  }
}

TEST(Theme, RowsStandInTheOrderOfTheTones) {
  EXPECT_EQ(colours_of(Tone::plain, Theme::dark), "");
  EXPECT_EQ(colours_of(Tone::header, Theme::dark), "7");
  EXPECT_EQ(colours_of(Tone::bad, Theme::dark), "1;31");
  EXPECT_EQ(colours_of(Tone::chart_temperature, Theme::dark), "35");
}

}  // namespace
}  // namespace berth::top
