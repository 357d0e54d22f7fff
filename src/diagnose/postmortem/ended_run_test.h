#pragma once
// A run of a minute that ended in some way, and what is said of it. For tests only.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding_words_test.h"
#include "diagnose/postmortem/catalogue.h"
#include "diagnose/postmortem/postmortem.h"
#include "snapshot/builder.h"

namespace berth {

inline constexpr WallTime run_began{1'763'690'000'000};
inline constexpr WallTime run_over{1'763'690'060'000};

inline RunRecord ended_run(Exit exit, std::string_view because = "") {
  using namespace literals;
  RunRecord run;
  run.manifest.id = "20251121-014946-k3f9q2";
  run.manifest.command = {"python", "train.py", "--batch-size", "64"};
  run.manifest.user = "ada";
  run.manifest.started = run_began;
  run.manifest.job = ProcessId{.pid = 4711};
  run.manifest.machine.memory_total = 64_GiB;
  run.manifest.given =
      SnapshotBuilder()
          .gpu("GPU-A", 80_GiB)
          .with([](Device& device) { device.pci_address = std::string("00000000:3b:00.0"); })
          .build();
  run.manifest.promised = {20_GiB};
  run.state = RunState::ended;
  run.end = RunEnd{.at = run_over, .exit = exit, .because = std::string(because)};
  run.end->summary.tree_memory_peak = 4_GiB;
  return run;
}

inline RunEvent event_at_the_end(std::string kind, std::string_view text) {
  return {.at = run_over, .kind = std::move(kind), .text = Sentence(text)};
}

/// The log's are the catalogue's, which the row only points to.
inline bool is_in_row(const PostmortemRule& rule, const Finding& finding) {
  return reports(rule.reports, finding.rule) || log_entry(finding.rule) != nullptr;
}

/// Every cause by its rule, each with evidence.
inline std::vector<std::string> causes_of(const PostmortemEvidence& evidence) {
  for (const PostmortemRule& rule : postmortem_rules()) {
    if (ended_in_order(evidence.run)) break;
    for (const Finding& finding : rule.find(evidence)) {
      EXPECT_TRUE(is_in_row(rule, finding)) << finding.rule << ": not in its rule's row";
    }
  }
  std::vector<std::string> rules;
  for (const Finding& finding : explain_postmortem(evidence)) {
    EXPECT_FALSE(finding.evidence.empty()) << finding.rule;
    rules.push_back(finding.rule);
  }
  return rules;
}

/// Its rule is "nothing" where nothing was found.
inline Finding first_cause(const PostmortemEvidence& evidence) {
  const Findings findings = explain_postmortem(evidence);
  return findings.empty() ? Finding{.rule = "nothing"} : findings.front();
}

}  // namespace berth
