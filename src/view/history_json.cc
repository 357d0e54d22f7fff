// The history for programs: JSON and CSV, never translated.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "view/history_text.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

std::string written(const Json& json, int indent = -1) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

Json time_or_null(const std::optional<WallTime>& time) {
  return time ? Json(time->unix_ms) : Json(nullptr);
}
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json device_json(const HistoryDevice& device) {
  return {{"id", device.id.text()},
          {"index", or_null(device.index)},
          {"name", device.name.empty() ? Json(nullptr) : Json(device.name)},
          {"parent", device.parent ? Json(device.parent->text()) : Json(nullptr)}};
}

Json series_value(const HistorySeries& series) {
  Json points = Json::array();
  for (const SeriesPoint& point : series.points) {
    points.push_back({point.at.unix_ms, point.least, point.mean, point.p95, point.most});
  }
  return {{"device", series.device.text()},
          {"metric", series.metric},
          {"unit", series.unit},
          {"step_ms", series.step_ms},
          {"knows_since_unix_ms", time_or_null(series.knows_since)},
          {"damaged_blocks", series.damaged_blocks},
          {"points", std::move(points)}};
}

Json span_json(const history::Span& span, std::string_view kind, const std::string& id) {
  const bool is_state = span.kind == history::SpanKind::state;
  return {{"device", span.device.text().empty() ? Json(nullptr) : Json(span.device.text())},
          {"kind", kind},
          {"id", id},
          {"user", is_state || span.user.empty() ? Json(nullptr) : Json(span.user)},
          {"title", span.title},
          {"from_unix_ms", span.from_ms},
          {"to_unix_ms", or_null(span.to_ms)},
          {"state", is_state ? Json(span.key) : Json(nullptr)}};
}

Json spans_value(const std::vector<history::Span>& spans) {
  Json all = Json::array();
  for (const history::Span& span : spans) {
    all.push_back(span_json(span, name_of(span.kind), span.key));
    if (span.kind == history::SpanKind::lease && !span.run.empty()) {
      all.push_back(span_json(span, "run", span.run));
    }
  }
  return all;
}

Json events_value(const std::vector<HistoryEvent>& events) {
  Json all = Json::array();
  for (const HistoryEvent& event : events) {
    const std::string& device = event.device.text();
    all.push_back({{"at_unix_ms", event.at.unix_ms},
                   {"kind", event.kind},
                   {"device", device.empty() ? Json(nullptr) : Json(device)},
                   {"code", event.code},
                   {"text", words_of(event)},
                   {"uid", or_null(event.uid)}});
  }
  return all;
}

Json row_json(const UsageRow& row, UsageBy by) {
  Json json = {{"key", row.key}};
  if (by == UsageBy::job) json["user"] = row.user;
  json["gpu_hours"] = row.gpu_hours;
  json["busy_gpu_hours"] = row.busy_hours;
  json["idle_held_hours"] = row.idle_held_hours;
  json["unknown_load_hours"] = row.unknown_load_hours;
  json["unwatched_hours"] = or_null(row.unwatched_hours);
  json["energy_joules"] = or_null(row.energy_joules);
  json["energy_at_least"] = row.energy_at_least;
  json["energy_integrated"] = row.energy_integrated;
  json["cost"] = or_null(row.cost);
  json["waits"] = or_null(row.waits);
  json["waited_hours"] = or_null(row.waited_hours);
  json["runs"] = or_null(row.runs);
  return json;
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
  Json root = {{"simulated", or_null(simulated)}};
  root.update(series_value(series));
  return written(root) + "\n";
}

std::string history_json(const HistoryView& view) {
  Json root = {{"berth_history", 1},
               {"simulated", or_null(view.facts.simulated)},
               {"since_unix_ms", view.since.unix_ms},
               {"until_unix_ms", view.until.unix_ms},
               {"knows_since_unix_ms", time_or_null(view.facts.knows_since)},
               {"last_sample_unix_ms", time_or_null(view.facts.last_sample)}};
  root["devices"] = Json::array();
  for (const HistoryDevice& device : view.devices) root["devices"].push_back(device_json(device));
  root["series"] = Json::array();
  for (const HistorySeries& series : view.series) root["series"].push_back(series_value(series));
  root["spans"] = spans_value(view.spans);
  root["events"] = events_value(view.events);
  return written(root) + "\n";
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
  Json root = {{"berth_usage", 1},
               {"by", name_of(report.by)},
               {"simulated", or_null(simulated)},
               {"since_unix_ms", report.since.unix_ms},
               {"until_unix_ms", report.until.unix_ms},
               {"knows_since_unix_ms", time_or_null(report.knows_since)},
               {"unwatched_hours", report.unwatched_hours},
               {"price_per_kwh", or_null(report.price_per_kwh)},
               {"currency", currency.empty() ? Json(nullptr) : Json(currency)}};
  root["rows"] = Json::array();
  for (const UsageRow& row : report.rows) root["rows"].push_back(row_json(row, report.by));
  return written(root, 2) + "\n";
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
