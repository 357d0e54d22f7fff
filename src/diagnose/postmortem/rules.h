#pragma once
// The causes of death. A rule is a function and its row, in the table that ends rules/SUBJECT.cc;
// its test stands beside that file.

#include <span>
#include <vector>

#include "diagnose/postmortem/evidence.h"
#include "snapshot/finding.h"

namespace berth {

struct PostmortemRule {
  /// Where nothing is known that may have ended the run; where nothing surer is known: what only
  /// names the signal, and a guess, add nothing to a cause.
  enum class Asked { always, without_cause, without_error };

  Findings (*find)(const PostmortemEvidence& evidence);
  Asked asked = Asked::always;
  /// What happened to a device: a remark, where somebody ended the run on purpose.
  bool is_of_device = false;
  Reported reports[most_reported];
};

// rules/SUBJECT.cc
[[nodiscard]] std::span<const PostmortemRule> ended_by_berth_rules();
[[nodiscard]] std::span<const PostmortemRule> machine_rules();
[[nodiscard]] std::span<const PostmortemRule> output_rules();
[[nodiscard]] std::span<const PostmortemRule> last_resort_rules();

/// All of them, in the order in which they are asked and told.
[[nodiscard]] const std::vector<PostmortemRule>& postmortem_rules();

}  // namespace berth
