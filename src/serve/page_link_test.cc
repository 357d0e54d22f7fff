#include "serve/page_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/temporary_directory.h"

namespace berth::serve {
namespace {

TEST(PageAddress, IsTheOneNearestToWhoSitsHere) {
  const Address far{.host = "192.0.2.7", .port = 9700};
  const Address near{.host = "127.0.0.1", .port = 9701};
  EXPECT_EQ(page_address({far, near}, false), "http://127.0.0.1:9701/");
  EXPECT_EQ(page_address({far}, false), "http://192.0.2.7:9700/");
  EXPECT_EQ(page_address({}, true), "");
}

TEST(PageAddress, IsEncryptedWhereOthersReachItAndAllOfThemIsThisMachine) {
  EXPECT_EQ(page_address({{.host = "192.0.2.7", .port = 9700}}, true), "https://192.0.2.7:9700/");
  EXPECT_EQ(page_address({{.host = "127.0.0.1", .port = 9700}}, true), "http://127.0.0.1:9700/");
  EXPECT_EQ(page_address({{.host = "0.0.0.0", .port = 80}}, true), "https://localhost:80/");
  EXPECT_EQ(page_address({{.host = "::", .port = 80}}, false), "http://localhost:80/");
}

TEST(LinkFile, IsItsOwnersAloneAndGoesWithIt) {
  const TemporaryDirectory folder;
  std::string path;
  {
    LinkFile file;
    const auto url = file.write(folder / "run", "http://127.0.0.1:9700/#sign-in=abc");
    ASSERT_TRUE(url) << url.error().message();
    ASSERT_TRUE(url->starts_with("file://" + (folder / "run") + "/"));
    path = url->substr(std::string("file://").size());
    const auto text = read_file(path);
    ASSERT_TRUE(text);
    EXPECT_THAT(*text, testing::HasSubstr("url=http://127.0.0.1:9700/#sign-in=abc\""));
    EXPECT_THAT(*text, testing::HasSubstr("no-referrer"));
    struct stat facts{};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SignInLink, NeedsASocket) {
  FakeClock clock;
  const auto link = ask_for_link("", clock);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace berth::serve
