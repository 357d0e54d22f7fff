#include "snapshot/holders.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth {

namespace {

template <class Holder>
void add(const HolderNames& names, std::vector<Holder>& to, std::vector<Holder> from) {
  for (Holder& holder : from) {
    if (holder.user != std::to_string(holder.uid)) continue;
    if (auto name = names.name_of(holder.uid)) holder.user = *std::move(name);
  }
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void HolderNames::learn(const Snapshot& snapshot) {
  ++look_;
  if (snapshot.simulated) return;  // its people are made up, its lease holders are not
  for (const HostProcess& process : snapshot.processes) {
    const auto& uid = process.uid.get();
    const auto& name = process.user.get();
    if (!uid || !name || *name == std::to_string(*uid)) continue;
    known_[*uid] = {.name = *name, .seen = look_};
  }
  while (known_.size() > most) {
    known_.erase(std::ranges::min_element(known_, {},
                                          [](const auto& person) { return person.second.seen; }));
  }
}

std::optional<std::string> HolderNames::name_of(uid_t uid) const {
  const auto found = known_.find(uid);
  return found == known_.end() ? std::nullopt : std::optional(found->second.name);
}

void add_holders(Snapshot& snapshot, std::vector<Claim> claims, std::vector<Waiter> waiters,
                 HolderNames& names) {
  names.learn(snapshot);
  add(names, snapshot.claims, std::move(claims));
  add(names, snapshot.waiters, std::move(waiters));
}

}  // namespace berth
