#pragma once
// HistoryStore: writes what every device and process did into one SQLite file. Keeps that file as
// small as it was told. One process writes, any number read meanwhile (record/history/reader.h).
//
// Samples are appended to the `tail` every few seconds: a program that is killed loses no more than
// those. Every ten minutes the tail becomes blocks (record/history/column.h). The roll-ups of its
// minutes and of the hour are made anew from the blocks. What is too old or too much goes.
//
// Nothing here stops a server. What the disk refuses stays in memory for half an hour, then counts
// as lost. A file that is damaged or may not be written is set aside, and a new one begun.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "record/history/chunk.h"
#include "record/history/database.h"
#include "record/history/event.h"
#include "record/history/options.h"
#include "record/history/registry.h"
#include "record/history/rollup.h"
#include "record/history/span.h"
#include "record/history/usage_meter.h"

namespace berth {

/// Where a history is: DIRECTORY/history.sqlite, of a simulated server history-sim-NAME.sqlite.
[[nodiscard]] std::string history_path(const std::string& state_directory,
                                       const std::optional<std::string>& simulated);

class HistoryStore {
 public:
  /// Makes what is missing, the directory too; where `path` is a link, behind it. A damaged or
  /// unwritable file is renamed FILE.broken-DATE and said in take_notes(); of those the newest is
  /// kept. busy: another process writes it. unsupported: a newer berth's. io, no_permission: no
  /// file can be there at all.
  [[nodiscard]] static Result<HistoryStore> open(const std::string& path,
                                                 const HistoryOptions& options, Clock& clock);
  HistoryStore(HistoryStore&&) = default;
  HistoryStore& operator=(HistoryStore&&) = delete;
  /// Writes what is still in memory.
  ~HistoryStore();

  /// invalid: the snapshot is a simulated server's and the store a real machine's, or the other way
  /// round. Anything else: it is in memory, but the disk does not take it now.
  [[nodiscard]] Result<void> append(const Snapshot& snapshot);
  /// A simulated server at a time, and what had happened since the look before.
  struct PastLook {
    PastLook(Snapshot seen,
             std::vector<HistoryEvent> told = {})  // NOLINT(google-explicit-constructor)
        : snapshot(std::move(seen)), events(std::move(told)) {}
    Snapshot snapshot;
    std::vector<HistoryEvent> events;
  };
  /// Its own past is known.
  using Past = std::function<PastLook(WallTime)>;
  /// The time since the newest sample, at most the last `length`. Nothing for less than an hour and
  /// a quarter.
  [[nodiscard]] Result<void> fill_past(const Past& past, std::chrono::hours length);
  /// Once, when it is noticed. One that is there already (the same within two seconds) is not kept
  /// twice.
  [[nodiscard]] Result<void> add(const HistoryEvent& event);
  /// Writes what is in memory.
  [[nodiscard]] Result<void> flush();
  /// Reads the whole file and sets it aside if it is damaged: for when a reader met damage.
  [[nodiscard]] Result<void> verify();

  /// How often samples have got to the disk: more than before says that it takes them.
  [[nodiscard]] std::uint64_t commits() const { return commits_; }
  /// Samples that were never written, because the disk did not take them.
  [[nodiscard]] std::uint64_t lost_samples() const { return lost_samples_; }
  /// The file and what SQLite keeps beside it, and what was set aside: that comes on top of the
  /// limit.
  [[nodiscard]] Bytes disk_used() const;
  /// What its file system still has for this user.
  [[nodiscard]] Reading<Bytes> disk_free() const;
  /// What a person should hear, once each; in English.
  [[nodiscard]] std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  struct Pending {
    std::vector<history::SampleRow> samples;  // of the open chunk, not yet in the tail
    std::vector<history::Span> spans;
    std::vector<HistoryEvent> events;
  };
  struct EndedChunk {
    history::OpenChunk chunk;
    std::int64_t last_tail_id = 0;  // its samples are in the tail up to here
  };

  HistoryStore(std::string path, const HistoryOptions& options, Clock& clock, Fd lock)
      : path_(std::move(path)), options_(options), clock_(&clock), lock_(std::move(lock)) {}

  // store.cc
  Result<void> attach();
  Result<void> open_file();
  Result<void> attach_or_set_aside();
  Result<void> load_tail();
  Result<void> load_spans();
  Result<void> set_aside(const Error& because);
  void keep_one_aside();
  Result<void> check_kind(const Snapshot& snapshot);
  Result<history::SampleRow> row_of(const SnapshotIndex& index);
  void note_xids(const Snapshot& snapshot);
  /// Where the file turned out to be damaged, a new one is begun.
  Result<void> recovered(Result<void> done);

  // store_write.cc
  Result<void> write_pending();
  Result<void> write_all();
  Result<void> write_batch();
  Result<void> write_tail();
  Result<void> write_spans();
  Result<void> write_events();
  Result<void> write_usage();
  Result<void> seal(const EndedChunk& ended);
  Result<void> write_chunk(const history::OpenChunk& chunk);
  Result<void> refresh_rollups(std::int64_t hour_ms, const history::OpenChunk& chunk);
  void end_chunk();

  // store_past.cc
  Result<void> fill_past(const Past& past, std::int64_t from, std::int64_t now);
  Result<void> note_points(const Snapshot& snapshot,
                           std::map<std::int64_t, history::Point>& counters,
                           std::map<std::int64_t, std::vector<history::Point>>& points);
  Result<void> write_past(const std::map<std::int64_t, std::vector<history::Point>>& points,
                          std::int64_t at, bool has_minutes);

  // store_keep.cc
  Result<void> forget_by_age(std::int64_t now_ms);
  /// Forgets the oldest until there is room again.
  Result<void> make_room();
  Result<bool> forget_oldest();
  Result<void> forget_chunks(std::int64_t before_ms, std::int64_t at_most);
  /// Empties what is beside the file once it is longer than that. io: it may not grow further.
  Result<void> keep_log_short(std::uint64_t at_most);
  [[nodiscard]] std::uint64_t log_allowance() const;

  std::string path_;
  HistoryOptions options_;
  Clock* clock_;
  Fd lock_;
  std::unique_ptr<history::Database> database_;
  history::Registry registry_;
  history::SpanTracker spans_;
  history::UsageMeter usage_;
  history::OpenChunk chunk_;
  std::deque<EndedChunk> ended_;  // full, and not yet written as blocks
  std::size_t most_columns_ = 0;  // that a chunk has had
  std::int64_t next_tail_id_ = 1;
  std::int64_t tail_rows_ = 0;  // of the batch being written
  Pending pending_;
  std::optional<std::int64_t> flushed_ms_;
  std::optional<std::string> simulated_;  // as the file says; empty text: a real machine's
  std::uint64_t newest_xid_ = 0;          // XidEvent::number
  std::uint64_t commits_ = 0;
  std::uint64_t lost_samples_ = 0;
  std::vector<std::string> notes_;
  std::string last_trouble_;
  std::vector<std::string> aside_;  // what was set aside and is still there
};

}  // namespace berth
