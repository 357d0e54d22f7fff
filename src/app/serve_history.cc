#include "app/serve_history.h"

#include <utility>

#include "app/history_options.h"
#include "record/history/metric.h"

namespace berth {

namespace {

Error for_anybody(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return {code, "the history is still empty: ask again in a few seconds"};
    case ErrorCode::busy:
    case ErrorCode::timeout:
      return {code, "the history is busy: ask again"};
    case ErrorCode::invalid:
      return {ErrorCode::io,
              "the history is damaged; a file that is is set aside, and a new history begins"};
    case ErrorCode::unsupported:
    case ErrorCode::no_permission:
    case ErrorCode::io:
      break;
  }
  return {ErrorCode::io, "the history cannot be read now; the log of berth serve says why"};
}

Result<serve::Timeline> timeline_in(const std::string& path, WallTime since, WallTime until,
                                    std::size_t most) {
  auto reader = HistoryReader::open(path);
  if (!reader) return std::unexpected(std::move(reader).error());
  auto facts = reader->facts();
  if (!facts) return std::unexpected(std::move(facts).error());
  auto spans = reader->spans(since, until, history::SpanChoice::leases_and_users);
  if (!spans) return std::unexpected(std::move(spans).error());
  auto events = reader->events(since, until);
  if (!events) return std::unexpected(std::move(events).error());
  serve::Timeline timeline{.devices = std::move(facts->devices),
                           .spans = *std::move(spans),
                           .events = *std::move(events)};
  timeline.left_out =
      serve::keep_newest(timeline.spans, most) + serve::keep_newest(timeline.events, most);
  return timeline;
}

}  // namespace

template <class Answer>
Result<Answer> StoredHistory::told(Result<Answer> answer) const {
  if (answer) return answer;
  const ErrorCode code = answer.error().code();
  if (code != ErrorCode::not_found) {
    const std::lock_guard lock(mutex_);
    trouble_ = std::move(answer).error();
  }
  return std::unexpected(for_anybody(code));
}

std::optional<Error> StoredHistory::take_trouble() const {
  const std::lock_guard lock(mutex_);
  return std::exchange(trouble_, std::nullopt);
}

Result<HistorySeries> StoredHistory::series(const SeriesQuery& query) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return told<HistorySeries>(std::unexpected(std::move(reader).error()));
  auto found = reader->series(query);
  // What was asked is wrong, not the store.
  const auto* facts = history::find_metric(query.metric);
  const bool is_known = facts != nullptr && facts->read != nullptr;
  return is_known ? told(std::move(found)) : found;
}

Result<UsageReport> StoredHistory::usage(UsageQuery query) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return told<UsageReport>(std::unexpected(std::move(reader).error()));
  query.offset_at = local_offset_at;
  return told(reader->usage(query));
}

Result<serve::Timeline> StoredHistory::timeline(WallTime since, WallTime until,
                                                std::size_t most) const {
  return told(timeline_in(path_, since, until, most));
}

Result<std::vector<HistoryEvent>> StoredHistory::events(WallTime since, WallTime until) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return told<std::vector<HistoryEvent>>(std::unexpected(std::move(reader).error()));
  return told(reader->events(since, until));
}

}  // namespace berth
