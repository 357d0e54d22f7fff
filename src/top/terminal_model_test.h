#pragma once
// A terminal that understands exactly what screen_writer.cc writes, and fails on anything else.
// For tests only.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "top/screen.h"

namespace berth::top {

class TerminalModel {
 public:
  explicit TerminalModel(Size size) : screen_(size) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      if (bytes.front() == '\033') {
        take_sequence(bytes);
      } else {
        take_character(bytes);
      }
    }
  }
  [[nodiscard]] std::string text() const { return screen_.text(); }

 private:
  void take_sequence(std::string_view& bytes) {
    const std::size_t end = bytes.find_first_of("HJmhl");
    ASSERT_NE(end, std::string_view::npos) << "an unfinished sequence";
    const std::string_view parameters = bytes.substr(2, end - 2);
    ASSERT_EQ(bytes[1], '[');
    ASSERT_EQ(parameters.find_first_not_of("0123456789;?"), std::string_view::npos)
        << "no sequence of ours: " << parameters;
    const char final = bytes[end];
    bytes.remove_prefix(end + 1);
    if (final == 'J') screen_ = Screen(screen_.size());
    if (final != 'H') return;
    const auto parts = split(parameters, ';');
    row_ = static_cast<int>(parse_unsigned(parts.at(0)).value_or(1)) - 1;
    column_ = static_cast<int>(parse_unsigned(parts.at(1)).value_or(1)) - 1;
  }
  void take_character(std::string_view& bytes) {
    const auto first = static_cast<unsigned char>(bytes.front());
    ASSERT_GE(first, 0x20) << "a raw control character";
    ASSERT_NE(first, 0x7F) << "a raw control character";
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const std::string_view character = bytes.substr(0, length);
    ASSERT_EQ(printable(character), character) << "a character that should have been escaped";
    bytes.remove_prefix(character.size());
    column_ = screen_.put(column_, row_, character);
  }

  Screen screen_;
  int row_ = 0;
  int column_ = 0;
};

}  // namespace berth::top
