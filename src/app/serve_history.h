#pragma once
// The server's history: what the store remembers, as the API asks for it.

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/history_source.h"

namespace berth {

/// Reads the store anew for each question: any number at a time, while one writes. Where the store
/// is and what its system says is told to take_trouble() alone: whoever asks may be anybody.
class StoredHistory final : public serve::History {
 public:
  explicit StoredHistory(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] Result<HistorySeries> series(const SeriesQuery& query) const override;
  [[nodiscard]] Result<UsageReport> usage(UsageQuery query) const override;
  [[nodiscard]] Result<serve::Timeline> timeline(WallTime since, WallTime until,
                                                 std::size_t most) const override;
  [[nodiscard]] Result<std::vector<HistoryEvent>> events(WallTime since,
                                                         WallTime until) const override;
  /// Why the newest question that was in vain could not be answered, once; invalid: the file is
  /// damaged. Any thread.
  [[nodiscard]] std::optional<Error> take_trouble() const;

 private:
  /// The reader's own answer, or why there is none as anybody may hear it.
  template <class Answer>
  Result<Answer> told(Result<Answer> answer) const;

  std::string path_;
  mutable std::mutex mutex_;
  mutable std::optional<Error> trouble_;  // guarded by mutex_
};

}  // namespace berth
