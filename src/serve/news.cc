#include "serve/news.h"

#include <algorithm>

#include "base/json_archive.h"

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
  return write_json(JsonLayout::compact, [&](Archive& archive) {
    archive.derived("at_unix_ms", news.at);
    archive.derived("kind", std::string("health"));
    archive.derived("device", news.device);
    archive.derived("index", news.index);
    archive.derived("state", name_of(news.finding.state));
    archive.derived("code", news.finding.code);
    archive.derived("evidence", news.finding.evidence);
    archive.derived("advice", news.finding.advice);
  });
}

}  // namespace berth::serve
