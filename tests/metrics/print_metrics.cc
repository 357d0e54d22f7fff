// print_metrics PROFILES [openmetrics] [processes]. Reads snapshots from stdin, one line of JSON
// each (`berth status --json`, or a recording). Prints the page that a scraper would get after the
// last of them, with a window over all of them.

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "serve/metrics.h"
#include "snapshot/json.h"

namespace {

int refuse(const std::string& why) {
  std::cerr << "print_metrics: " << why << "\n";
  return 2;
}

}  // namespace

int main(int count, char** words) {
  using namespace berth;
  using namespace berth::serve;
  const auto profiles = profiles_from(count > 1 ? words[1] : "berth");
  if (!profiles) return refuse(profiles.error().message());
  MetricsOptions options{.profiles = *profiles};
  MetricsFormat format = MetricsFormat::text_0_0_4;
  for (int i = 2; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "openmetrics") format = MetricsFormat::openmetrics_1_0;
    if (word == "processes") options.per_process = true;
  }
  std::optional<Snapshot> newest;
  WindowKeeper window;
  XidTally xids;
  std::uint64_t looks = 0;
  for (std::string line; std::getline(std::cin, line);) {
    auto snapshot = snapshot_from_json(line);
    if (!snapshot) return refuse(snapshot.error().message());
    newest = std::move(*snapshot);
    window.add(*newest, Instant(std::chrono::milliseconds(newest->taken.unix_ms)));
    xids.add(newest->xids);
    ++looks;
  }
  if (!newest) return refuse("no snapshot on stdin");
  const Scrape scrape{.snapshot = *newest,
                      .age = std::chrono::milliseconds(250),
                      .interval = std::chrono::seconds(1),
                      .look_duration = std::chrono::milliseconds(12),
                      .daemon = {.looks = looks,
                                 .requests = 1,
                                 .cpu_time = std::chrono::milliseconds(70),
                                 .resident = Bytes{9 << 20},
                                 .started = newest->taken},
                      .history = HistoryFigures{.used = Bytes{1 << 20},
                                                .limit = Bytes{1 << 30},
                                                .disk_free = Bytes{std::uint64_t{50} << 30}},
                      .window = &window.statistics(),
                      .xids = xids.counts(),
                      .version = "0.1.0"};
  const std::string page = metrics_page(scrape, options, format);
  std::cout << page;
  return std::cout.good() ? 0 : 1;
}
