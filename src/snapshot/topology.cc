#include "snapshot/topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "snapshot/details.h"

namespace berth {

std::string word_of(Joint joint) {
  switch (joint.kind) {
    case LinkKind::unknown:
      return {};
    case LinkKind::sys:
      return "SYS";
    case LinkKind::node:
      return "NODE";
    case LinkKind::phb:
      return "PHB";
    case LinkKind::pxb:
      return "PXB";
    case LinkKind::pix:
      return "PIX";
    case LinkKind::nvlink:
      return fmt::format("NV{}", joint.nvlinks);
    case LinkKind::self:
      return "X";
  }
  return {};
}

namespace {
void count_in(std::vector<std::pair<std::string_view, std::size_t>>& remotes,
              std::string_view remote) {
  const auto at =
      std::ranges::lower_bound(remotes, remote, {}, [](const auto& one) { return one.first; });
  if (at != remotes.end() && at->first == remote) {
    ++at->second;
  } else {
    remotes.insert(at, {remote, 1});
  }
}
}  // namespace

Addresses addresses_of(const std::vector<Device>& devices) {
  Addresses addresses;
  for (const Device& device : devices) {
    if (device.pci_address.get()) addresses.push_back(*device.pci_address.get());
  }
  std::ranges::sort(addresses);
  return addresses;
}

Attachment::Attachment(const Device& device, const Addresses& devices) : device_(&device) {
  // "pci0000:00/0000:00:01.0/0000:01:00.0"
  const auto path = device.details.get<std::string>(Detail::pci_path);
  if (path.get()) {
    for (const std::string_view part : split(*path.get(), '/')) path_.emplace_back(part);
  }
  const auto& links = device.lists.nvlinks.get();
  if (!links) return;
  for (const NvLink& link : *links) {
    const auto& remote = link.remote.get();
    if (!remote || remote->empty() || !link.active.get().value_or(false)) continue;
    count_in(std::ranges::binary_search(devices, *remote) ? devices_ : switches_, *remote);
  }
}

Joint Attachment::joint_with(const Attachment& other) const {
  if (device_->id == other.device_->id) return {.kind = LinkKind::self};
  const LinkKind pcie = pcie_with(other);
  const std::size_t links = nvlinks_with(other);
  if (links > 0) return {.kind = LinkKind::nvlink, .nvlinks = links, .pcie = pcie};
  return {.kind = pcie};
}

/// Straight, or through switches that both are connected to.
std::size_t Attachment::nvlinks_with(const Attachment& other) const {
  const auto& address = other.device_->pci_address.get();
  std::size_t straight = 0;
  for (const auto& [remote, count] : devices_)
    straight += address && remote == *address ? count : 0;
  if (straight > 0) return straight;
  std::size_t through = 0;
  auto theirs = other.switches_.begin();
  for (const auto& [remote, count] : switches_) {
    while (theirs != other.switches_.end() && theirs->first < remote) ++theirs;
    if (theirs != other.switches_.end() && theirs->first == remote) through += count;
  }
  return through;
}

LinkKind Attachment::pcie_with(const Attachment& other) const {
  const auto& a = path_;
  const auto& b = other.path_;
  const bool is_one_node = device_->numa_node == other.device_->numa_node;
  if (a.size() < 2 || b.size() < 2) {
    if (!device_->numa_node.get() || !other.device_->numa_node.get()) return LinkKind::unknown;
    return is_one_node ? LinkKind::node : LinkKind::sys;  // or closer: the way was not read
  }
  const auto parting = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  const auto common = static_cast<std::size_t>(parting - a.begin());
  if (common == 0) return is_one_node ? LinkKind::node : LinkKind::sys;
  if (common == 1) return LinkKind::phb;
  // Below the bridge they share there is the port of a switch for each, then the device itself.
  const bool is_one_switch = std::max(a.size(), b.size()) - common <= 2;
  return is_one_switch ? LinkKind::pix : LinkKind::pxb;
}

Joint joint_between(const Device& a, const Device& b, const std::vector<Device>& all) {
  const Addresses addresses = addresses_of(all);
  return Attachment(a, addresses).joint_with(Attachment(b, addresses));
}

}  // namespace berth
