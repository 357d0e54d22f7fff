#include "base/sentence.h"

#include <gtest/gtest.h>

#include "base/tr.h"

namespace berth {
namespace {

class SentenceInChinese : public testing::Test {
 protected:
  void SetUp() override { set_language(Language::simplified_chinese); }
  void TearDown() override { set_language(Language::english); }
};

TEST_F(SentenceInChinese, IsShownInTheChosenLanguageAndKeptInEnglish) {
  const Sentence said = sentence("{} of {} free", 2, 8);
  EXPECT_EQ(said.english(), "2 of 8 free");
  EXPECT_NE(said.shown(), said.english()) << "po/zh_CN.po has this sentence";
  EXPECT_NE(said.shown().find('8'), std::string::npos) << said.shown();
}

TEST_F(SentenceInChinese, WithinASentenceFollowsTheLanguageToo) {
  const Sentence inner = sentence("{} of {} free", 2, 8);
  const Sentence said("{}: {}", {"host", ""});
  Sentence whole = said;
  whole.put(1, inner);
  EXPECT_EQ(whole.english(), "host: 2 of 8 free");
  EXPECT_EQ(whole.shown(), "host：" + inner.shown());
  EXPECT_NE(whole, said);
  EXPECT_EQ(sentence("{}: {}", "host", inner), whole);
}

TEST_F(SentenceInChinese, OfWordsComposedElsewhereIsFoundAgain) {
  const Sentence said("cannot run train: no such command in PATH", {});
  EXPECT_EQ(said.english(), "cannot run train: no such command in PATH");
  EXPECT_EQ(said.shown(), "无法运行 train：PATH 中没有这个命令");
}

TEST(Sentence, TakesBracesAndPercentSignsInValuesAsTheyAre) {
  EXPECT_EQ(sentence("it says {}", "{}%s{0}").english(), "it says {}%s{0}");
}

TEST(Sentence, WithoutATranslationIsShownInEnglish) {
  set_language(Language::simplified_chinese);
  const Sentence said("nobody ever translated {}", {"this"});
  EXPECT_EQ(said.shown(), "nobody ever translated this");
  set_language(Language::english);
}

}  // namespace
}  // namespace berth
