#include "serve/metrics.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "serve/metrics_families.h"
#include "serve/metrics_page.h"

namespace berth::serve {

namespace {

constexpr std::array all_profiles = {MetricsProfile::berth, MetricsProfile::dcgm,
                                     MetricsProfile::nvidia_smi};

/// One of an Accept header's media ranges: "text/plain;version=0.0.4;q=0.5".
struct MediaRange {
  std::string type;
  std::string version;  // empty: any
  double quality = 1;
};

MediaRange media_range(std::string_view text) {
  MediaRange range;
  const auto parts = split(text, ';');
  range.type = small_letters(trimmed(parts.front()));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = trimmed(parts[i]);
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name = small_letters(trimmed(part.substr(0, equals)));
    std::string_view value = trimmed(part.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    // A quality that is none is no wish.
    if (name == "q") range.quality = std::clamp(parse_decimal(value).value_or(0), 0.0, 1.0);
    if (name == "version") range.version = std::string(value);
  }
  return range;
}

void write_berth(const Scrape& scrape, const MetricsOptions& options, Exposition& out) {
  const SnapshotIndex index(scrape.snapshot);
  const Page page{.scrape = scrape,
                  .options = options,
                  .index = index,
                  .devices = page_devices(scrape.snapshot),
                  .out = out};
  write_devices(page);
  write_people(page);
}

/// What a device with all its readings takes, and a little room.
std::size_t expected_size(const Scrape& scrape, const MetricsOptions& options) {
  std::size_t each = 0;
  for (const MetricsProfile profile : options.profiles) {
    if (profile == MetricsProfile::berth) each += 28'000;
    if (profile == MetricsProfile::dcgm) each += 5'000;
    if (profile == MetricsProfile::nvidia_smi) each += 25'000;
  }
  return 32'000 + each * std::min<std::size_t>(scrape.snapshot.devices.size(), 64);
}

}  // namespace

std::string_view name_of(MetricsProfile profile) {
  switch (profile) {
    case MetricsProfile::berth:
      return "berth";
    case MetricsProfile::dcgm:
      return "dcgm";
    case MetricsProfile::nvidia_smi:
      return "nvidia_smi";
  }
  return "berth";
}

Result<std::vector<MetricsProfile>> profiles_from(std::string_view list) {
  std::vector<MetricsProfile> profiles;
  for (const std::string_view part : split(list, ',')) {
    const auto* found = std::ranges::find(all_profiles, trimmed(part),
                                          [](MetricsProfile profile) { return name_of(profile); });
    if (found == all_profiles.end()) {
      return fail(ErrorCode::invalid,
                  "there is no metrics profile \"{}\"; there are berth, dcgm and nvidia_smi, one "
                  "or several with commas between",
                  printable(part.substr(0, 64)));
    }
    if (std::ranges::find(profiles, *found) == profiles.end()) profiles.push_back(*found);
  }
  return profiles;
}

std::string_view content_type(MetricsFormat format) {
  switch (format) {
    case MetricsFormat::text_0_0_4:
      return "text/plain; version=0.0.4; charset=utf-8";
    case MetricsFormat::openmetrics_1_0:
      return "application/openmetrics-text; version=1.0.0; charset=utf-8";
  }
  return "text/plain";
}

MetricsFormat negotiated(std::string_view accept) {
  double text = 0;
  double openmetrics = 0;
  for (const std::string_view part : split(accept, ',')) {
    const MediaRange range = media_range(part);
    if (range.type == "application/openmetrics-text") {
      const bool ours = range.version.empty() || range.version == "1.0.0";
      if (ours) openmetrics = std::max(openmetrics, range.quality);
    } else if (range.type == "text/plain") {
      const bool ours = range.version.empty() || range.version == "0.0.4";
      if (ours) text = std::max(text, range.quality);
    }
  }
  return openmetrics > 0 && openmetrics >= text ? MetricsFormat::openmetrics_1_0
                                                : MetricsFormat::text_0_0_4;
}

std::string metrics_page(const Scrape& scrape, const MetricsOptions& options,
                         MetricsFormat format) {
  return with_metrics_of_now(metrics_of_look(scrape, options, format), scrape, options, format);
}

std::string metrics_of_look(const Scrape& scrape, const MetricsOptions& options,
                            MetricsFormat format, std::string room) {
  room.clear();
  Exposition out(format, expected_size(scrape, options), std::move(room));
  write_simulated(scrape, out);
  // Each profile once, however often it is asked for.
  for (const MetricsProfile profile : all_profiles) {
    if (std::ranges::find(options.profiles, profile) == options.profiles.end()) continue;
    switch (profile) {
      case MetricsProfile::berth:
        write_berth(scrape, options, out);
        break;
      case MetricsProfile::dcgm:
        write_dcgm(scrape, options, out);
        break;
      case MetricsProfile::nvidia_smi:
        write_nvidia_smi(scrape, options, out);
        break;
    }
  }
  return out.take();
}

std::string with_metrics_of_now(std::string of_look, const Scrape& scrape,
                                const MetricsOptions& options, MetricsFormat format) {
  constexpr std::size_t a_few_lines = 8192;
  const std::size_t expected = of_look.size() + a_few_lines;
  Exposition out(format, expected, std::move(of_look));
  const bool says_so =
      std::ranges::find(options.profiles, MetricsProfile::berth) != options.profiles.end();
  if (says_so) write_daemon(scrape, out);
  return out.finish();
}

// What a row of a profile says, written.

namespace {

std::optional<Decimal> sample_of(const KnownRow& known, const PageDevice& one,
                                 const Snapshot& snapshot) {
  if (known.field == nullptr) return known.row->own(*one.device);
  return told_by(*known.field, one, snapshot, [&](const Cell& cell) {
    auto value = decimal_in(cell, known.row->exponent);
    if (value) value->count /= known.row->per;
    return value;
  });
}

}  // namespace

std::vector<KnownRow> known_rows(std::span<const MetricRow> rows) {
  std::vector<KnownRow> known;
  for (const MetricRow& row : rows) {
    const Field* field = row.key.empty() ? nullptr : find_field(row.key);
    BERTH_CHECK(field != nullptr || row.own != nullptr, "a row of metrics is read from something");
    known.push_back({&row, field});
  }
  return known;
}

void write_rows(const std::vector<KnownRow>& rows, const std::vector<PageDevice>& devices,
                const Snapshot& snapshot, Exposition& out) {
  for (const KnownRow& known : rows) {
    out.begin(known.row->family);
    for (const PageDevice& one : devices) out.add(one.labels, {}, sample_of(known, one, snapshot));
  }
}

}  // namespace berth::serve
