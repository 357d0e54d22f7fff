#pragma once
// `berth explain` for what runs now: what was seen of the GPUs and the job, its phases, and why the
// GPUs are not busy.

#include <string>
#include <vector>

#include "diagnose/pace/pace.h"
#include "view/style.h"

namespace berth {

struct PaceAnswer {
  pace::Activity activity;
  pace::Pace pace;
  /// What a person has to know of how it was taken, in his language: "the job ended meanwhile".
  std::vector<std::string> remarks;
};

[[nodiscard]] std::string render_pace(const PaceAnswer& answer, const Style& style);

/// {"berth_pace": 1, "answers": […]}. Sentences are English.
[[nodiscard]] std::string pace_json(const std::vector<PaceAnswer>& answers);

}  // namespace berth
