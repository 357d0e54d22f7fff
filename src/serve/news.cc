#include "serve/news.h"

#include <algorithm>

#include "base/json_archive.h"

namespace berth::serve {

namespace {

bool has_code(const DeviceHealth& health, const std::string& code) {
  return std::any_of(health.findings.begin(), health.findings.end(),
                     [&](const Finding& one) { return one.rule == code; });
}

template <class T>
void add_missing(const Reading<T>& earlier, Reading<T>& reading) {
  if (!reading.get() && reading.why() == Absent::not_sampled) reading = earlier;
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
    for (const Finding& finding : now.findings) {
      // A device that begins with what is not worth a failure is news enough by itself.
      const bool is_news =
          is_new ? finding.severity == Severity::error : !has_code(*was, finding.rule);
      if (is_news) news.push_back({at, now.device, now.index, finding});
    }
    if (is_new || now.not_examined.size() > was->not_examined.size()) continue;
    for (const Finding& finding : was->findings) {
      if (has_code(now, finding.rule)) continue;
      news.push_back({at, now.device, now.index, finding, /*is_over=*/true});
    }
  }
  return news;
}

namespace {

/// What there is, or that it is over; in English.
std::string text_of(const HealthNews& news) {
  const auto& evidence = news.finding.evidence;
  const std::string text = evidence.empty() ? "" : evidence.front().english();
  return news.is_over ? "it is well again: no more " + text : text;
}

}  // namespace

std::optional<HistoryEvent> event_of(const HealthNews& news) {
  if (news.finding.rule.starts_with("xid_")) return std::nullopt;
  return HistoryEvent{.at = news.at,
                      .kind = news.is_over ? "health_over" : "health",
                      .device = news.device,
                      .code = news.finding.rule,
                      .text = text_of(news),
                      .uid = std::nullopt};
}

std::string to_json(const HealthNews& news) {
  const Finding& finding = news.finding;
  return write_json(JsonLayout::compact, [&](Archive& archive) {
    archive.derived("at_unix_ms", news.at);
    archive.derived("kind", std::string("health"));
    archive.derived("device", news.device);
    archive.derived("index", news.index);
    archive.derived("state", name_of(news.is_over ? HealthState::ok : state_of(finding)));
    archive.derived("code", finding.rule);
    archive.derived("evidence", text_of(news));
    archive.derived("advice", news.is_over ? std::string() : advice_of(finding).english());
  });
}

void add_details(const Snapshot& earlier, Snapshot& snapshot) {
  for (Device& device : snapshot.devices) {
    const auto old = std::ranges::find(earlier.devices, device.id, &Device::id);
    if (old == earlier.devices.end() || device.lost) continue;
    device.details.add_missing(old->details);
    add_missing(old->lists.retired_pages, device.lists.retired_pages);
    add_missing(old->lists.accounted_processes, device.lists.accounted_processes);
    add_missing(old->lists.supported_clocks, device.lists.supported_clocks);
    add_missing(old->lists.nvlinks, device.lists.nvlinks);
  }
}

}  // namespace berth::serve
