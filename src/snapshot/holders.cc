#include "snapshot/holders.h"

#include <iterator>
#include <string>
#include <utility>

namespace berth {

namespace {

void give_name(const Snapshot& snapshot, uid_t uid, std::string& user) {
  const std::string number = std::to_string(uid);
  if (user != number) return;
  for (const HostProcess& process : snapshot.processes) {
    const auto& name = process.user.get();
    if (process.uid.get() != uid || !name || *name == number) continue;
    user = *name;
    return;
  }
}

template <class Holder>
void add(const Snapshot& snapshot, std::vector<Holder>& to, std::vector<Holder> from) {
  for (Holder& holder : from) give_name(snapshot, holder.uid, holder.user);
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void add_holders(Snapshot& snapshot, std::vector<Claim> claims, std::vector<Waiter> waiters) {
  add(snapshot, snapshot.claims, std::move(claims));
  add(snapshot, snapshot.waiters, std::move(waiters));
}

}  // namespace berth
