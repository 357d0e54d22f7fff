#include "serve/metrics_keeper.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"

namespace berth::serve {

namespace {

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

std::vector<JoinFigures> join_figures(const FleetView* fleet, Instant now) {
  std::vector<JoinFigures> figures;
  if (fleet == nullptr) return figures;
  for (const FleetView::Host& host : fleet->hosts) {
    figures.push_back({.host = host.report->name, .is_up = host.is_up});
    if (host.answered) figures.back().age = now - *host.answered;
  }
  return figures;
}

}  // namespace

void MetricsKeeper::seen(const Snapshot& snapshot, Duration took, bool failed) {
  looked_ = clock_.now();
  look_took_ = took;
  ++daemon_.looks;
  if (failed) ++daemon_.looks_failed;
  window_.add(snapshot, looked_);
  xids_.add(snapshot.xids);
  for (KeptPage& page : kept_) page.seen.reset();
}

void MetricsKeeper::set_history(std::optional<HistoryFigures> history, std::uint64_t lost) {
  history_ = history;
  daemon_.samples_lost = lost;
}

MetricsKeeper::KeptPage& MetricsKeeper::page_of_look(const std::shared_ptr<const Snapshot>& seen,
                                                     const Scrape& scrape,
                                                     const MetricsOptions& options,
                                                     MetricsFormat format) {
  const auto had = std::ranges::find_if(kept_, [&](const KeptPage& page) {
    return page.seen == seen && page.profiles == options.profiles && page.format == format;
  });
  if (had != kept_.end()) return *had;
  auto place = std::ranges::find(kept_, nullptr, &KeptPage::seen);
  if (place == kept_.end() && kept_.size() == most_kept) place = kept_.begin();
  if (place == kept_.end()) place = kept_.insert(place, KeptPage{});
  std::string room = place->text.use_count() == 1 ? std::move(*place->text) : std::string();
  std::string text = metrics_of_look(scrape, options, format, std::move(room));
  const std::size_t size = text.size();
  *place = {.seen = seen,
            .profiles = options.profiles,
            .format = format,
            .text = std::make_shared<std::string>(std::move(text)),
            .of_look = size};
  return *place;
}

void MetricsKeeper::tell_cost(DaemonFigures& daemon) {
  daemon.cpu_time = process_cpu_time(::getpid());
  daemon.resident = resident();
  if (!daemon.cpu_time) return;
  *daemon.cpu_time += children_cpu_time();
  if (const auto used = probe_ ? process_cpu_time(*probe_) : std::nullopt)
    *daemon.cpu_time += *used;
  if (const auto probe = probe_ ? read_process_stat(*probe_, "/proc") : std::nullopt) {
    const auto page = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
    if (daemon.resident) {
      daemon.resident = Bytes(daemon.resident->count() + probe->resident_pages * page);
    }
  }
  // One that was killed counts again once it has been waited for.
  daemon.cpu_time = most_cpu_ = std::max(most_cpu_, *daemon.cpu_time);
}

std::optional<MetricsText> MetricsKeeper::page(const std::shared_ptr<const Snapshot>& seen,
                                               const MetricsQuestion& question) {
  MetricsOptions options = options_;
  if (!question.profiles.empty()) {
    auto asked = profiles_from(question.profiles);
    if (!asked) return std::nullopt;
    options.profiles = std::move(*asked);
  }
  DaemonFigures daemon = daemon_;
  tell_cost(daemon);
  daemon.started = started_;
  const auto joined = join_figures(fleet_.get(), clock_.now());
  const Scrape scrape{.snapshot = *seen,
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
  const auto format = negotiated(question.accept);
  KeptPage& kept = page_of_look(seen, scrape, options, format);
  // Where the last is still being sent, the next is another text.
  std::string text = kept.text.use_count() == 1 ? std::move(*kept.text) : *kept.text;
  text.resize(kept.of_look);
  text = with_metrics_of_now(std::move(text), scrape, options, format);
  if (kept.text.use_count() == 1) {
    *kept.text = std::move(text);
  } else {
    kept.text = std::make_shared<std::string>(std::move(text));
  }
  return MetricsText{.type = std::string(content_type(format)), .body = kept.text};
}

}  // namespace berth::serve
