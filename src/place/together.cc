#include "place/together.h"

#include <algorithm>
#include <compare>

namespace berth {

namespace {

/// Sets are compared by the sum. NVLink is an order of magnitude faster than PCI Express; among
/// those that all have it the shorter way to each other's memory and network cards counts.
int weight_of(LinkKind pcie) {
  switch (pcie) {
    case LinkKind::unknown:
    case LinkKind::self:
    case LinkKind::nvlink:
      return 0;
    case LinkKind::sys:
      return 1;
    case LinkKind::node:
      return 3;
    case LinkKind::phb:
      return 6;
    case LinkKind::pxb:
      return 12;
    case LinkKind::pix:
      return 20;
  }
  return 0;
}

int weight_of(Joint joint) {
  constexpr int per_nvlink = 40;
  if (joint.kind != LinkKind::nvlink) return weight_of(joint.kind);
  return per_nvlink * static_cast<int>(std::min<std::size_t>(joint.nvlinks, 18)) +
         weight_of(joint.pcie);
}

/// What a set is worth: the larger the better. Links inside are compared first. Then fewer ties to
/// all devices mean fewer broken links to those that stay behind.
struct Worth {
  int inside = 0;
  int ties = 0;    // negative
  int places = 0;  // negative
  friend auto operator<=>(const Worth&, const Worth&) = default;
};

/// One set while it is looked for.
class Set {
 public:
  Set(const std::vector<int>& weights, const std::vector<int>& ties)
      : weights_(&weights), ties_(&ties), in_(ties.size(), false), to_set_(ties.size(), 0) {}

  void add(std::size_t one) { change(one, 1); }
  void exchange(std::size_t out, std::size_t in) {
    change(out, -1);
    change(in, 1);
  }
  [[nodiscard]] bool has(std::size_t one) const { return in_[one]; }
  [[nodiscard]] const Worth& worth() const { return worth_; }
  [[nodiscard]] Worth worth_with(std::size_t one) const {
    return {worth_.inside + to_set_[one], worth_.ties - (*ties_)[one],
            worth_.places - static_cast<int>(one)};
  }
  [[nodiscard]] Worth worth_exchanged(std::size_t out, std::size_t in) const {
    const int between = (*weights_)[out * in_.size() + in];
    return {worth_.inside - to_set_[out] + to_set_[in] - between,
            worth_.ties + (*ties_)[out] - (*ties_)[in],
            worth_.places + static_cast<int>(out) - static_cast<int>(in)};
  }
  [[nodiscard]] std::vector<std::size_t> members() const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i]) members.push_back(i);
    }
    return members;
  }

 private:
  void change(std::size_t one, int sign) {
    worth_.inside += sign * to_set_[one];
    worth_.ties -= sign * (*ties_)[one];
    worth_.places -= sign * static_cast<int>(one);
    in_[one] = sign > 0;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      to_set_[i] += sign * (*weights_)[one * in_.size() + i];
    }
  }

  const std::vector<int>* weights_;
  const std::vector<int>* ties_;
  std::vector<bool> in_;
  std::vector<int> to_set_;  // of each one's links to those in the set
  Worth worth_;
};

/// Adds the one that makes it worth the most. False: none is close enough.
bool grow(Set& set, const JointTable& joints, Together together) {
  std::optional<std::size_t> best;
  std::optional<Worth> most;
  const auto members = together == Together::any ? std::vector<std::size_t>() : set.members();
  for (std::size_t i = 0; i < joints.size(); ++i) {
    if (set.has(i)) continue;
    const bool fits = std::ranges::all_of(
        members, [&](std::size_t m) { return is_together(joints.at(i, m), together); });
    if (!fits) continue;
    const Worth worth = set.worth_with(i);
    if (most && worth <= *most) continue;
    most = worth;
    best = i;
  }
  if (best) set.add(*best);
  return best.has_value();
}

/// Exchanges one for one where that makes it better. True: it did.
bool improve(Set& set, std::size_t size) {
  for (std::size_t out = 0; out < size; ++out) {
    if (!set.has(out)) continue;
    for (std::size_t in = 0; in < size; ++in) {
      if (set.has(in) || set.worth_exchanged(out, in) <= set.worth()) continue;
      set.exchange(out, in);
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_together(Joint joint, Together together) {
  switch (together) {
    case Together::any:
      return true;
    case Together::pcie:
      return joint.kind >= LinkKind::phb;
    case Together::nvlink:
      return joint.kind >= LinkKind::nvlink;
  }
  return false;
}

JointTable::JointTable(const std::vector<const Device*>& devices, const std::vector<Device>& all)
    : size_(devices.size()), joints_(size_ * size_) {
  const Addresses addresses = addresses_of(all);
  std::vector<Attachment> attached;
  attached.reserve(size_);
  for (const Device* device : devices) attached.emplace_back(*device, addresses);
  for (std::size_t a = 0; a < size_; ++a) {
    for (std::size_t b = a; b < size_; ++b) {
      joints_[a * size_ + b] = joints_[b * size_ + a] = attached[a].joint_with(attached[b]);
    }
  }
}

bool JointTable::knows_anything() const {
  return std::ranges::any_of(joints_, [](Joint joint) {
    return joint.kind != LinkKind::unknown && joint.kind != LinkKind::self;
  });
}

std::optional<std::vector<std::size_t>> best_set(const JointTable& joints, std::size_t wanted,
                                                 Together together) {
  const std::size_t size = joints.size();
  if (wanted == 0 || wanted > size) return std::nullopt;
  std::vector<int> weights(size * size);
  std::vector<int> ties(size, 0);
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) {
      weights[a * size + b] = weight_of(joints.at(a, b));
      ties[a] += weights[a * size + b];
    }
  }
  std::optional<Set> best;
  for (std::size_t seed = 0; seed < size; ++seed) {
    Set set(weights, ties);
    set.add(seed);
    std::size_t grown = 1;
    while (grown < wanted && grow(set, joints, together)) ++grown;
    if (grown < wanted) continue;
    // Strict sets are not exchanged: each exchange would have to be asked for all pairs again.
    while (together == Together::any && improve(set, size)) {
    }
    if (!best || set.worth() > best->worth()) best = std::move(set);
  }
  if (!best) return std::nullopt;
  return best->members();
}

}  // namespace berth
