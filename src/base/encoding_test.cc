#include "base/encoding.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::string_literals;

/// As Windows writes it, with its mark.
std::string utf16(std::u16string_view text, bool is_big) {
  std::string bytes;
  const auto put = [&](char16_t unit) {
    const char high = static_cast<char>(unit >> 8);
    const char low = static_cast<char>(unit & 0xff);
    bytes += is_big ? high : low;
    bytes += is_big ? low : high;
  };
  put(0xfeff);
  for (const char16_t unit : text) put(unit);
  return bytes;
}

std::string whole(const std::string& bytes) { return as_utf8(bytes, bytes.substr(0, 3), 0); }

TEST(Encoding, BothByteOrdersAreRead) {
  const std::u16string_view text = u"Größe 显存 \U0001f525 x\r\n";
  EXPECT_EQ(whole(utf16(text, false)), "Größe 显存 \U0001f525 x\r\n");
  EXPECT_EQ(whole(utf16(text, true)), "Größe 显存 \U0001f525 x\r\n");
}

TEST(Encoding, AnOddLastByteIsNoCharacter) {
  EXPECT_EQ(whole(utf16(u"ab", false) + "c"), "ab");
  EXPECT_EQ(whole(utf16(u"ab", true) + "\0"s), "ab");
  EXPECT_EQ(whole("\xff\xfe"), "");
}

TEST(Encoding, HalfASurrogatePairIsReplaced) {
  using namespace std::string_literals;
  EXPECT_EQ(whole("\xff\xfe\x3d\xd8x\0"s), "\uFFFDx") << "a first half alone";
  EXPECT_EQ(whole("\xff\xfe\x25\xddx\0"s), "\uFFFDx") << "a second half alone";
  EXPECT_EQ(whole("\xfe\xff\xd8\x3d\xd8\x3d\xdd\x25"s), "\uFFFD\U0001f525") << "the first twice";
  EXPECT_EQ(whole("\xff\xfe\x3d\xd8"s), "\uFFFD") << "at the end";
}

TEST(Encoding, WithoutAMarkTheBytesStayAsTheyAre) {
  EXPECT_EQ(whole("a\0b\0"s), "a\0b\0"s);
  EXPECT_EQ(whole("\xff"), "\xff");
  EXPECT_EQ(whole("\xe6\x98\xbe\xff\xfe"), "\xe6\x98\xbe\xff\xfe")
      << "a mark in the middle is none";
  EXPECT_EQ(whole(""), "");
  EXPECT_EQ(whole("\xef\xbb\xbfKeyError: 'x'"), "KeyError: 'x'") << "UTF-8's own mark";
}

TEST(Encoding, OfACutFileItsBeginningTellsAndHalfACharacterIsLeftOut) {
  const std::string file = utf16(u"abcdef", false);
  EXPECT_EQ(as_utf8(file.substr(6), file.substr(0, 3), 6), "cdef");
  EXPECT_EQ(as_utf8(file.substr(7), file.substr(0, 3), 7), "def");
  EXPECT_EQ(as_utf8("\xef\xbb\xbfx", "\xef\xbb\xbf", 100), "\xef\xbb\xbfx");
}

}  // namespace
}  // namespace berth
