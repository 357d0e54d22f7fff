#include "base/tr.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/catalogue.h"

namespace berth {
namespace {

void append_word(std::string& file, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) file += static_cast<char>((value >> shift) & 0xff);
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// What msgfmt makes of these pairs, which are sorted by their keys.
std::string compiled(const Pairs& pairs) {
  std::string file;
  const std::size_t table = 8 * pairs.size();
  for (const std::size_t value : {std::size_t{0x950412de}, std::size_t{0}, pairs.size(),
                                  std::size_t{28}, 28 + table, std::size_t{0}, std::size_t{0}}) {
    append_word(file, value);
  }
  std::string texts;
  const auto add = [&](const std::string& text) {
    append_word(file, text.size());
    append_word(file, 28 + 2 * table + texts.size());
    texts += text + '\0';
  };
  for (const auto& [key, text] : pairs) add(key);
  for (const auto& [key, text] : pairs) add(text);
  return file + texts;
}

const Pairs some = {{"", "Content-Type: text/plain; charset=UTF-8\n"},
                    {"busy", "忙"},
                    {"free", "空闲"},
                    {"\xE2\x80\xA6", "……"}};

TEST(Catalogue, FindsEachTextAndNothingElse) {
  const std::string file = compiled(some);
  for (const auto& [key, text] : some) EXPECT_EQ(Catalogue(file).find(key), text) << key;
  for (const char* key : {"a", "bus", "busyy", "leased", "\xF0"}) {
    EXPECT_EQ(Catalogue(file).find(key), "") << key;
  }
}

TEST(Catalogue, CutOffFileIsNotReadBehindItsEnd) {
  const std::string file = compiled(some);
  for (std::size_t length = 0; length < file.size(); ++length) {
    const std::string cut = file.substr(0, length);  // its own memory, so that a sanitizer sees
    EXPECT_EQ(Catalogue(cut).find("leased"), "") << length;
  }
  EXPECT_EQ(Catalogue(std::string(64, 'x')).find("free"), "");
}

TEST(Translation, TextThatIsNotInTheCatalogueStaysEnglish) {
  set_language(Language::simplified_chinese);
  EXPECT_EQ(tr("a text that nobody translates"), "a text that nobody translates");
  EXPECT_EQ(trf("{} texts that nobody translates", 3), "3 texts that nobody translates");
  EXPECT_EQ(tr(""), "") << "the catalogue's own header is no text";
  set_language(Language::english);
}

TEST(Translation, AThreadMaySpeakAnotherLanguageForAWhile) {
  EXPECT_EQ(tr("nobody waits"), "nobody waits");
  {
    const LanguageHere chinese(Language::simplified_chinese);
    EXPECT_EQ(current_language(), Language::simplified_chinese);
    EXPECT_NE(tr("nobody waits"), "nobody waits");
    std::string elsewhere;
    std::thread([&] { elsewhere = tr("nobody waits"); }).join();
    EXPECT_EQ(elsewhere, "nobody waits");
  }
  EXPECT_EQ(tr("nobody waits"), "nobody waits");
}

TEST(Translation, WrongPlaceholdersCostNoAnswer) {
  const int free = 3;
  const int all = 8;
  const auto said = [&](std::string_view translated) {
    return detail::format_as(translated, "{} of {} free", fmt::make_format_args(free, all));
  };
  EXPECT_EQ(said("{1} 中 {0} 空闲"), "8 中 3 空闲");
  for (const char* wrong : {"{} {} {}", "{2}", "{", "{:Q}", "{name}"}) {
    EXPECT_EQ(said(wrong), "3 of 8 free") << wrong;
  }
}

TEST(Language, IsReadFromTheLocalesName) {
  for (const char* name : {"zh", "zh_CN.UTF-8", "zh-Hans", "zh_SG"}) {
    EXPECT_EQ(language_from_name(name), Language::simplified_chinese) << name;
  }
  for (const char* name : {"", "C", "en_US.UTF-8", "zh_TW.UTF-8", "zh_HK", "zh-Hant", "de"}) {
    EXPECT_EQ(language_from_name(name), Language::english) << name;
  }
}

TEST(Language, IsKnownWhereThereAreWordsOfIt) {
  for (const char* name : {"en", "en_GB.UTF-8", "C", "C.UTF-8", "POSIX", "zh", "zh_CN.UTF-8"}) {
    EXPECT_TRUE(is_known_language(name)) << name;
  }
  for (const char* name : {"", "de", "english", "zh_TW", "C3", "e"}) {
    EXPECT_FALSE(is_known_language(name)) << name;
  }
}

}  // namespace
}  // namespace berth
