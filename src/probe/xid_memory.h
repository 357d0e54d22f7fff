#pragma once
// XidMemory: the errors that were heard of since somebody began to look, from the kernel log and
// from NVML's events. Most are told by both; each is kept once, and has its number.

#include <vector>

#include "base/reading.h"
#include "snapshot/snapshot.h"

namespace berth {

class XidMemory {
 public:
  /// By the driver's events, fetched `now`: they happened since the fetch before.
  void add_told(const Reading<std::vector<XidEvent>>& events, WallTime now);
  /// From the kernel log: what is new in it.
  void add_logged(const Reading<std::vector<XidEvent>>& events);

  /// In the order of their times. An event is left out where the log has the same error of that
  /// device within 2 s. The log also names the process.
  ///
  /// Absent  neither source could be asked: as the log is, or as the events are where nobody asked
  ///         for the log.
  [[nodiscard]] Reading<std::vector<XidEvent>> all() const;

 private:
  struct Told {
    XidEvent event;
    WallTime earliest;
  };
  std::vector<Told> told_;
  std::vector<XidEvent> logged_;
  Absent why_not_told_ = Absent::not_sampled;
  Absent why_not_logged_ = Absent::not_sampled;
  bool asked_events_ = false;
  bool asked_log_ = false;
  WallTime fetched_;
  std::uint64_t last_number_ = 0;
};

}  // namespace berth
