#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_archive.h"
#include "view/findings_text.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Findings one() {
  return {
      {.rule = "too_small",
       .severity = Severity::warning,
       .title = sentence("{} of {} free", 2, 8),
       .evidence = {sentence("{} of {} free", "\x1b[2J", 8)},
       .meaning = sentence("nobody waits"),
       .steps = {{sentence("nobody waits"), std::string(90, 'x') + " y"}, {sentence("free"), ""}},
       .doubt = sentence("nobody waits")}};
}

TEST(FindingsText, KeepsACommandOnOneLineAndEscapesWhatCameFromOutside) {
  const std::string text = render_findings(one(), {.width = 60});
  EXPECT_THAT(text, HasSubstr("warning: 2 of 8 free\n"));
  EXPECT_THAT(text, HasSubstr("        " + std::string(90, 'x') + " y\n"));
  EXPECT_THAT(text, HasSubstr("Not certain: nobody waits"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(FindingsText, FixesAreTheCommandsBelowTheirFinding) {
  EXPECT_EQ(render_fixes(one(), {}),
            "# warning: 2 of 8 free\n# nobody waits\n" + std::string(90, 'x') + " y\n");
  EXPECT_EQ(render_fixes({{.rule = "no_command"}}, {}), "");
}

TEST(FindingsJson, HasEveryPartAndNullForWhatThereIsNot) {
  Finding finding = one().front();
  const auto json = nlohmann::json::parse(
      write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, finding); }));
  EXPECT_EQ(json.at("rule"), "too_small");
  EXPECT_EQ(json.at("severity"), "warning");
  EXPECT_EQ(json.at("title"), "2 of 8 free");
  EXPECT_EQ(json.at("evidence").size(), 1U);
  EXPECT_EQ(json.at("steps").at(1).at("command"), nullptr);
  EXPECT_EQ(json.at("doubt"), "nobody waits");
}

}  // namespace
}  // namespace berth
