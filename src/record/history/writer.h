#pragma once
// HistoryWriter: a HistoryStore on a thread of its own, so that a slow, full or dead disk stops
// nobody else. What it cannot take at once is dropped and counted.
//
//   auto writer = HistoryWriter::start(history_path(state, simulated), options, clock);
//   writer->offer(snapshot);                       // after each look; never waits
//   writer->offer(HistoryEvent{…});                // a health finding; never waits
//   for (const std::string& note : writer->take_notes()) log(note);
//   if (writer->status().stage == HistoryStage::failed) …   // say its trouble, go on without
//   if (!writer->stop(seconds(5))) _exit(0);       // the disk does not answer
//
// Its end writes what is queued and waits for that, however long it takes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/reading.h"
#include "record/history/store.h"

namespace berth {

/// `opening`: what is offered waits. `failed`: it could not be opened, and the thread has ended.
enum class HistoryStage { opening, open, failed };

struct HistoryStatus {
  HistoryStage stage = HistoryStage::opening;
  std::uint64_t taken = 0;         // snapshots given to the store
  std::uint64_t dropped = 0;       // snapshots and events that found the queue full
  std::uint64_t lost = 0;          // samples that the disk never took
  std::string trouble;             // why the newest could not be written; empty: all is well
  std::optional<Bytes> disk_used;  // nothing: it is not open
  Reading<Bytes> disk_free = Absent::not_sampled;  // of its file system, to this user
};

class HistoryWriter {
 public:
  /// The thread opens the store, too: a disk that hangs then hangs nobody who starts. `clock`
  /// outlives it and is used by that thread. `past`: of a simulated server, for what nobody looked
  /// at (HistoryStore::fill_past); empty: of any other.
  [[nodiscard]] static std::unique_ptr<HistoryWriter> start(const std::string& path,
                                                            const HistoryOptions& options,
                                                            Clock& clock,
                                                            std::size_t queue_length = 64,
                                                            HistoryStore::Past past = {});
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;
  ~HistoryWriter();

  /// False: the queue is full, or stop() was called; it is counted as dropped. Any thread.
  bool offer(std::shared_ptr<const Snapshot> snapshot);
  bool offer(HistoryEvent event);
  /// A reader met damage: the whole file is looked through and, if it is so, set aside.
  void verify();
  [[nodiscard]] HistoryStatus status() const;
  /// What a person should hear, once each; in English.
  [[nodiscard]] std::vector<std::string> take_notes();
  /// Until it is open or could not be opened, at most so long.
  void wait_until_open(Duration patience) const;
  /// Nothing more is taken; what is queued is written. Does not wait.
  void end();
  /// end(), and waits for that at most so long. False: the disk takes longer, and the thread still
  /// uses what it was given. Then the process has to end without it.
  [[nodiscard]] bool stop(Duration patience);

 private:
  struct Shared;
  explicit HistoryWriter(std::unique_ptr<Shared> shared);
  std::unique_ptr<Shared> shared_;
};

}  // namespace berth
