#include "serve/kept_history.h"

#include <chrono>
#include <utility>

#include "config/policy_file.h"
#include "record/history/metric.h"
#include "record/history/reader.h"

namespace berth::serve {

namespace {

/// A disk that answers has its history open by then. A disk that does not holds nobody up.
constexpr std::chrono::milliseconds opening_patience{500};
constexpr std::chrono::seconds between_openings{10};
/// Damage that a reader met is looked for in the whole file: not for each who asks.
constexpr std::chrono::seconds between_checks{60};

Error for_anybody(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return Error(code, "the history is still empty: ask again in a few seconds");
    case ErrorCode::busy:
    case ErrorCode::timeout:
      return Error(code, "the history is busy: ask again");
    case ErrorCode::invalid:
      return Error(ErrorCode::io,
                   "the history is damaged; a file that is is set aside, and a new history begins");
    case ErrorCode::unsupported:
    case ErrorCode::no_permission:
    case ErrorCode::io:
      break;
  }
  return Error(ErrorCode::io, "the history cannot be read now; the log of berth serve says why");
}

Result<Timeline> timeline_in(const std::string& path, WallTime since, WallTime until,
                             std::size_t most) {
  auto reader = HistoryReader::open(path);
  if (!reader) return std::unexpected(std::move(reader).error());
  auto facts = reader->facts();
  if (!facts) return std::unexpected(std::move(facts).error());
  auto spans = reader->spans(since, until, history::SpanChoice::leases_and_users);
  if (!spans) return std::unexpected(std::move(spans).error());
  auto events = reader->events(since, until);
  if (!events) return std::unexpected(std::move(events).error());
  Timeline timeline{.devices = std::move(facts->devices),
                    .spans = *std::move(spans),
                    .events = *std::move(events)};
  timeline.left_out = keep_newest(timeline.spans, most) + keep_newest(timeline.events, most);
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

Result<std::vector<HistorySeries>> StoredHistory::series(const SeriesQuery& query) const {
  using Found = std::vector<HistorySeries>;
  auto reader = HistoryReader::open(path_);
  if (!reader) return told<Found>(std::unexpected(std::move(reader).error()));
  auto found = reader->series(query);
  // What was asked is wrong, not the store.
  const auto* facts = history::find_metric(query.metric);
  const bool is_known = facts != nullptr && facts->read != nullptr;
  return is_known ? told(std::move(found)) : found;
}

Result<UsageReport> StoredHistory::usage(UsageQuery query) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return told<UsageReport>(std::unexpected(std::move(reader).error()));
  query.offset_at = offset_at_;
  return told(reader->usage(query));
}

Result<Timeline> StoredHistory::timeline(WallTime since, WallTime until, std::size_t most) const {
  return told(timeline_in(path_, since, until, most));
}

Result<std::vector<HistoryEvent>> StoredHistory::events(WallTime since, WallTime until) const {
  auto reader = HistoryReader::open(path_);
  if (!reader) return told<std::vector<HistoryEvent>>(std::unexpected(std::move(reader).error()));
  return told(reader->events(since, until));
}

void KeptHistory::open(const std::string& path, const HistoryOptions& options,
                       HistoryStore::Past past) {
  options_ = options;
  past_ = std::move(past);
  stored_.emplace(path, offset_at_);
  start();
  writer_->wait_until_open(opening_patience);
}

void KeptHistory::start() {
  constexpr std::size_t queue_length = 64;
  writer_ = HistoryWriter::start(stored_->path(), options_, clock_, queue_length, past_);
}

/// A disk that is full is emptied some day, and another server that has the store ends.
KeptHistory::State KeptHistory::give_up(const HistoryStatus& status) {
  const bool is_new = !std::exchange(has_failed_, true);
  writer_.reset();
  next_opening_ = clock_.now() + between_openings;
  disk_free_ = status.disk_free;
  lost_ += status.dropped + status.lost;
  State state = without_writer();
  if (is_new) state.stopped_because = Sentence(status.trouble);
  return state;
}

KeptHistory::State KeptHistory::without_writer() const {
  return {.figures = {.limit = options_.at_most, .disk_free = disk_free_, .is_writing = false},
          .lost = lost_};
}

std::optional<KeptHistory::State> KeptHistory::check() {
  if (!stored_) return std::nullopt;
  const Instant now = clock_.now();
  if (!writer_ && now >= next_opening_) start();
  if (!writer_) return without_writer();
  for (const std::string& note : writer_->take_notes()) note_("history", note);
  const HistoryStatus status = writer_->status();
  if (status.stage == HistoryStage::failed) return give_up(status);
  const bool is_open = status.stage == HistoryStage::open;
  const bool goes_on = is_open && std::exchange(has_failed_, false);
  if (!is_open && !has_failed_ && !past_) {
    note_("history", "the history is still being opened: its disk is slow");
  }
  if (const auto trouble = stored_->take_trouble()) {
    note_("reading the history", trouble->message());
    if (trouble->code() == ErrorCode::invalid && now >= next_check_) {
      next_check_ = now + between_checks;
      writer_->verify();
    }
  }
  return State{.figures = {.used = status.disk_used,
                           .limit = options_.at_most,
                           .disk_free = status.disk_free,
                           .is_writing = is_open && status.trouble.empty()},
               .lost = lost_ + status.dropped + status.lost,
               .goes_on = goes_on};
}

const History* KeptHistory::readable() const {
  return writer_ && writer_->status().stage == HistoryStage::open ? &*stored_ : nullptr;
}

bool KeptHistory::is_opening() const {
  return writer_ && writer_->status().stage == HistoryStage::opening;
}

void KeptHistory::offer(std::shared_ptr<const Snapshot> snapshot) {
  if (writer_) {
    writer_->offer(std::move(snapshot));
  } else if (stored_) {
    ++lost_;
  }
}

void KeptHistory::offer(HistoryEvent event) {
  if (writer_) writer_->offer(std::move(event));
}

void KeptHistory::end() {
  if (writer_) writer_->end();
}

bool KeptHistory::stop(Duration patience) { return !writer_ || writer_->stop(patience); }

Result<void> write_hours_from(const std::string& history, WallTime now, const std::string& file) {
  auto reader = HistoryReader::open(history);
  if (!reader) return std::unexpected(std::move(reader).error());
  constexpr std::chrono::milliseconds window = hours_window;
  const auto report =
      reader->usage({.since = WallTime{now.unix_ms - window.count()}, .until = now});
  if (!report) return std::unexpected(report.error());
  std::map<uid_t, double> hours;
  for (const UsageRow& row : report->rows) {
    if (row.uid && *row.uid >= 0) hours[static_cast<uid_t>(*row.uid)] += row.gpu_hours;
  }
  return write_hours(hours, now, file);
}

void HoursKeeper::keep(const Moment& now) {
  if (now.steady < due_) return;
  constexpr std::chrono::seconds between{60};
  due_ = now.steady + between;
  // What fails is seen by those who read: they say that nobody counts.
  (void)workers_.give([history = history_, file = file_, at = now.wall] {
    (void)write_hours_from(history, at, file);
  });
}

}  // namespace berth::serve
