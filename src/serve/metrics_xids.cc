#include "serve/metrics_xids.h"

#include <algorithm>
#include <tuple>

namespace berth::serve {

namespace {

/// Whether two lines of the log are one. Their dates say nothing: each look reckons them anew from
/// the uptime in whole seconds, and somebody may set the clock.
bool is_same(const XidEvent& a, const XidEvent& b) {
  return a.code == b.code && a.pci_address == b.pci_address && a.pid == b.pid &&
         a.process == b.process && a.text == b.text;
}

/// Whether `newer` begins with what `older` has from `from` on: the same lines, as far apart.
bool continues(const std::vector<XidEvent>& older, std::size_t from,
               const std::vector<XidEvent>& newer) {
  const std::size_t shared = older.size() - from;
  if (shared > newer.size()) return false;
  for (std::size_t i = 0; i < shared; ++i) {
    const std::int64_t then = older[from + i].at.unix_ms - older[from].at.unix_ms;
    const std::int64_t now = newer[i].at.unix_ms - newer[0].at.unix_ms;
    if (!is_same(older[from + i], newer[i]) || then != now) return false;
  }
  return true;
}

}  // namespace

void XidTally::add(const Reading<std::vector<XidEvent>>& events) {
  if (!events.get()) return;
  const std::vector<XidEvent>& now = *events.get();
  std::size_t lost = 0;  // of the older list, by the ring
  while (lost < seen_.size() && !continues(seen_, lost, now)) ++lost;
  for (std::size_t i = seen_.size() - lost; i < now.size(); ++i) count(now[i]);
  seen_ = now;
}

void XidTally::count(const XidEvent& event) {
  const auto key = [](const XidCount& one) { return std::tie(one.pci_address, one.code); };
  const XidCount wanted{.pci_address = event.pci_address, .code = event.code};
  auto found = std::ranges::lower_bound(counts_, key(wanted), {}, key);
  if (found == counts_.end() || key(*found) != key(wanted)) found = counts_.insert(found, wanted);
  ++found->count;
  found->last = std::max(found->last, event.at);
}

}  // namespace berth::serve
