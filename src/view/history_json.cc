// The history for programs: JSON and CSV, never translated.

#include <fmt/format.h>

#include "base/json_archive.h"
#include "base/text.h"
#include "view/history_text.h"

namespace berth {

// Found by the namespace of what it puts, hence not in the nameless one.
static void put(Archive& archive, SeriesPoint& point) {
  put_row(archive, 5, point.at, point.least, point.mean, point.p95, point.most);
}

namespace {

void write_device(Archive& archive, const HistoryDevice& device) {
  archive.derived("id", device.id);
  archive.derived("index", device.index);
  archive.derived("name", device.name, Form::nullable);
  archive.derived("parent", device.parent);
  archive.derived("memory_used_is_bound", device.used_is_bound);
}

void write_series(Archive& archive, const HistorySeries& series) {
  archive.derived("device", series.device);
  archive.derived("metric", series.metric);
  archive.derived("unit", series.unit);
  archive.derived("step_ms", series.step_ms);
  archive.derived("knows_since_unix_ms", series.knows_since);
  archive.derived("damaged_blocks", series.damaged_blocks);
  archive.derived("points", series.points);
}

struct ShownSpan {
  const history::Span* span;
  std::string_view kind;
  std::string_view id;
};

/// A lease's run is a span of its own.
std::vector<ShownSpan> shown_spans(const std::vector<history::Span>& spans) {
  std::vector<ShownSpan> all;
  for (const history::Span& span : spans) {
    all.push_back({&span, name_of(span.kind), span.key});
    const bool is_of_run = span.kind == history::SpanKind::lease && !span.run.empty();
    if (is_of_run) all.push_back({&span, "run", span.run});
  }
  return all;
}

void write_span(Archive& archive, const ShownSpan& shown) {
  const history::Span& span = *shown.span;
  const bool is_state = span.kind == history::SpanKind::state;
  archive.derived("device", span.device.text(), Form::nullable);
  archive.derived("kind", shown.kind);
  archive.derived("id", shown.id);
  archive.derived("user", is_state ? std::string() : span.user, Form::nullable);
  archive.derived("title", span.title);
  archive.derived("from_unix_ms", span.from_ms);
  archive.derived("to_unix_ms", span.to_ms);
  archive.derived("state", is_state ? std::optional(span.key) : std::nullopt);
}

void write_event(Archive& archive, const HistoryEvent& event) {
  archive.derived("at_unix_ms", event.at);
  archive.derived("kind", event.kind);
  archive.derived("device", event.device.text(), Form::nullable);
  archive.derived("code", event.code);
  archive.derived("text", words_of(event));
  archive.derived("uid", event.uid);
}

void write_row(Archive& archive, const UsageRow& row, UsageBy by) {
  archive.derived("key", row.key);
  if (by == UsageBy::job) archive.derived("user", row.user);
  archive.derived("gpu_hours", row.gpu_hours);
  archive.derived("busy_gpu_hours", row.busy_hours);
  archive.derived("idle_held_hours", row.idle_held_hours);
  archive.derived("unknown_load_hours", row.unknown_load_hours);
  archive.derived("unwatched_hours", row.unwatched_hours);
  archive.derived("energy_joules", row.energy_joules);
  archive.derived("energy_at_least", row.energy_at_least);
  archive.derived("energy_integrated", row.energy_integrated);
  archive.derived("cost", row.cost);
  archive.derived("waits", row.waits);
  archive.derived("waited_hours", row.waited_hours);
  archive.derived("runs", row.runs);
}

std::string csv_cell(const std::string& text) {
  const std::string safe = printable(text);
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}
template <class T>
std::string csv_cell(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string series_json(const HistorySeries& series, const std::optional<std::string>& simulated) {
  return write_json(JsonLayout::compact,
                    [&](Archive& archive) {
                      archive.derived("simulated", simulated);
                      write_series(archive, series);
                    }) +
         "\n";
}

std::string history_json(const HistoryView& view) {
  return write_json(
             JsonLayout::compact,
             [&](Archive& archive) {
               archive.derived("berth_history", 1);
               archive.derived("simulated", view.facts.simulated);
               archive.derived("since_unix_ms", view.since);
               archive.derived("until_unix_ms", view.until);
               archive.derived("knows_since_unix_ms", view.facts.knows_since);
               archive.derived("last_sample_unix_ms", view.facts.last_sample);
               archive.derived_list("devices", view.devices, [&](const HistoryDevice& device) {
                 write_device(archive, device);
               });
               archive.derived_list("series", view.series, [&](const HistorySeries& series) {
                 write_series(archive, series);
               });
               archive.derived_list("spans", shown_spans(view.spans),
                                    [&](const ShownSpan& span) { write_span(archive, span); });
               archive.derived_list("events", view.events, [&](const HistoryEvent& event) {
                 write_event(archive, event);
               });
             }) +
         "\n";
}

std::string history_csv(const HistoryView& view) {
  std::string text = "device,metric,unit,at_unix_ms,least,mean,p95,most,samples\n";
  for (const HistorySeries& series : view.series) {
    for (const SeriesPoint& point : series.points) {
      text += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(series.device.text()),
                          series.metric, series.unit, point.at.unix_ms, point.least, point.mean,
                          point.p95, point.most, point.samples);
    }
  }
  return text;
}

std::string usage_json(const UsageReport& report, const std::optional<std::string>& simulated,
                       const std::string& currency) {
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_usage", 1);
                      archive.derived("by", name_of(report.by));
                      archive.derived("simulated", simulated);
                      archive.derived("since_unix_ms", report.since);
                      archive.derived("until_unix_ms", report.until);
                      archive.derived("knows_since_unix_ms", report.knows_since);
                      archive.derived("unwatched_hours", report.unwatched_hours);
                      archive.derived("price_per_kwh", report.price_per_kwh);
                      archive.derived("currency", currency, Form::nullable);
                      archive.derived_list("rows", report.rows, [&](const UsageRow& row) {
                        write_row(archive, row, report.by);
                      });
                    }) +
         "\n";
}

std::string usage_csv(const UsageReport& report) {
  std::string text =
      "key,user,gpu_hours,busy_gpu_hours,idle_held_hours,unknown_load_hours,unwatched_hours,"
      "energy_joules,energy_at_least,energy_integrated,cost,waits,waited_hours,runs\n";
  for (const UsageRow& row : report.rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(row.key),
                        csv_cell(row.user), row.gpu_hours, row.busy_hours, row.idle_held_hours,
                        row.unknown_load_hours, csv_cell(row.unwatched_hours),
                        csv_cell(row.energy_joules), row.energy_at_least, row.energy_integrated,
                        csv_cell(row.cost), csv_cell(row.waits), csv_cell(row.waited_hours),
                        csv_cell(row.runs));
  }
  return text;
}

}  // namespace berth
