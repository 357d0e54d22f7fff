#pragma once
// The history that the server keeps: its writer, which is started again where its store could not
// be opened, and what reads the store.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/serve_history.h"
#include "record/history/writer.h"
#include "serve/metrics.h"

namespace berth {

class KeptHistory {
 public:
  /// Told of what a person should know, not more than once a minute of each kind.
  using Note = std::function<void(std::string kind, const std::string& text)>;

  /// `clock` outlives it. None is kept until open().
  KeptHistory(Clock& clock, Note note) : clock_(clock), note_(std::move(note)) {}

  /// Waits a moment for the disk; a slow one goes on by itself.
  void open(const std::string& path, const HistoryOptions& options);

  struct State {
    serve::HistoryFigures figures;
    std::uint64_t lost = 0;  // samples that were never written; it never falls
  };
  /// Says what there is to say and tries again what was in vain. Nothing: no history is wanted.
  [[nodiscard]] std::optional<State> check();

  /// Null: it is not open.
  [[nodiscard]] const serve::History* readable() const;
  [[nodiscard]] bool is_opening() const;

  void offer(std::shared_ptr<const Snapshot> snapshot);
  void offer(HistoryEvent event);

  /// What is queued is written, and no more.
  void end();
  /// False: it was not written within that time, and its thread is in the midst of it.
  [[nodiscard]] bool stop(Duration patience);

 private:
  void start();
  void give_up(const HistoryStatus& status);
  [[nodiscard]] State without_writer() const;

  Clock& clock_;
  Note note_;
  HistoryOptions options_;
  std::optional<StoredHistory> stored_;    // nothing: none is wanted
  std::unique_ptr<HistoryWriter> writer_;  // null: it could not be opened
  Instant next_opening_{};
  Instant next_check_{};  // of the file
  bool has_failed_ = false;
  Reading<Bytes> disk_free_ = Absent::not_sampled;  // when it last failed
  std::uint64_t lost_ = 0;                          // of writers that are gone, and without one
};

}  // namespace berth
