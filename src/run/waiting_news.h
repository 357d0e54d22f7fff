#pragma once
// Tells a waiter news: whenever something changes, and not too often.

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "run/acquire.h"

namespace berth {

/// Two pieces of news differ if these do.
struct NewsKey {
  int position = 0;
  std::vector<std::tuple<DeviceId, Rule, std::vector<std::string>>> reasons;  // with holders
  friend bool operator==(const NewsKey&, const NewsKey&) = default;
};

class NewsTeller {
 public:
  /// `news` without its placement and its snapshot, which are copied where it is told alone.
  void tell(const AcquireOptions& options, Instant now, WaitingNews news,
            const Placement& placement, const Snapshot& snapshot);

 private:
  NewsKey told_;
  std::optional<Instant> last_;
};

}  // namespace berth
