#include "serve/news.h"

#include <algorithm>

#include "serve/api_json.h"

namespace berth::serve {

namespace {

bool has_code(const DeviceHealth& health, const std::string& code) {
  return std::any_of(health.findings.begin(), health.findings.end(),
                     [&](const HealthFinding& one) { return one.code == code; });
}

}  // namespace

std::vector<HealthNews> health_news(const std::vector<DeviceHealth>& before,
                                    const std::vector<DeviceHealth>& after, WallTime at) {
  std::vector<HealthNews> news;
  for (const DeviceHealth& now : after) {
    const auto was = std::ranges::find(before, now.device, &DeviceHealth::device);
    const bool is_new = was == before.end();
    // At the first look everything is new, and nothing has happened.
    if (is_new && before.empty()) continue;
    for (const HealthFinding& finding : now.findings) {
      // A device that begins with what is not worth a failure is news enough by itself.
      const bool is_news =
          is_new ? finding.state == HealthState::failed : !has_code(*was, finding.code);
      if (is_news) news.push_back({at, now.device, now.index, finding});
    }
    if (is_new || now.not_examined.size() > was->not_examined.size()) continue;
    for (const HealthFinding& finding : was->findings) {
      if (has_code(now, finding.code)) continue;
      news.push_back({at,
                      now.device,
                      now.index,
                      {.state = HealthState::ok,
                       .code = finding.code,
                       .evidence = "it is well again: no more " + finding.evidence,
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
