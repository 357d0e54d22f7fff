#include "run/driver_watch.h"

#include <fmt/format.h>

#include "snapshot/device_name.h"
#include "snapshot/questions.h"

namespace berth {

std::vector<DriverNews> DriverWatch::news(const Snapshot& look) {
  std::vector<DriverNews> news;
  const auto& before = given_.host.driver_version.get();
  const auto& now = look.host.driver_version.get();
  if (before && now && *before != *now && !told_change_ && !given_.devices.empty()) {
    told_change_ = true;
    news.push_back(
        {"driver_changed",
         fmt::format("the driver was {} when the run began and is {} now", *before, *now)});
  }
  add_returns(look, news);
  return news;
}

void DriverWatch::add_returns(const Snapshot& look, std::vector<DriverNews>& news) {
  for (const Device& given : given_.devices) {
    const Device* seen = find_device(given.id, look);
    // One that is not in the look at all may be hidden for other reasons: that proves nothing.
    if (seen == nullptr) continue;
    if (seen->lost) {
      lost_.insert(given.id);
    } else if (seen->memory_used.get() && lost_.contains(given.id) &&
               returned_.insert(given.id).second) {
      news.push_back(
          {"gpu_back", fmt::format("{}: it was lost and answers again", name_for_people(given))});
    }
  }
}

}  // namespace berth
