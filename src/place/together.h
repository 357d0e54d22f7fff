#pragma once
// Which of several devices belong together: the set with the best links, leaving the best sets
// whole for others.

#include <cstddef>
#include <optional>
#include <vector>

#include "place/request.h"
#include "snapshot/device.h"
#include "snapshot/topology.h"

namespace berth {

/// Whether a pair is as close as that asks for.
[[nodiscard]] bool is_together(Joint joint, Together together);

/// How devices are joined, each pair.
class JointTable {
 public:
  /// `all` of the machine, as those to which links go are told from switches.
  JointTable(const std::vector<const Device*>& devices, const std::vector<Device>& all);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Joint at(std::size_t a, std::size_t b) const { return joints_[a * size_ + b]; }
  /// False: no pair is known.
  [[nodiscard]] bool knows_anything() const;

 private:
  std::size_t size_;
  std::vector<Joint> joints_;
};

/// `wanted` of the devices, by their places in the table, ascending; nothing: no set is as close as
/// that. The set with the best links. Of equals, the one that breaks the fewest links to devices
/// that stay behind. Of equals again the first: candidates stand in order of preference. A set is
/// grown from each device and improved by single exchanges: exact where links form a tree, as PCI
/// Express does.
[[nodiscard]] std::optional<std::vector<std::size_t>> best_set(const JointTable& joints,
                                                               std::size_t wanted,
                                                               Together together);

}  // namespace berth
