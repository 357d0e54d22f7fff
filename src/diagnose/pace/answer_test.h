#pragma once
// What is said of a series, as tests ask it: the answer, and whatever else was found.

#include <string>
#include <vector>

#include "diagnose/finding_words_test.h"
#include "diagnose/pace/activity_builder_test.h"
#include "diagnose/pace/pace.h"

namespace berth::pace {

/// Its rule is "nothing" where nothing was found.
inline Finding first_finding(const Activity& activity) {
  const Findings findings = explain_pace(activity).findings;
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
  for (const Finding& finding : explain_pace(builder.build()).findings) {
    rules.push_back(finding.rule);
  }
  return rules;
}

}  // namespace berth::pace
