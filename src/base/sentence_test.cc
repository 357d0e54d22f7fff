#include "base/sentence.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/result.h"
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
  const Sentence whole = sentence("{}: {}", "host", inner);
  EXPECT_EQ(whole.english(), "host: 2 of 8 free");
  EXPECT_EQ(whole.shown(), "host：" + inner.shown());
}

TEST_F(SentenceInChinese, OfWordsComposedElsewhereIsFoundAgain) {
  const Sentence said("cannot run train: no such command in PATH");
  EXPECT_EQ(said.english(), "cannot run train: no such command in PATH");
  EXPECT_EQ(said.shown(), "无法运行 train：PATH 中没有这个命令");
}

TEST_F(SentenceInChinese, LeavesANameThatLooksLikeAWordOfOursAsItIs) {
  EXPECT_EQ(sentence("{}: {}", "nobody waits", 3).shown(), "nobody waits：3");
}

TEST_F(SentenceInChinese, OfAnErrorFollowsWhatWasAttempted) {
  const Error error = system_error(ENOENT, "open {}", "/tmp/a: b");
  EXPECT_EQ(error.message(), "cannot open /tmp/a: b: No such file or directory");
  EXPECT_EQ(error.shown(), "无法打开 /tmp/a: b：No such file or directory");
  const Error whole = Error(error).because("reading {}", "GPU 3").at("--file");
  EXPECT_EQ(whole.message(),
            "--file: reading GPU 3: cannot open /tmp/a: b: No such file or directory");
  EXPECT_EQ(whole.shown(), "--file：读取 GPU 3：无法打开 /tmp/a: b：No such file or directory");
}

TEST(Sentence, TakesBracesAndPercentSignsInValuesAsTheyAre) {
  EXPECT_EQ(sentence("it says {}", "{}%s{0}").english(), "it says {}%s{0}");
}

TEST_F(SentenceInChinese, WithABraceOfAnothersStaysAsItIs) {
  const Error error = system_error(ENOENT, Sentence("listen at /tmp/{x}{}"));
  EXPECT_EQ(error.message(), "cannot listen at /tmp/{x}{}: No such file or directory");
  EXPECT_NE(error.shown().find("/tmp/{x}{}"), std::string::npos) << error.shown();
}

TEST(Sentence, DoublesItsOwnBracesWhereItHasValues) {
  EXPECT_EQ(sentence("write {{{}}}", "lr").english(), "write {lr}");
  EXPECT_EQ(sentence("write {\"a\":1}").english(), "write {\"a\":1}");
}

TEST(Sentence, IsTheSameAsItsEnglishReadBack) {
  const Sentence said = sentence("{} of {} free", 2, 8);
  EXPECT_EQ(said, Sentence(said.english()));
  EXPECT_EQ(said, "2 of 8 free");
  EXPECT_FALSE(said == "8 of 8 free");
}

TEST(Sentence, WithoutATranslationIsShownInEnglish) {
  set_language(Language::simplified_chinese);
  const Sentence said = sentence("nobody ever translated {}", "this");
  EXPECT_EQ(said.shown(), "nobody ever translated this");
  set_language(Language::english);
}

}  // namespace
}  // namespace berth
