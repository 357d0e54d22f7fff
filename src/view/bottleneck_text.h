#pragma once
// `berth explain` for what runs now. Shows what was seen of the GPUs and the job, its phases, and
// why the GPUs are not busy.

#include <string>
#include <vector>

#include "base/reading.h"
#include "base/units.h"
#include "diagnose/bottleneck/bottleneck.h"
#include "view/style.h"

namespace berth {

struct BottleneckAnswer {
  bottleneck::Activity activity;
  bottleneck::Bottleneck bottleneck;
  /// What a person has to know of how it was taken: "the job ended meanwhile".
  std::vector<Sentence> remarks;
  /// For a run that is over: what `berth show` calls the mean of the run. One per device.
  std::vector<Reading<Percent>> run_means = {};
};

[[nodiscard]] std::string render_bottleneck(const BottleneckAnswer& answer, const Style& style);

/// {"berth_pace": 1, "answers": […]}. Sentences are English.
[[nodiscard]] std::string bottleneck_json(const std::vector<BottleneckAnswer>& answers);

}  // namespace berth
