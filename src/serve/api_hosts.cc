// The other servers that are shown beside this one.

#include "serve/api_json.h"
#include "serve/room.h"

namespace berth::serve {

Response answer_hosts(const Question& question) {
  const World& world = question.world;
  const bool names_seen =
      insight(question.asker, std::nullopt, world.policy, *world.book) >= Insight::names;
  Json hosts = Json::array();
  if (world.room) {
    for (const RoomView::Host& host : world.room->hosts) {
      HostReport shown = *host.report;
      if (!question.asker.admin) shown.why = without_private_paths(shown.why);
      hosts.push_back(host_json(shown, names_seen ? UserNames::shown : UserNames::hidden));
    }
  }
  return page_of(question, "hosts", std::move(hosts), "name");
}

}  // namespace berth::serve
