#pragma once
// `berth fit`: a model's needs part by part, where it fits, and what the answer rests on.

#include <optional>
#include <string>
#include <vector>

#include "fit/places.h"
#include "view/style.h"

namespace berth {

struct FitAnswer {
  Model model;
  Workload workload;
  Estimate estimate;
  std::vector<DeviceVerdict> here;
  Sentence here_problem;  // why the devices here are not known; empty: they are
  std::vector<CardVerdict> cards;
  /// Over so many GPUs like the largest here it would surely fit; nothing: not asked, or over none.
  std::optional<std::uint64_t> sharded_over;
  bool all_cards = false;  // every card of the table
  std::optional<std::string> simulated;
};

/// The command that starts it here, with the upper end of the range in whole GiB. If no card surely
/// has that much, with whole cards.
[[nodiscard]] std::string run_line(const FitAnswer& answer);

[[nodiscard]] std::string render_fit(const FitAnswer& answer, const Style& style);
[[nodiscard]] std::string fit_json(const FitAnswer& answer);

}  // namespace berth
