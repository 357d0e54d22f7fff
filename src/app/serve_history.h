#pragma once
// The server's history: what the store remembers, as the API asks for it.

#include <string>
#include <utility>
#include <vector>

#include "serve/history_source.h"

namespace berth {

/// Reads the store anew for each question: any number at a time, while one writes.
class StoredHistory final : public serve::History {
 public:
  explicit StoredHistory(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Result<HistorySeries> series(const SeriesQuery& query) const override;
  [[nodiscard]] Result<UsageReport> usage(UsageQuery query) const override;
  [[nodiscard]] Result<serve::Timeline> timeline(WallTime since, WallTime until,
                                                 std::size_t most) const override;
  [[nodiscard]] Result<std::vector<HistoryEvent>> events(WallTime since,
                                                         WallTime until) const override;

 private:
  std::string path_;
};

}  // namespace berth
