#pragma once
// Why did a run die? Rules judge a finished record and whatever else is known of the time. That is
// its events, its detached log and the kernel's log. A rule without a finding says nothing. Of a
// run that ended well there is nothing to say at all.

#include <optional>
#include <span>
#include <vector>

#include "diagnose/postmortem/evidence.h"
#include "snapshot/finding.h"

namespace berth {

/// The surest first; empty: it ended well, or nothing is known.
[[nodiscard]] Findings explain_postmortem(const PostmortemEvidence& evidence);

/// The finding that is worth a line when the job has just ended. It is a cause that the line about
/// the end does not tell already. Nothing: there is none.
[[nodiscard]] std::optional<Finding> cause_to_tell(const Findings& findings);

// The causes of death. A rule is a function and its row, in the table that ends rules/SUBJECT.cc.
// Its test stands beside that file.

struct PostmortemRule {
  /// When a rule is asked. `without_cause`: no rule before found what may have ended the run.
  /// `without_error`: no rule before found anything surer. A rule that only names the signal, or
  /// guesses, adds nothing to a cause.
  enum class Asked { always, without_cause, without_error };

  Findings (*find)(const PostmortemEvidence& evidence);
  Asked asked = Asked::always;
  /// The rule is about a device. If somebody ended the run on purpose its finding is a remark.
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
