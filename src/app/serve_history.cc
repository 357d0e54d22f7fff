#include "app/serve_history.h"

#include <utility>

#include "app/history_options.h"

namespace berth {

Result<HistorySeries> StoredHistory::series(const SeriesQuery& query) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(std::move(reader).error());
  return reader->series(query);
}

Result<UsageReport> StoredHistory::usage(UsageQuery query) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(std::move(reader).error());
  query.offset_at = local_offset_at;
  return reader->usage(query);
}

Result<serve::Timeline> StoredHistory::timeline(WallTime since, WallTime until,
                                                std::size_t most) const {
  auto reader = HistoryReader::open(path_);
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

Result<std::vector<HistoryEvent>> StoredHistory::events(WallTime since, WallTime until) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return std::unexpected(std::move(reader).error());
  return reader->events(since, until);
}

}  // namespace berth
