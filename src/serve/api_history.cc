// History, usage, the timeline and the log of events: what the store remembers.

#include <algorithm>
#include <iterator>
#include <map>

#include "base/aggregate.h"
#include "base/text.h"
#include "serve/api_json.h"
#include "view/history_text.h"

namespace berth::serve {

namespace {

HttpResponse no_history(const RequestContext& context) {
  if (context.is_opening_history) {
    return error_response(503, "history_opening", "the history is still being opened",
                          "ask again later; a disk that is slow makes it last");
  }
  return error_response(503, "no_history", "this server keeps no history",
                        "berth serve keeps one where it can write its state directory");
}

constexpr std::uint64_t latest = 253'402'300'799'000;  // the end of the year 9999

struct TimeSpan {
  WallTime since;
  WallTime until;
};

/// The time asked for, up to now; without words about it the last day.
std::expected<TimeSpan, HttpResponse> span_of(const Question& question) {
  const auto now =
      static_cast<std::uint64_t>(std::max<std::int64_t>(question.context.now.unix_ms, 0));
  auto until = number_parameter(question.request, "until", now, 0, latest);
  if (!until) return std::unexpected(until.error());
  // Nothing can be said of the future, not even that nobody looked.
  until = std::min(*until, now);
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

/// A store keeps -1 where nobody was known.
std::optional<uid_t> uid_in(std::optional<std::int64_t> stored) {
  if (!stored || *stored < 0) return std::nullopt;
  return static_cast<uid_t>(*stored);
}

AccessLevel access_to(const Question& question, std::optional<std::int64_t> uid) {
  return access_level(question.principal, uid_in(uid), question.context.visibility,
                      *question.context.book);
}

/// Rows of users and jobs belong to a user. Rows of GPUs and days belong to nobody.
bool may_see(const Question& question, UsageBy by, const UsageRow& row) {
  switch (by) {
    case UsageBy::gpu:
    case UsageBy::day:
      return true;
    case UsageBy::user:
      return access_to(question, row.uid) >= AccessLevel::names;
    case UsageBy::job:
      return access_to(question, row.uid) >= AccessLevel::commands;
  }
  return false;
}

/// A stretch of the timeline as the principal may see it.
struct ShownSpan {
  DeviceId device;
  std::string kind;
  std::optional<std::string> id;
  std::string user;  // empty: nobody, or hidden
  std::optional<std::string> title;
  std::int64_t from_ms = 0;
  std::optional<std::int64_t> to_ms;
  std::string state;
};

/// A run where a lease was one's.
ShownSpan shown_span(const Question& question, const history::Span& span) {
  const bool is_run = span.kind == history::SpanKind::lease && !span.run.empty();
  const AccessLevel seen = access_to(question, span.uid);
  ShownSpan shown{.device = span.device,
                  .kind = std::string(is_run ? "run" : name_of(span.kind)),
                  .from_ms = span.from_ms,
                  .to_ms = span.to_ms,
                  .state = span.to_ms ? "ended" : "running"};
  if (seen < AccessLevel::names) return shown;
  // What a user is on a device by has the user's name as its id.
  shown.id = is_run ? span.run : span.key;
  shown.user = span.user;
  if (seen >= AccessLevel::commands) shown.title = span.title;
  return shown;
}

/// An event among the spans: it begins and ends at once.
ShownSpan shown_moment(const HistoryEvent& event) {
  return {.device = event.device,
          .kind = "health",
          .id = event.code,
          .title = words_of(event).english(),
          .from_ms = event.at.unix_ms,
          .to_ms = event.at.unix_ms,
          .state = event.kind};
}

void write_span(Archive& archive, const ShownSpan& span) {
  archive.derived("device", span.device);
  archive.derived("kind", span.kind);
  archive.derived("id", span.id);
  archive.derived("user", span.user, Form::nullable);
  archive.derived("title", span.title);
  archive.derived("from_unix_ms", span.from_ms);
  archive.derived("to_unix_ms", span.to_ms);
  archive.derived("state", span.state);
}

bool is_here(std::string_view device, const RequestContext& context) {
  return context.snapshot && std::ranges::any_of(context.snapshot->devices, [&](const Device& one) {
           return one.id.text() == device;
         });
}

void write_event(Archive& archive, const HistoryEvent& event) {
  archive.derived("at_unix_ms", event.at);
  archive.derived("kind", event.kind);
  archive.derived("device", event.device);
  archive.derived("code", event.code);
  archive.derived("text", words_of(event));
  archive.derived("advice", advice_of(event), Form::nullable);
}

/// A series in steps that all devices share: the mean of each.
std::vector<std::optional<double>> means_of(const HistorySeries& series, WallTime since,
                                            std::int64_t step_ms, std::size_t count) {
  const WallTime end{since.unix_ms + step_ms * static_cast<std::int64_t>(count)};
  std::vector<std::optional<double>> means;
  for (const Aggregate<>& step : in_columns(series, since, end, count)) {
    means.push_back(step.is_empty() ? std::nullopt : std::optional(step.mean()));
  }
  return means;
}

}  // namespace

/// All devices together, small enough for a page that draws them at once.
HttpResponse answer_recent(const Question& question) {
  if (question.context.history == nullptr) return no_history(question.context);
  const auto span = span_of(question);
  if (!span) return span.error();
  constexpr std::uint64_t most = 1000;
  const auto points = number_parameter(question.request, "points", 120, 1, most);
  if (!points) return points.error();
  const auto metric = parameter_of(question.request, "metric");
  if (!metric) {
    return error_response(400, "bad_parameter", "metric is wanted",
                          "metric=utilization_gpu_percent");
  }
  const std::int64_t length = span->until.unix_ms - span->since.unix_ms;
  const auto count = static_cast<std::int64_t>(*points);
  const std::int64_t step_ms = std::max<std::int64_t>((length + count - 1) / count, 1);
  std::map<std::string, std::vector<std::optional<double>>> values;
  std::vector<DeviceId> devices;
  const auto seen = question.context.snapshot;
  for (const Device& device : seen ? seen->devices : std::vector<Device>()) {
    devices.push_back(device.id);
    // A device that was never recorded, or not yet, has no step of anything.
    values[device.id.text()].resize(*points);
  }
  const auto found = question.context.history->series({.devices = std::move(devices),
                                                       .metric = *metric,
                                                       .since = span->since,
                                                       .until = span->until,
                                                       .points = *points});
  if (!found && found.error().code() != ErrorCode::not_found) return error_response(found.error());
  for (const HistorySeries& series : found ? *found : std::vector<HistorySeries>()) {
    values[series.device.text()] = means_of(series, span->since, step_ms, *points);
  }
  return json_answer([&](Archive& archive) {
    archive.derived("simulated", simulated_in(question.context));
    archive.derived("since_unix_ms", span->since);
    archive.derived("step_ms", step_ms);
    archive.derived_list("devices", values, [&](const auto& device) {
      archive.derived("id", device.first);
      archive.derived("values", device.second);
    });
  });
}

HttpResponse answer_history(const Question& question) {
  if (question.context.history == nullptr) return no_history(question.context);
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
  const auto series = question.context.history->series({.devices = {DeviceId(std::string(*device))},
                                                        .metric = *metric,
                                                        .since = span->since,
                                                        .until = span->until,
                                                        .points = *points});
  if (!series) return error_response(series.error());
  if (series->front().points.empty() && !is_here(*device, question.context)) {
    return error_response(404, "not_found",
                          "no device " + printable(*device) +
                              " is here, and the history has nothing of one in this time",
                          "GET /api/v1/devices lists the ids");
  }
  return json_response(series_json(series->front(), simulated_in(question.context)));
}

HttpResponse answer_usage(const Question& question) {
  if (question.context.history == nullptr) return no_history(question.context);
  const auto span = span_of(question);
  if (!span) return span.error();
  const std::string_view name = parameter_of(question.request, "by").value_or("user");
  const auto by = usage_by_from_name(name);
  if (!by) {
    return error_response(400, "bad_parameter", "by=" + printable(name) + " cannot be used",
                          "by=user, job, gpu or day");
  }
  const EnergyPrice& price = question.context.price;
  auto usage = question.context.history->usage(
      {.by = *by, .since = span->since, .until = span->until, .price_per_kwh = price.per_kwh});
  if (!usage) return error_response(usage.error());
  std::erase_if(usage->rows, [&](const UsageRow& row) { return !may_see(question, *by, row); });
  return json_response(usage_json(*usage, simulated_in(question.context), price.currency));
}

HttpResponse answer_timeline(const Question& question) {
  if (question.context.history == nullptr) return no_history(question.context);
  const auto span = span_of(question);
  if (!span) return span.error();
  constexpr std::uint64_t most = 10'000;
  const auto limit = number_parameter(question.request, "limit", 2000, 1, most);
  if (!limit) return limit.error();
  const auto timeline = question.context.history->timeline(span->since, span->until, *limit);
  if (!timeline) return error_response(timeline.error());
  std::vector<ShownSpan> spans;
  for (const history::Span& kept : timeline->spans) spans.push_back(shown_span(question, kept));
  std::ranges::transform(timeline->events, std::back_inserter(spans), shown_moment);
  return json_answer([&](Archive& archive) {
    archive.derived("simulated", simulated_in(question.context));
    archive.derived_list("devices", timeline->devices, [&](const HistoryDevice& device) {
      archive.derived("id", device.id);
      archive.derived("index", device.index);
      archive.derived("name", device.name);
    });
    archive.derived("left_out", timeline->left_out);
    archive.derived_list("spans", spans, [&](const ShownSpan& span) { write_span(archive, span); });
  });
}

HttpResponse answer_events_log(const Question& question) {
  if (question.context.history == nullptr) return no_history(question.context);
  const auto span = span_of(question);
  if (!span) return span.error();
  constexpr std::uint64_t most = 10'000;
  const auto limit = number_parameter(question.request, "limit", 2000, 1, most);
  if (!limit) return limit.error();
  auto events = question.context.history->events(span->since, span->until);
  if (!events) return error_response(events.error());
  const std::size_t left_out = keep_newest(*events, *limit);
  return json_answer([&](Archive& archive) {
    archive.derived("simulated", simulated_in(question.context));
    archive.derived("left_out", left_out);
    archive.derived_list("events", *events,
                         [&](const HistoryEvent& event) { write_event(archive, event); });
  });
}

}  // namespace berth::serve
