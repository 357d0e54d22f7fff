// The other servers that are shown beside this one.

#include "serve/api_json.h"
#include "serve/fleet.h"

namespace berth::serve {

HttpResponse answer_hosts(const Question& question) {
  const RequestContext& context = question.context;
  const bool names_seen = access_level(question.principal, std::nullopt, context.policy,
                                       *context.book) >= AccessLevel::names;
  std::vector<HostReport> hosts;
  if (context.fleet) {
    for (const FleetView::Host& host : context.fleet->hosts) hosts.push_back(*host.report);
  }
  for (HostReport& host : hosts) {
    if (!question.principal.admin) host.why = without_private_paths(host.why);
    if (names_seen || !host.seen) continue;
    for (HostDevice& device : host.seen->devices) device.users.clear();
  }
  return page_of(
      question, "hosts", hosts, [](const HostReport& host) { return host.name; },
      [](Archive& archive, HostReport host) { walk(archive, host); });
}

}  // namespace berth::serve
