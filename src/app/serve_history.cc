#include "app/serve_history.h"

#include <map>
#include <utility>

#include "app/history_options.h"
#include "record/history/reader.h"

namespace berth {

namespace {

UsageBy stored(serve::UsageBy by) {
  switch (by) {
    case serve::UsageBy::user:
      return UsageBy::user;
    case serve::UsageBy::job:
      return UsageBy::job;
    case serve::UsageBy::gpu:
      return UsageBy::gpu;
    case serve::UsageBy::day:
      return UsageBy::day;
  }
  return UsageBy::user;
}

std::optional<uid_t> uid_of(const history::Span& span) {
  if (!span.uid || *span.uid < 0) return std::nullopt;
  return static_cast<uid_t>(*span.uid);
}

/// Whose name is whose, as the spans of that time have it.
std::map<std::string, uid_t> uids_of(const std::vector<history::Span>& spans) {
  std::map<std::string, uid_t> uids;
  for (const history::Span& span : spans) {
    if (const auto uid = uid_of(span)) uids.emplace(span.user, *uid);
  }
  return uids;
}

serve::TimelineEntry entry_of(const history::Span& span) {
  const bool is_run = span.kind == history::SpanKind::lease && !span.run.empty();
  return {.device = span.device,
          .kind = is_run ? "run" : std::string(name_of(span.kind)),
          .id = is_run ? span.run : span.key,
          .uid = uid_of(span),
          .user = span.user,
          .title = span.title,
          .from = {span.from_ms},
          .to = span.to_ms ? std::optional(WallTime{*span.to_ms}) : std::nullopt,
          .state = span.to_ms ? "ended" : "running"};
}

}  // namespace

Result<serve::Series> StoredHistory::series(const serve::SeriesQuery& query) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(reader.error());
  const auto found = reader->series({.device = query.device,
                                     .metric = query.metric,
                                     .since = query.span.since,
                                     .until = query.span.until,
                                     .points = query.points});
  if (!found) return std::unexpected(found.error());
  serve::Series series{.unit = found->unit,
                       .step_ms = found->step_ms,
                       .knows_since = found->knows_since,
                       .points = {}};
  series.points.reserve(found->points.size());
  for (const SeriesPoint& point : found->points) {
    series.points.push_back({point.at, point.least, point.mean, point.p95, point.most});
  }
  return series;
}

Result<serve::Usage> StoredHistory::usage(serve::UsageBy by, serve::TimeSpan span) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(reader.error());
  const auto report = reader->usage({.by = stored(by),
                                     .since = span.since,
                                     .until = span.until,
                                     .price_per_kwh = price_.per_kwh,
                                     .offset_at = local_offset_at});
  if (!report) return std::unexpected(report.error());
  const auto spans = reader->spans(span.since, span.until);
  if (!spans) return std::unexpected(spans.error());
  const auto uids = uids_of(*spans);
  serve::Usage usage{.knows_since = report->knows_since,
                     .price_per_kwh = report->price_per_kwh,
                     .currency = price_.currency,
                     .rows = {}};
  for (const UsageRow& row : report->rows) {
    const auto owner = uids.find(by == serve::UsageBy::user ? row.key : row.user);
    usage.rows.push_back({.key = row.key,
                          .uid = owner == uids.end() ? std::nullopt : std::optional(owner->second),
                          .gpu_hours = row.gpu_hours,
                          .busy_gpu_hours = row.busy_hours,
                          .idle_held_hours = row.idle_held_hours,
                          .energy_joules = row.energy_joules,
                          .cost = row.cost,
                          .waits = row.waits,
                          .waited_hours = row.waited_hours,
                          .runs = row.runs});
  }
  return usage;
}

Result<serve::Timeline> StoredHistory::timeline(serve::TimeSpan span) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(reader.error());
  const auto facts = reader->facts();
  if (!facts) return std::unexpected(facts.error());
  serve::Timeline timeline;
  for (const HistoryDevice& device : facts->devices) {
    const auto index = device.index ? std::optional(static_cast<int>(*device.index)) : std::nullopt;
    timeline.devices.push_back({device.id, index, device.name});
  }
  const auto spans = reader->spans(span.since, span.until);
  if (!spans) return std::unexpected(spans.error());
  for (const history::Span& one : *spans) {
    if (one.kind == history::SpanKind::lease || one.kind == history::SpanKind::user) {
      timeline.entries.push_back(entry_of(one));
    }
  }
  const auto events = reader->events(span.since, span.until);
  if (!events) return std::unexpected(events.error());
  for (const HistoryEvent& event : *events) {
    timeline.entries.push_back({.device = event.device,
                                .kind = "health",
                                .id = event.code,
                                .title = event.text,
                                .from = event.at,
                                .to = event.at,
                                .state = event.kind});
  }
  return timeline;
}

Result<std::vector<serve::LoggedEvent>> StoredHistory::events(serve::TimeSpan span) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(reader.error());
  const auto found = reader->events(span.since, span.until);
  if (!found) return std::unexpected(found.error());
  std::vector<serve::LoggedEvent> events;
  for (const HistoryEvent& event : *found) {
    events.push_back({event.at, event.kind, event.device, event.code, event.text});
  }
  return events;
}

}  // namespace berth
