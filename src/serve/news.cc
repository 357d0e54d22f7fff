#include "serve/news.h"

#include <algorithm>
#include <map>

#include "serve/api_json.h"

namespace berth::serve {

namespace {

bool has_code(const DeviceHealth& health, const std::string& code) {
  return std::any_of(health.findings.begin(), health.findings.end(),
                     [&](const HealthFinding& one) { return one.code == code; });
}

}  // namespace

std::vector<HealthNews> health_news(const Snapshot& before, const Snapshot& after) {
  std::map<DeviceId, DeviceHealth> old;
  for (DeviceHealth& one : health_of(before)) old[one.device] = std::move(one);
  std::vector<HealthNews> news;
  for (const DeviceHealth& now : health_of(after)) {
    const auto was = old.find(now.device);
    if (was == old.end()) continue;  // a new device is news enough
    for (const HealthFinding& finding : now.findings) {
      if (has_code(was->second, finding.code)) continue;
      news.push_back({after.taken, now.device, now.index, finding});
    }
    if (now.findings.empty() && !was->second.findings.empty()) {
      news.push_back({after.taken,
                      now.device,
                      now.index,
                      {.state = HealthState::ok,
                       .code = was->second.findings.front().code,
                       .evidence = "it is well again",
                       .advice = {}}});
    }
  }
  return news;
}

std::string to_json(const HealthNews& news) {
  return dumped({{"at_unix_ms", news.at.unix_ms},
                 {"kind", "health"},
                 {"device", news.device.text()},
                 {"index", json_or_null(news.index)},
                 {"state", name_of(news.finding.state)},
                 {"code", news.finding.code},
                 {"evidence", news.finding.evidence},
                 {"advice", news.finding.advice}});
}

}  // namespace berth::serve
