#include <gtest/gtest.h>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/example_server.h"
#include "view/golden_file.h"
#include "view/status.h"

namespace berth {
namespace {

/// Simplified Chinese for one test.
class Chinese : public ::testing::Test {
 protected:
  void SetUp() override { set_language(Language::simplified_chinese); }
  void TearDown() override { set_language(Language::english); }
};

TEST_F(Chinese, StatusLooksAsItDidAndKeepsWithinTheTerminal) {
  const std::string drawn = render_status(example::server(), {.width = 80, .utf8 = true}, {});
  expect_golden("status_80_zh_CN", drawn);
  for (const std::string_view line : split(drawn, '\n')) EXPECT_LE(display_width(line), 80) << line;
}

TEST_F(Chinese, ComposedEnglishIsFoundAgainByItsWords) {
  EXPECT_EQ(Sentence("cannot open /tmp/a b: No such file or directory").shown(),
            "无法打开 /tmp/a b：No such file or directory");
  EXPECT_EQ(Sentence("reading GPU 3: the probe process did not answer").shown(),
            "读取 GPU 3：探测进程没有响应");
  EXPECT_EQ(Sentence("/a/b is not a directory").shown(), "/a/b 不是目录");
}

TEST_F(Chinese, ComposedPartsAreTranslatedEach) {
  EXPECT_EQ(Sentence("writing /a: cannot replace /a: Read-only file system").shown(),
            "写入 /a：无法替换 /a：Read-only file system");
}

TEST_F(Chinese, WordsOfOthersStayAsTheyAre) {
  EXPECT_EQ(Sentence("Xid 79 on bus 3").shown(), "Xid 79 on bus 3");
  EXPECT_EQ(Sentence("NVRM: Xid; nothing of ours").shown(), "NVRM: Xid; nothing of ours");
  EXPECT_EQ(Sentence("").shown(), "");
  EXPECT_EQ(Sentence("{} {:d} }{").shown(), "{} {:d} }{");
}

TEST_F(Chinese, EndlessTextIsNotSearchedForSentences) {
  std::string endless = "reading GPU 3: the probe process did not answer";
  while (endless.size() < 10'000) endless += "; a b: c";
  EXPECT_EQ(Sentence(endless).shown(), endless);
  // Each part costs a look through the catalogue: after some the rest stays English.
  std::string many = "cannot open /a: no";
  while (many.size() < 4000) many += "; a b： c d: e f";
  many += "; reading GPU 3";
  EXPECT_TRUE(Sentence(many).shown().ends_with("reading GPU 3")) << Sentence(many).shown();
}

TEST(English, ComposedTextIsGivenBackAsItIs) {
  EXPECT_EQ(Sentence("cannot open {}: no").shown(), "cannot open {}: no");
}

}  // namespace
}  // namespace berth
