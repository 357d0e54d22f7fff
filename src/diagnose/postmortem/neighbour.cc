#include "diagnose/postmortem/neighbour.h"

#include <algorithm>
#include <utility>

namespace berth {

/// Nothing: what is in use is not known, or not what one of the run's processes holds of it.
std::optional<NeighbourWatch::NeighbourLook> NeighbourWatch::look_at(std::size_t device,
                                                                     const Sample& sample,
                                                                     std::set<pid_t>& own) {
  const Reading<Bytes>& used = sample.devices[device].memory_used;
  if (!used.get()) return std::nullopt;
  Bytes held{0};
  for (const ProcessSample& one : sample.processes) {
    if (one.device != device) continue;
    if (!one.memory.get()) return std::nullopt;
    held += *one.memory.get();
    own.insert(one.pid);
  }
  NeighbourLook look{
      .at = sample.at, .others = minus(*used.get(), held).value_or(Bytes(0)), .used = *used.get()};
  for (const OthersSample& one : sample.others) {
    if (one.device == device && one.memory.get()) look.users[one.user] += *one.memory.get();
  }
  return look;
}

void NeighbourWatch::add_look(NeighbourLook look, std::set<pid_t> own, WatchedNeighbour& watched) {
  // A process that has just come holds memory that the driver does not list as its own yet. One
  // that is just ending holds memory that is not listed any more.
  const bool is_steady = !own.empty() && own == watched.own;
  watched.own = std::move(own);
  if (watched.first.size() < looks) {
    watched.first.push_back(std::move(look));
    return;
  }
  if (!is_steady) return;
  watched.last.push_back(std::move(look));
  if (watched.last.size() > looks) watched.last.erase(watched.last.begin());
}

void NeighbourWatch::add(const Sample& sample) {
  if (devices_.size() < sample.devices.size()) devices_.resize(sample.devices.size());
  for (std::size_t device = 0; device < sample.devices.size(); ++device) {
    std::set<pid_t> own;
    auto look = look_at(device, sample, own);
    if (look) add_look(*std::move(look), std::move(own), devices_[device]);
  }
}

std::vector<NeighbourGrowth> NeighbourWatch::growths() const {
  std::vector<NeighbourGrowth> growths;
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    const WatchedNeighbour& watched = devices_[device];
    if (watched.first.size() < looks || watched.last.size() < looks) continue;
    const auto before = std::ranges::max_element(watched.first, {}, &NeighbourLook::others);
    const auto last = std::ranges::min_element(watched.last, {}, &NeighbourLook::others);
    if (last->others.count() <= before->others.count()) continue;
    NeighbourGrowth growth{.device = device,
                           .before = before->others,
                           .last = last->others,
                           .used_last = watched.last.back().used,
                           .seen_last = watched.last.back().at};
    for (const auto& [name, held] : last->users) {
      const auto had = before->users.find(name);
      growth.users.push_back({name, had == before->users.end() ? Bytes(0) : had->second, held});
    }
    growths.push_back(std::move(growth));
  }
  return growths;
}

}  // namespace berth
