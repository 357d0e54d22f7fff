#include "app/kept_history.h"

#include <chrono>

#include "app/verb.h"
#include "base/tr.h"

namespace berth {

namespace {

/// A disk that answers has its history open by then; one that does not holds nobody up.
constexpr std::chrono::milliseconds opening_patience{500};
constexpr std::chrono::seconds between_openings{10};
/// Damage that a reader met is looked for in the whole file: not for each who asks.
constexpr std::chrono::seconds between_checks{60};

}  // namespace

void KeptHistory::open(const std::string& path, const HistoryOptions& options) {
  options_ = options;
  stored_.emplace(path);
  start();
  writer_->wait_until_open(opening_patience);
}

void KeptHistory::start() { writer_ = HistoryWriter::start(stored_->path(), options_, clock_); }

/// A disk that is full is emptied some day, and another server that has the store ends.
void KeptHistory::give_up(const HistoryStatus& status) {
  if (!std::exchange(has_failed_, true)) {
    complain(trf("no history is kept until this is over: {}", tr_composed(status.trouble)));
  }
  writer_.reset();
  next_opening_ = clock_.now() + between_openings;
  disk_free_ = status.disk_free;
  lost_ += status.dropped + status.lost;
}

KeptHistory::State KeptHistory::without_writer() const {
  return {.figures = {.used = {},
                      .limit = options_.at_most,
                      .disk_free = disk_free_,
                      .is_writing = false},
          .lost = lost_};
}

std::optional<KeptHistory::State> KeptHistory::check() {
  if (!stored_) return std::nullopt;
  const Instant now = clock_.now();
  if (!writer_ && now >= next_opening_) start();
  if (!writer_) return without_writer();
  for (const std::string& note : writer_->take_notes()) note_("history", note);
  const HistoryStatus status = writer_->status();
  if (status.stage == HistoryStage::failed) {
    give_up(status);
    return without_writer();
  }
  const bool is_open = status.stage == HistoryStage::open;
  if (is_open && std::exchange(has_failed_, false)) complain(tr("a history is kept from now on"));
  if (!is_open && !has_failed_) {
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
               .lost = lost_ + status.dropped + status.lost};
}

const serve::History* KeptHistory::readable() const {
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

}  // namespace berth
