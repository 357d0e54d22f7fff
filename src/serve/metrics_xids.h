#pragma once
// XidTally: how often each device had each XID error, and when last. The kernel log is a ring and
// is read as a whole at each look, so the same error is seen again and again, and one day no more:
// a counter must count it once and never forget it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth::serve {

struct XidCount {
  std::string pci_address;  // as Device::pci_address
  std::uint64_t code = 0;
  std::uint64_t count = 0;
  WallTime last;
  friend bool operator==(const XidCount&, const XidCount&) = default;
};

class XidTally {
 public:
  /// Counts the errors that were not in the list given before. Lists overlap: what one ends with
  /// the next has too, less what the kernel's ring has lost. Absent: nothing is learned.
  void add(const Reading<std::vector<XidEvent>>& events);

  /// By device and code.
  [[nodiscard]] std::span<const XidCount> counts() const { return counts_; }

 private:
  void count(const XidEvent& event);

  std::vector<XidCount> counts_;
  std::vector<XidEvent> seen_;  // the list given last
};

}  // namespace berth::serve
