#pragma once
// How two devices are joined: by NVLink, or where their ways through PCI Express part.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

/// The closest last, as `nvidia-smi topo -m` has them. SYS is between NUMA nodes, NODE between the
/// host bridges of one. PHB is below one host bridge, PXB over several switches, PIX over one
/// switch.
enum class LinkKind { unknown, sys, node, phb, pxb, pix, nvlink, self };

struct Joint {
  LinkKind kind = LinkKind::unknown;
  std::size_t nvlinks = 0;
  LinkKind pcie = LinkKind::unknown;  // of those joined by NVLink: how they are joined besides
  friend bool operator==(const Joint&, const Joint&) = default;
};
/// "NV4", "PIX", "X"; empty: unknown.
[[nodiscard]] std::string word_of(Joint joint);

/// PCI addresses of the devices, sorted: what is at the other end of a link and not among them is a
/// switch.
using Addresses = std::vector<std::string>;
[[nodiscard]] Addresses addresses_of(const std::vector<Device>& devices);

/// What joints are worked out from, read out of a device once.
class Attachment {
 public:
  Attachment(const Device& device, const Addresses& devices);
  [[nodiscard]] Joint joint_with(const Attachment& other) const;

 private:
  [[nodiscard]] std::size_t nvlinks_with(const Attachment& other) const;
  [[nodiscard]] LinkKind pcie_with(const Attachment& other) const;

  const Device* device_;
  std::vector<std::string> path_;  // host bridge, bridges, the device
  /// What NVLinks that are up go to, sorted, and how many: of the device, which outlives this.
  using Remotes = std::vector<std::pair<std::string_view, std::size_t>>;
  Remotes devices_;
  Remotes switches_;
};

[[nodiscard]] Joint joint_between(const Device& a, const Device& b, const std::vector<Device>& all);

}  // namespace berth
