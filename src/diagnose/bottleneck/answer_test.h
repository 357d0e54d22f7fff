#pragma once
// The verdict on a series, as tests ask for it: the answer, and all other findings.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "diagnose/bottleneck/activity_builder_test.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "diagnose/finding_words_test.h"

namespace berth::bottleneck {

/// All that is found; each has what every finding must have.
inline Findings findings_in(const Activity& activity) {
  const Thresholds thresholds;
  const Features features = features_of(activity, thresholds);
  for (const BottleneckRule& rule : all_rules()) {
    if (const auto cause = rule.find({activity, features, thresholds})) {
      EXPECT_TRUE(reports(rule.reports, cause->finding.rule))
          << cause->finding.rule << ": not in its rule's row";
    }
  }
  Findings findings = explain_bottleneck(activity).findings;
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.rule;
    EXPECT_FALSE(finding.steps.empty()) << finding.rule;
    EXPECT_FALSE(finding.meaning.empty()) << finding.rule;
  }
  return findings;
}

/// Its rule is "nothing" where nothing was found.
inline Finding first_finding(const Activity& activity) {
  const Findings findings = findings_in(activity);
  return findings.empty() ? Finding{.rule = "nothing"} : findings.front();
}
inline Finding first_finding(const ActivityBuilder& builder) {
  return first_finding(builder.build());
}

inline std::string answer(const Activity& activity) { return first_finding(activity).rule; }
inline std::string answer(const ActivityBuilder& builder) { return answer(builder.build()); }

/// Every rule that found something, the answer first.
inline std::vector<std::string> rules_that_speak(const ActivityBuilder& builder) {
  std::vector<std::string> rules;
  for (const Finding& finding : findings_in(builder.build())) {
    rules.push_back(finding.rule);
  }
  return rules;
}

}  // namespace berth::bottleneck
