// The other servers that are shown beside this one.

#include "serve/api_json.h"
#include "serve/room.h"

namespace berth::serve {

Response answer_hosts(const Question& question) {
  const World& world = question.world;
  const bool names_seen =
      insight(question.asker, std::nullopt, world.policy, *world.book) >= Insight::names;
  std::vector<HostReport> hosts;
  if (world.room) {
    for (const RoomView::Host& host : world.room->hosts) hosts.push_back(*host.report);
  }
  for (HostReport& host : hosts) {
    if (!question.asker.admin) host.why = without_private_paths(host.why);
    if (names_seen || !host.seen) continue;
    for (HostDevice& device : host.seen->devices) device.users.clear();
  }
  return page_of(
      question, "hosts", hosts, [](const HostReport& host) { return host.name; },
      [](Archive& archive, HostReport host) { walk(archive, host); });
}

}  // namespace berth::serve
