#pragma once
// The history that the server keeps. Its writer is started again where its store could not be
// opened. StoredHistory answers from the store. HoursKeeper writes down each user's GPU-hours, for
// the rules of the policy that count them (config/policy_file.h).

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/sentence.h"
#include "record/history/writer.h"
#include "serve/history_source.h"
#include "serve/metrics.h"
#include "serve/workers.h"

namespace berth::serve {

using UtcOffset = std::function<std::chrono::seconds(WallTime)>;

/// Reads the store anew for each question: any number at a time, while one writes. Where the store
/// is and what its system says is told to take_trouble() alone: the asker may be anybody.
class StoredHistory final : public History {
 public:
  /// `offset_at`: local time's, in seconds east of UTC.
  StoredHistory(std::string path, UtcOffset offset_at)
      : path_(std::move(path)), offset_at_(std::move(offset_at)) {}
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] Result<std::vector<HistorySeries>> series(const SeriesQuery& query) const override;
  [[nodiscard]] Result<UsageReport> usage(UsageQuery query) const override;
  [[nodiscard]] Result<Timeline> timeline(WallTime since, WallTime until,
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
  UtcOffset offset_at_;
  mutable std::mutex mutex_;
  mutable std::optional<Error> trouble_;  // guarded by mutex_
};

class KeptHistory {
 public:
  /// Told of what a person should know, not more than once a minute of each kind.
  using Note = std::function<void(std::string kind, const std::string& text)>;

  /// `clock` outlives it. None is kept until open().
  KeptHistory(Clock& clock, UtcOffset offset_at, Note note)
      : clock_(clock), offset_at_(std::move(offset_at)), note_(std::move(note)) {}

  /// Waits a moment for the disk; a slow one goes on by itself.
  void open(const std::string& path, const HistoryOptions& options, HistoryStore::Past past = {});

  struct State {
    HistoryFigures figures;
    std::uint64_t lost = 0;    // samples that were never written; it never falls
    Sentence stopped_because;  // none is kept since the last check; empty: no change
    bool goes_on = false;      // one is kept again since the last check
  };
  /// Notes what there is to note and tries again what was in vain. Nothing: no history is wanted.
  [[nodiscard]] std::optional<State> check();

  /// Null: it is not open.
  [[nodiscard]] const History* readable() const;
  [[nodiscard]] bool is_opening() const;

  void offer(std::shared_ptr<const Snapshot> snapshot);
  void offer(HistoryEvent event);

  /// What is queued is written, and no more.
  void end();
  /// False: it was not written within that time, and its thread is in the midst of it.
  [[nodiscard]] bool stop(Duration patience);

 private:
  void start();
  [[nodiscard]] State give_up(const HistoryStatus& status);
  [[nodiscard]] State without_writer() const;

  Clock& clock_;
  UtcOffset offset_at_;
  Note note_;
  HistoryOptions options_;
  HistoryStore::Past past_;                // empty: the server is not simulated, or has none
  std::optional<StoredHistory> stored_;    // nothing: none is wanted
  std::unique_ptr<HistoryWriter> writer_;  // null: it could not be opened
  Instant next_opening_{};
  Instant next_check_{};  // of the file
  bool has_failed_ = false;
  Reading<Bytes> disk_free_ = Absent::not_sampled;  // when it last failed
  std::uint64_t lost_ = 0;                          // of writers that are gone, and without one
};

/// GPU-hours count for so long.
constexpr std::chrono::hours hours_window{24 * 30};

/// Reads each user's hours from the history and writes them into that file. not_found: the history
/// is still empty.
[[nodiscard]] Result<void> write_hours_from(const std::string& history, WallTime now,
                                            const std::string& file);

class HoursKeeper {
 public:
  HoursKeeper(std::string history, std::string file)
      : history_(std::move(history)), file_(std::move(file)), workers_(1) {}
  /// Once a minute at most, on a thread of its own: a disk may hang.
  void keep(const Moment& now);

 private:
  std::string history_;
  std::string file_;
  Instant due_{};
  Workers workers_;
};

}  // namespace berth::serve
