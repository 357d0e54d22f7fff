#pragma once
// MemoryWatch: the watchdog behind every tier. Once a second it is told the use of each device by
// the run's processes. It is also told who has what the run was promised. It answers what is to be
// said of that. Pure: it reads nothing, and judges by this second's readings alone.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/note.h"
#include "base/reading.h"
#include "base/sentence.h"
#include "base/units.h"
#include "snapshot/questions.h"

namespace berth {

/// The driver and a program count a context a little differently. So a run is over its share only
/// above this much of it.
inline constexpr double cap_tolerance = 1.05;
/// Above its share in so many looks running, it is over it. A peak between two looks is not seen.
inline constexpr int looks_until_told = 3;
/// A run that is over, back below and over again is told only after this time.
inline constexpr Duration told_again_after = std::chrono::minutes(1);

/// One device of the run.
struct WatchedShare {
  std::string device;        // "GPU 2"
  std::optional<Bytes> cap;  // nothing: whole, or nothing is to hold it
};

/// The same device, this second.
struct WatchedMemory {
  /// Use by all the run's processes there. not_sampled: the device was not heard this time.
  Reading<Bytes> own;
  /// Why there is none, in English, where the reading's own reason does not say it.
  std::string_view unread_because = {};
  PromisesTaken taken = {};
};

/// The kind of the note that the run is over its share: what --cap-action says is due.
inline constexpr std::string_view memory_over_cap = "memory_over_cap";

class MemoryWatch {
 public:
  enum class Figures { measured, simulated };
  MemoryWatch(std::vector<WatchedShare> shares, Figures figures);

  /// `seen`: of each share, in their order.
  [[nodiscard]] std::vector<Note> news(const std::vector<WatchedMemory>& seen, Instant now);

 private:
  /// A state that is told once it has lasted for some looks.
  struct Trouble {
    int looks = 0;
    bool told = false;
    std::optional<Instant> told_at = {};
    [[nodiscard]] bool is_news(bool there, Instant now);
  };
  struct ShareState {
    WatchedShare share;
    Trouble over;
    Trouble taken;
    int unread = 0;
    bool told_unread = false;
  };
  void add_own(ShareState& one, const WatchedMemory& seen, Instant now,
               std::vector<Note>& news) const;
  void add_taken(ShareState& one, const PromisesTaken& taken, Instant now,
                 std::vector<Note>& news) const;
  [[nodiscard]] Sentence said(Sentence text) const;

  std::vector<ShareState> watched_;
  Figures figures_;
};

}  // namespace berth
