#include "probe/xid_memory.h"

#include <algorithm>
#include <cstddef>

namespace berth {

namespace {

constexpr std::int64_t slack_ms = 2000;
/// A device that reports errors all day must not cost the server its memory: the oldest go.
constexpr std::size_t most_kept = 1000;

template <class T>
void forget_oldest(std::vector<T>& list) {
  if (list.size() <= most_kept) return;
  list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(most_kept));
}

}  // namespace

void XidMemory::add_told(const Reading<std::vector<XidEvent>>& events, WallTime now) {
  if (!events.get()) {
    why_not_told_ = events.why();
    return;
  }
  const WallTime earliest = asked_events_ ? fetched_ : now;
  asked_events_ = true;
  fetched_ = now;
  for (const XidEvent& event : *events.get()) {
    told_.push_back({event, std::min(earliest, now)});
    told_.back().event.number = ++last_number_;
  }
  forget_oldest(told_);
}

void XidMemory::add_logged(const Reading<std::vector<XidEvent>>& events) {
  if (!events.get()) {
    why_not_logged_ = events.why();
    return;
  }
  asked_log_ = true;
  for (const XidEvent& event : *events.get()) {
    logged_.push_back(event);
    logged_.back().number = ++last_number_;
  }
  forget_oldest(logged_);
}

Reading<std::vector<XidEvent>> XidMemory::all() const {
  if (!asked_log_ && !asked_events_) {
    return why_not_logged_ == Absent::not_sampled ? why_not_told_ : why_not_logged_;
  }
  std::vector<XidEvent> all = logged_;
  std::vector<bool> is_matched(logged_.size(), false);
  for (const auto& [event, earliest] : told_) {
    std::size_t same = 0;
    const auto is_it = [&](const XidEvent& line) {
      return line.pci_address == event.pci_address && line.code == event.code &&
             line.at.unix_ms >= earliest.unix_ms - slack_ms &&
             line.at.unix_ms <= event.at.unix_ms + slack_ms;
    };
    while (same < logged_.size() && (is_matched[same] || !is_it(logged_[same]))) ++same;
    if (same < logged_.size()) {
      is_matched[same] = true;
      all[same].number = std::min(all[same].number, event.number);  // that it was first told by
    } else {
      all.push_back(event);
    }
  }
  std::ranges::stable_sort(all, {}, [](const XidEvent& event) { return event.at.unix_ms; });
  return all;
}

}  // namespace berth
