#include "serve/news.h"

#include <algorithm>
#include <map>

#include "health/health.h"
#include "serve/api_json.h"

namespace berth::serve {

namespace {

bool has_code(const DeviceHealth& health, const std::string& code) {
  return std::any_of(health.findings.begin(), health.findings.end(),
                     [&](const HealthFinding& one) { return one.code == code; });
}

std::string line_of(const Snapshot& snapshot, const DeviceHealth& health,
                    const HealthFinding& finding) {
  return dumped({{"at_unix_ms", snapshot.taken.unix_ms},
                 {"kind", "health"},
                 {"device", health.device.text()},
                 {"index", json_or_null(health.index)},
                 {"state", name_of(finding.state)},
                 {"code", finding.code},
                 {"evidence", finding.evidence},
                 {"advice", finding.advice}});
}

}  // namespace

std::vector<std::string> health_news(const Snapshot& before, const Snapshot& after) {
  std::map<DeviceId, DeviceHealth> old;
  for (DeviceHealth& one : health_of(before)) old[one.device] = std::move(one);
  std::vector<std::string> lines;
  for (const DeviceHealth& now : health_of(after)) {
    const auto was = old.find(now.device);
    if (was == old.end()) continue;  // a new device is news enough
    for (const HealthFinding& finding : now.findings) {
      if (!has_code(was->second, finding.code)) lines.push_back(line_of(after, now, finding));
    }
    if (now.findings.empty() && !was->second.findings.empty()) {
      lines.push_back(line_of(after, now,
                              {.state = HealthState::ok,
                               .code = was->second.findings.front().code,
                               .evidence = "it is well again",
                               .advice = {}}));
    }
  }
  return lines;
}

}  // namespace berth::serve
