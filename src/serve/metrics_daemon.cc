// What the page says of the program itself: how fresh it is, what could be asked, what it costs.

#include <fmt/format.h>

#include <map>
#include <utility>

#include "alert/rules.h"
#include "serve/metrics_families.h"
#include "serve/metrics_page.h"
#include "snapshot/walk.h"

namespace berth::serve {

namespace {

/// Adds the label where there is a value.
void add_reading_label(std::string& labels, std::string_view name,
                       const Reading<std::string>& reading) {
  if (reading.get()) add_label(labels, name, *reading.get());
}

void write_program_and_host(const Scrape& scrape, Exposition& out) {
  std::string version;
  add_label(version, "version", scrape.version);
  out.begin(families::build_info);
  out.add(version, decimal(1));
  const Host& host = scrape.snapshot.host;
  std::string labels;
  add_reading_label(labels, "host", host.name);
  add_reading_label(labels, "kernel", host.kernel);
  const VendorSoftware& unnamed = host.software_of(unnamed_vendor);
  add_reading_label(labels, "driver_version", unnamed.driver);
  add_reading_label(labels, "cuda_version", unnamed.runtime);
  out.begin(families::host_info);
  out.add(labels, decimal(1));
  out.begin(families::other_vendor_info);
  for (const OtherVendor& other : other_vendors(host)) {
    std::string more;
    add_label(more, "vendor", other.vendor);
    add_reading_label(more, "driver_version", other.software.driver);
    add_label(more, "runtime", other.runtime_name);
    add_reading_label(more, "runtime_version", other.software.runtime);
    out.add(more, decimal(1));
  }
}

void write_sources(const Scrape& scrape, Exposition& out) {
  std::map<std::string, bool> succeeded;  // several reports of one source: the worst counts
  for (const SourceReport& report : scrape.snapshot.sources) {
    const auto [at, is_new] = succeeded.emplace(label_value(report.source), report.succeeded);
    if (!is_new) at->second = at->second && report.succeeded;
  }
  out.begin(families::probe_success);
  for (const auto& [source, worked] : succeeded) {
    out.add(fmt::format("probe=\"{}\"", source), decimal(worked ? 1 : 0));
  }
  std::map<std::pair<std::string, std::string>, std::uint64_t> problems;
  for (const Problem& problem : scrape.snapshot.problems) {
    ++problems[{label_value(problem.source), label_value(problem.code)}];
  }
  out.begin(families::problems);
  for (const auto& [key, count] : problems) {
    out.add(fmt::format("probe=\"{}\",code=\"{}\"", key.first, key.second), decimal(count));
  }
}

/// Each rule has a sample of its own severity, so that a series does not begin with its first
/// alert.
void write_alerts(const Scrape& scrape, Exposition& out) {
  if (scrape.alerts == nullptr) return;
  std::map<std::pair<AlertRule, AlertSeverity>, std::uint64_t> counts;
  for (const AlertRuleFacts& facts : alert_rules()) counts[{facts.rule, facts.severity}] = 0;
  for (const Alert& alert : *scrape.alerts) ++counts[{alert.rule, alert.severity}];
  out.begin(families::alerts);
  for (const auto& [key, count] : counts) {
    out.add(fmt::format("rule=\"{}\",severity=\"{}\"", name_of(key.first), name_of(key.second)),
            decimal(count));
  }
}

void write_history_figures(const Scrape& scrape, Exposition& out) {
  if (!scrape.history) return;
  const HistoryFigures& history = *scrape.history;
  const auto one = [&](const Family& family, Decimal value) {
    out.begin(family);
    out.add(value);
  };
  if (history.used) one(families::history_used, decimal(history.used->count()));
  one(families::history_limit, decimal(history.limit.count()));
  if (history.disk_free.get()) {
    one(families::history_disk_free, decimal(history.disk_free.get()->count()));
  }
  one(families::history_writing, decimal(history.is_writing ? 1 : 0));
}

void write_joined(const Scrape& scrape, Exposition& out) {
  const auto labels = [](const JoinFigures& host) {
    std::string text;
    add_label(text, "host", host.host);
    return text;
  };
  out.begin(families::join_up);
  for (const JoinFigures& host : scrape.joined) {
    out.add(labels(host), decimal(host.is_up ? 1 : 0));
  }
  out.begin(families::join_age);
  for (const JoinFigures& host : scrape.joined) {
    if (host.age) out.add(labels(host), seconds(*host.age));
  }
}

}  // namespace

void write_simulated(const Scrape& scrape, Exposition& out) {
  out.begin(families::simulated);
  out.add(decimal(scrape.snapshot.simulated ? 1 : 0));
  if (!scrape.snapshot.simulated) return;
  std::string labels;
  add_label(labels, "scenario", *scrape.snapshot.simulated);
  out.begin(families::simulated_info);
  out.add(labels, decimal(1));
}

void write_daemon(const Scrape& scrape, Exposition& out) {
  const DaemonFigures& daemon = scrape.daemon;
  write_program_and_host(scrape, out);
  const auto one = [&](const Family& family, Decimal value) {
    out.begin(family);
    out.add(value);
  };
  one(families::snapshot_age, seconds(scrape.age));
  one(families::snapshot_timestamp, unix_seconds(scrape.snapshot.taken));
  one(families::look_interval, seconds(scrape.interval));
  one(families::look_duration, seconds(scrape.look_duration));
  one(families::looks, decimal(daemon.looks));
  one(families::looks_failed, decimal(daemon.looks_failed));
  write_sources(scrape, out);
  write_alerts(scrape, out);
  one(families::samples_lost, decimal(daemon.samples_lost));
  one(families::requests, decimal(daemon.requests));
  if (daemon.cpu_time) one(families::daemon_cpu, seconds(*daemon.cpu_time));
  if (daemon.resident) one(families::daemon_resident, decimal(daemon.resident->count()));
  one(families::daemon_start, unix_seconds(daemon.started));
  write_history_figures(scrape, out);
  write_joined(scrape, out);
}

}  // namespace berth::serve
