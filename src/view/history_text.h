#pragma once
// `berth history` and `berth usage`: what the history store answers, for people and for programs.
// The server's API answers with the same JSON for a series and for usage.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sentence.h"
#include "record/history/reader.h"
#include "view/style.h"

namespace berth {

/// What `berth history` shows.
struct HistoryView {
  HistoryFacts facts;
  WallTime since;
  WallTime until;
  WallTime now;
  std::vector<HistoryDevice> devices;  // those asked for
  std::vector<HistorySeries> series;
  std::vector<history::Span> spans;  // leases, users and waits; of states none
  std::vector<HistoryEvent> events;
  std::string user;  // whose alone it is; empty: everybody's
};

/// What an event says; of an error that the driver told by its number alone, NVIDIA's words for it.
[[nodiscard]] Sentence words_of(const HistoryEvent& event);
/// What to do about an error of the driver; empty: nothing, or it is no such event. Findings of the
/// rules of health bring their own advice while they last, and are over afterwards.
[[nodiscard]] std::string_view advice_of(const HistoryEvent& event);

/// Of a chart, through tr(), by the key in record/history/metric.h: its own, or else its column's.
[[nodiscard]] std::string_view title_of_metric(std::string_view key);

[[nodiscard]] std::string render_history(const HistoryView& view, const Style& style);
[[nodiscard]] std::string history_json(const HistoryView& view);
/// One line per point: device, metric, unit, time, least, mean, p95, most, samples.
[[nodiscard]] std::string history_csv(const HistoryView& view);

/// {"simulated", "device", "metric", "unit", "step_ms", "knows_since_unix_ms", "points"}, on one
/// line.
[[nodiscard]] std::string series_json(const HistorySeries& series,
                                      const std::optional<std::string>& simulated);

[[nodiscard]] std::string render_usage(const UsageReport& report, const HistoryFacts& facts,
                                       const std::string& currency, WallTime now,
                                       const Style& style);
[[nodiscard]] std::string usage_json(const UsageReport& report,
                                     const std::optional<std::string>& simulated,
                                     const std::string& currency);
[[nodiscard]] std::string usage_csv(const UsageReport& report);

// What the texts of the history share. Internal to view/history_*.cc.

/// A device as people call it: its index, else the beginning of its id.
[[nodiscard]] std::string device_word(const HistoryFacts& facts, const DeviceId& id,
                                      const Style& style);
/// "SIMULATED (lab-4)" on a line of its own, where it is.
[[nodiscard]] std::string simulated_line(const HistoryFacts& facts, const Style& style);

}  // namespace berth
