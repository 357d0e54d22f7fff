#include "app/serve_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

namespace berth {

namespace {

std::optional<Duration> own_cpu_time() {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return std::nullopt;
  const auto span = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return std::chrono::duration_cast<Duration>(span(used.ru_utime) + span(used.ru_stime));
}

/// The second number of /proc/self/statm, in pages.
std::optional<Bytes> resident() {
  const auto text = read_file("/proc/self/statm");
  if (!text) return std::nullopt;
  const auto words = split(*text, ' ');
  const auto pages = words.size() > 1 ? parse_unsigned(words[1]) : std::nullopt;
  const long page = ::sysconf(_SC_PAGESIZE);
  if (!pages || page <= 0) return std::nullopt;
  return Bytes(*pages * static_cast<std::uint64_t>(page));
}

std::vector<serve::JoinFigures> join_figures(const serve::RoomView* room, Instant now) {
  std::vector<serve::JoinFigures> figures;
  if (room == nullptr) return figures;
  for (const serve::RoomView::Host& host : room->hosts) {
    figures.push_back({.host = host.report->name, .is_up = host.is_up, .age = {}});
    if (host.answered_ever) figures.back().age = now - host.answered;
  }
  return figures;
}

}  // namespace

void ServeMetrics::seen(const Snapshot& snapshot, Duration took, bool failed) {
  looked_ = clock_.now();
  look_took_ = took;
  ++daemon_.looks;
  if (failed) ++daemon_.looks_failed;
  window_.add(snapshot, looked_);
  xids_.add(snapshot.xids);
}

void ServeMetrics::set_history(std::optional<serve::HistoryFigures> history, std::uint64_t lost) {
  history_ = std::move(history);
  daemon_.samples_lost = lost;
}

std::optional<serve::MetricsText> ServeMetrics::page(const Snapshot& seen,
                                                     const serve::MetricsQuestion& question) {
  serve::MetricsOptions options = options_;
  if (!question.profiles.empty()) {
    auto asked = serve::profiles_from(question.profiles);
    if (!asked) return std::nullopt;
    options.profiles = std::move(*asked);
  }
  serve::DaemonFigures daemon = daemon_;
  daemon.cpu_time = own_cpu_time();
  daemon.resident = resident();
  daemon.started = started_;
  const auto joined = join_figures(room_.get(), clock_.now());
  const serve::Scrape scrape{.snapshot = seen,
                             .age = clock_.now() - looked_,
                             .interval = interval_,
                             .look_duration = look_took_,
                             .daemon = daemon,
                             .history = history_,
                             .alerts = alerts_ ? &*alerts_ : nullptr,
                             .window = &window_.statistics(),
                             .xids = xids_.counts(),
                             .joined = joined,
                             .version = BERTH_VERSION};
  const auto format = serve::negotiated(question.accept);
  // The last page's memory, once that page has been sent.
  if (last_page_.use_count() != 1) last_page_ = std::make_shared<std::string>();
  *last_page_ = metrics_page(scrape, options, format, std::move(*last_page_));
  return serve::MetricsText{.type = std::string(content_type(format)), .body = last_page_};
}

}  // namespace berth
