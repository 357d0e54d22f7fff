#include "base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

std::string mistake(const Result<void>& done) { return done ? "" : done.error().message(); }

TEST(OutputFile, LeavesWhatIsThereUnlessItIsToBeReplaced) {
  const TemporaryDirectory folder;
  const std::string path = folder / "report.html";
  EXPECT_EQ(mistake(write_output(path, "first", Existing::keep)), "");
  EXPECT_THAT(mistake(write_output(path, "second", Existing::keep)), HasSubstr("name another"));
  EXPECT_THAT(mistake(write_output(path, "second", Existing::keep_unless_forced)),
              HasSubstr("--force"));
  EXPECT_EQ(read_file(path).value(), "first");
  EXPECT_EQ(mistake(write_output(path, "second", Existing::replace)), "");
  EXPECT_EQ(read_file(path).value(), "second");
}

TEST(OutputFile, IsNoFolderAndNoLinkIsTakenForNothing) {
  const TemporaryDirectory folder;
  EXPECT_THAT(mistake(write_output(folder.path(), "x", Existing::replace)),
              HasSubstr("is a directory"));
  std::filesystem::create_symlink("nowhere", folder / "link");
  EXPECT_THAT(mistake(write_output(folder / "link", "x", Existing::keep)),
              HasSubstr("is there already"));
}

TEST(OutputFile, ThatIsAStreamIsWrittenToWhateverIsToBeKept) {
  EXPECT_EQ(mistake(write_output("/dev/null", "x", Existing::keep)), "");
  EXPECT_EQ(mistake(check_output("/dev/null", Existing::keep)), "");
  struct stat facts{};
  ASSERT_EQ(::stat("/dev/null", &facts), 0);
  EXPECT_TRUE(S_ISCHR(facts.st_mode)) << "it is still itself";
}

TEST(OutputFile, IsCheckedBeforeTheTimeIsSpent) {
  const TemporaryDirectory folder;
  EXPECT_EQ(mistake(check_output(folder / "new", Existing::keep)), "");
  EXPECT_FALSE(is_there(folder / "new"));
  EXPECT_THAT(mistake(check_output(folder / "no_such_folder/new", Existing::keep)),
              HasSubstr("no_such_folder/new"));
  EXPECT_EQ(mistake(write_output(folder / "new", "x", Existing::keep)), "");
  EXPECT_NE(mistake(check_output(folder / "new", Existing::keep)), "");
}

}  // namespace
}  // namespace berth
