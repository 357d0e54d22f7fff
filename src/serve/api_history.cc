// History, usage, the timeline and the log of events: what the store remembers.

#include "base/text.h"
#include "serve/api_json.h"

namespace berth::serve {

namespace {

Response no_history() {
  return error_response(503, "no_history", "this server keeps no history",
                        "berth serve keeps one where it can write its state directory");
}

constexpr std::uint64_t latest = 253'402'300'799'000;  // the end of the year 9999

/// The time asked for; without words about it the last day.
std::expected<TimeSpan, Response> span_of(const Question& question) {
  constexpr std::int64_t day_ms = 86'400'000;
  const auto now =
      static_cast<std::uint64_t>(std::max<std::int64_t>(question.world.now.unix_ms, 0));
  const auto until = number_parameter(question.request, "until", now, 0, latest);
  if (!until) return std::unexpected(until.error());
  const auto a_day_before = *until > day_ms ? *until - day_ms : 0;
  const auto since = number_parameter(question.request, "since", a_day_before, 0, latest);
  if (!since) return std::unexpected(since.error());
  if (*since > *until) {
    return std::unexpected(error_response(400, "bad_parameter", "since is later than until",
                                          "both are milliseconds since 1970 UTC"));
  }
  return TimeSpan{.since = {static_cast<std::int64_t>(*since)},
                  .until = {static_cast<std::int64_t>(*until)}};
}

Insight insight_into(const Question& question, std::optional<uid_t> uid) {
  return insight(question.asker, uid, question.world.policy, *question.world.book);
}

std::optional<UsageBy> usage_by_from(std::string_view name) {
  if (name == "user") return UsageBy::user;
  if (name == "job") return UsageBy::job;
  if (name == "gpu") return UsageBy::gpu;
  if (name == "day") return UsageBy::day;
  return std::nullopt;
}

/// Names of users and jobs are somebody's; those of GPUs and days nobody's.
bool may_see(const Question& question, UsageBy by, const UsageRow& row) {
  switch (by) {
    case UsageBy::gpu:
    case UsageBy::day:
      return true;
    case UsageBy::user:
      return insight_into(question, row.uid) >= Insight::names;
    case UsageBy::job:
      return insight_into(question, row.uid) >= Insight::commands;
  }
  return false;
}

Json usage_row_json(const UsageRow& row) {
  return {{"key", row.key},
          {"gpu_hours", row.gpu_hours},
          {"busy_gpu_hours", row.busy_gpu_hours},
          {"idle_held_hours", row.idle_held_hours},
          {"energy_joules", json_or_null(row.energy_joules)},
          {"cost", json_or_null(row.cost)},
          {"waits", json_or_null(row.waits)},
          {"waited_hours", json_or_null(row.waited_hours)},
          {"runs", json_or_null(row.runs)}};
}

Json span_json(const Question& question, const TimelineEntry& entry) {
  const bool is_health = entry.kind == "health";
  const Insight seen = is_health ? Insight::whole : insight_into(question, entry.uid);
  return {{"device", entry.device.text()},
          {"kind", entry.kind},
          // What a user is on a device by has the user's name as its id.
          {"id", seen >= Insight::names ? Json(entry.id) : Json()},
          {"user", seen >= Insight::names && !entry.user.empty() ? Json(entry.user) : Json()},
          {"title", seen >= Insight::commands ? Json(entry.title) : Json()},
          {"from_unix_ms", entry.from.unix_ms},
          {"to_unix_ms", time_or_null(entry.to)},
          {"state", entry.state}};
}

}  // namespace

Response answer_history(const Question& question) {
  if (question.world.history == nullptr) return no_history();
  const auto span = span_of(question);
  if (!span) return span.error();
  constexpr std::uint64_t most = 10'000;
  const auto points = number_parameter(question.request, "points", 500, 1, most);
  if (!points) return points.error();
  const auto device = parameter_of(question.request, "device");
  const auto metric = parameter_of(question.request, "metric");
  if (!device || !metric) {
    return error_response(400, "bad_parameter", "device and metric are wanted",
                          "device=ID&metric=utilization_gpu_percent");
  }
  const auto series = question.world.history->series({.device = DeviceId(std::string(*device)),
                                                      .metric = std::string(*metric),
                                                      .span = *span,
                                                      .points = *points});
  if (!series) return error_response(series.error());
  Json root = {{"device", *device},
               {"metric", *metric},
               {"unit", series->unit},
               {"step_ms", series->step_ms},
               {"knows_since_unix_ms", time_or_null(series->knows_since)},
               {"points", Json::array()}};
  for (const SeriesPoint& point : series->points) {
    root["points"].push_back({point.at.unix_ms, point.min, point.mean, point.p95, point.max});
  }
  return json_response(dumped(root) + "\n");
}

Response answer_usage(const Question& question) {
  if (question.world.history == nullptr) return no_history();
  const auto span = span_of(question);
  if (!span) return span.error();
  const std::string_view name = parameter_of(question.request, "by").value_or("user");
  const auto by = usage_by_from(name);
  if (!by) {
    return error_response(400, "bad_parameter", "by=" + printable(name) + " cannot be used",
                          "by=user, job, gpu or day");
  }
  const auto usage = question.world.history->usage(*by, *span);
  if (!usage) return error_response(usage.error());
  Json root = {{"by", name},
               {"since_unix_ms", span->since.unix_ms},
               {"until_unix_ms", span->until.unix_ms},
               {"knows_since_unix_ms", time_or_null(usage->knows_since)},
               {"price_per_kwh", json_or_null(usage->price_per_kwh)},
               {"currency", usage->currency.empty() ? Json() : Json(usage->currency)},
               {"rows", Json::array()}};
  for (const UsageRow& row : usage->rows) {
    if (may_see(question, *by, row)) root["rows"].push_back(usage_row_json(row));
  }
  return json_response(dumped(root) + "\n");
}

Response answer_timeline(const Question& question) {
  if (question.world.history == nullptr) return no_history();
  const auto span = span_of(question);
  if (!span) return span.error();
  const auto timeline = question.world.history->timeline(*span);
  if (!timeline) return error_response(timeline.error());
  Json root = {{"devices", Json::array()}, {"spans", Json::array()}};
  for (const TimelineDevice& device : timeline->devices) {
    root["devices"].push_back(
        {{"id", device.id.text()}, {"index", json_or_null(device.index)}, {"name", device.name}});
  }
  for (const TimelineEntry& entry : timeline->entries) {
    root["spans"].push_back(span_json(question, entry));
  }
  return json_response(dumped(root) + "\n");
}

Response answer_events_log(const Question& question) {
  if (question.world.history == nullptr) return no_history();
  const auto span = span_of(question);
  if (!span) return span.error();
  const auto events = question.world.history->events(*span);
  if (!events) return error_response(events.error());
  Json root = {{"events", Json::array()}};
  for (const LoggedEvent& event : *events) {
    root["events"].push_back({{"at_unix_ms", event.at.unix_ms},
                              {"kind", event.kind},
                              {"device", event.device.text()},
                              {"code", event.code},
                              {"text", event.text}});
  }
  return json_response(dumped(root) + "\n");
}

}  // namespace berth::serve
