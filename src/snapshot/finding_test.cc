#include "snapshot/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Findings, TheWorstComesFirstAndEqualsKeepTheirOrder) {
  Findings findings = {{.rule = "a", .severity = Severity::hint},
                       {.rule = "b", .severity = Severity::error},
                       {.rule = "c", .severity = Severity::hint},
                       {.rule = "d", .severity = Severity::error}};
  EXPECT_EQ(worst_of(findings), Severity::error);
  sort_by_severity(findings);
  std::string order;
  for (const Finding& finding : findings) order += finding.rule;
  EXPECT_EQ(order, "bdac");
  EXPECT_EQ(worst_of({}), std::nullopt);
}

}  // namespace
}  // namespace berth
