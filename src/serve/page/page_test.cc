#include "serve/page.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace berth::serve {
namespace {

TEST(Page, HasSomethingToShowHoweverItWasBuilt) {
  const Asset* page = find_asset("/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->type, "text/html; charset=utf-8");
  const std::string html = text_of(*page);
  EXPECT_TRUE(html.starts_with("<!doctype html>")) << html.substr(0, 40);
  EXPECT_TRUE(html.ends_with("</html>\n")) << "cut off, or with a byte too many";
}

TEST(Page, HasEveryFileThatItsFirstOneNames) {
  const std::string html = text_of(*find_asset("/"));
  for (const std::string_view path : {"/assets/page.js", "/assets/page.css", "/assets/icon.svg"}) {
    const bool named = html.find(path) != std::string::npos;
    EXPECT_EQ(find_asset(path) != nullptr, named) << path;
  }
}

TEST(Page, GivesEachFileAQuotedETagOfItsOwn) {
  std::set<std::string_view> seen;
  for (const Asset& asset : page_assets()) {
    EXPECT_GE(asset.etag.size(), 10U) << asset.path;
    EXPECT_EQ(asset.etag.front(), '"') << asset.path;
    EXPECT_EQ(asset.etag.back(), '"') << asset.path;
    EXPECT_TRUE(seen.insert(asset.etag).second) << asset.path << " has the ETag of another";
  }
}

TEST(Page, RunsNoScriptAndNoStyleThatStandsInTheHtml) {
  const std::string html = text_of(*find_asset("/"));
  EXPECT_EQ(html.find("<style"), std::string::npos);
  EXPECT_EQ(html.find(" style="), std::string::npos);
  EXPECT_EQ(html.find("<script>"), std::string::npos);
}

TEST(Page, KnowsNoFileOutsideItsOwn) {
  EXPECT_EQ(find_asset("/assets/../page.js"), nullptr);
  EXPECT_EQ(find_asset(""), nullptr);
}

}  // namespace
}  // namespace berth::serve
