#pragma once
// HistoryWriter: a HistoryStore on a thread of its own, so that a slow, full or dead disk stops
// nobody else. What it cannot take at once is dropped and counted.
//
//   auto writer = HistoryWriter::start(history_path(state, simulated), options, clock);
//   if (!writer) say(writer.error());                     // and go on without
//   writer->get()->offer(snapshot);                       // after each look; never waits
//   writer->get()->offer(HistoryEvent{…});                // a health finding; never waits
//   for (const std::string& note : writer->get()->take_notes()) log(note);
//
// Its end (or stop()) writes what is queued and waits for that.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reading.h"
#include "base/result.h"
#include "record/history/store.h"

namespace berth {

struct HistoryStatus {
  std::uint64_t taken = 0;    // snapshots given to the store
  std::uint64_t dropped = 0;  // snapshots and events that found the queue full
  std::uint64_t lost = 0;     // samples that the disk never took
  std::string trouble;        // why the newest could not be written; empty: all is well
  Bytes disk_used;
  Reading<Bytes> disk_free = Absent::not_sampled;  // of its file system, to this user
};

class HistoryWriter {
 public:
  /// Opens the store here, so that its errors are the caller's (HistoryStore::open), then starts
  /// the thread. `clock` outlives it and is used by that thread.
  [[nodiscard]] static Result<std::unique_ptr<HistoryWriter>> start(const std::string& path,
                                                                    const HistoryOptions& options,
                                                                    Clock& clock,
                                                                    std::size_t queue_length = 64);
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;
  ~HistoryWriter();

  /// False: the queue is full, or stop() was called; it is counted as dropped. Any thread.
  bool offer(std::shared_ptr<const Snapshot> snapshot);
  bool offer(HistoryEvent event);
  [[nodiscard]] HistoryStatus status() const;
  /// What a person should hear, once each; in English.
  [[nodiscard]] std::vector<std::string> take_notes();
  /// Writes what is queued, and ends the thread. A second time nothing.
  void stop();

 private:
  struct Shared;
  explicit HistoryWriter(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace berth
