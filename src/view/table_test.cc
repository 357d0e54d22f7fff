#include "view/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace berth {
namespace {

constexpr TableColumn numbers_and_words[] = {{.align = Align::right, .least = 5}, {}, {}};

std::vector<TableRow> mixed_rows() {
  return {{{std::string("–"), Paint::red}, std::string("显存"), std::string("x")},
          {std::string("显存"), {std::string("ok"), Paint::green}, std::string("x")},
          {std::string("7"), std::string("é–…"), {std::string("x"), Paint::dim}}};
}

TEST(Table, StandsBeneathItselfWhateverItsCharacters) {
  EXPECT_EQ(Table(numbers_and_words, mixed_rows(), 1, {}).rows_text(),
            "    – 显存 x\n"
            " 显存 ok   x\n"
            "    7 é–…  x\n");
}

TEST(Table, IsTheSameInColours) {
  const std::string plain = Table(numbers_and_words, mixed_rows(), 1, {}).rows_text();
  const std::string painted =
      Table(numbers_and_words, mixed_rows(), 1, {.colour = true}).rows_text();
  EXPECT_NE(painted, plain);
  EXPECT_EQ(std::regex_replace(painted, std::regex("\033\\[[0-9]*m"), ""), plain);
}

TEST(Table, HasColumnsAsWideAsTheirBounds) {
  constexpr TableColumn columns[] = {{.least = 4}, {.most = 5}, {}};
  EXPECT_EQ(
      Table(columns, {{std::string("a"), std::string("much too long"), std::string("b")}}, 2, {})
          .rows_text(),
      "a     much…  b\n");
}

TEST(Table, DropsAnEmptyColumnThoughItHasALeastWidth) {
  constexpr TableColumn columns[] = {{.when_empty = WhenEmpty::goes, .least = 9}, {}};
  EXPECT_EQ(Table(columns, {{std::string(), std::string("b")}}, 2, {}).rows_text(), "b\n");
}

TEST(Table, WrapsSentencesBeneathThemselves) {
  constexpr TableColumn columns[] = {{}, {.wraps = true}};
  const auto table = [&](const Style& style) {
    return Table(columns,
                 {{std::string("显存"), {std::string("a sentence that goes on"), Paint::yellow}},
                  {std::string("b"), {std::string("short"), Paint::yellow}},
                  {std::string("none"), std::string()}},
                 2, style)
        .rows_text();
  };
  EXPECT_EQ(table({.width = 18}),
            "显存  a sentence\n"
            "      that goes on\n"
            "b     short\n"
            "none\n");
  EXPECT_EQ(table({.width = 18, .colour = true}),
            "显存  \033[33ma sentence\033[0m\n"
            "      \033[33mthat goes on\033[0m\n"
            "b     \033[33mshort\033[0m\n"
            "none\n");
}

}  // namespace
}  // namespace berth
