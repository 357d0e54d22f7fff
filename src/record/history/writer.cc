#include "record/history/writer.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

namespace berth {

namespace {
using Job = std::variant<std::shared_ptr<const Snapshot>, HistoryEvent>;
/// Without anything new for so long, what is in memory is written.
constexpr std::chrono::seconds patience{2};
constexpr std::chrono::hours longest_past{24 * 30};
}  // namespace

struct HistoryWriter::Shared {
  Shared(std::string file, const HistoryOptions& wanted, Clock& time, std::size_t most,
         HistoryStore::Past before)
      : path(std::move(file)),
        options(wanted),
        clock(time),
        queue_length(most),
        past(std::move(before)) {}

  void run();
  [[nodiscard]] bool open();
  void write_until_end();
  [[nodiscard]] bool offer(Job job);
  void take(Job job);
  void settle(const Result<void>& done);
  void tell();

  const std::string path;
  const HistoryOptions options;
  Clock& clock;
  const std::size_t queue_length;
  const HistoryStore::Past past;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> queue;  // guarded by mutex, as the five below
  bool wants_check = false;
  bool is_ending = false;
  bool has_ended = false;
  HistoryStatus status;
  std::vector<std::string> notes;
  std::optional<HistoryStore> store;  // the thread's alone, as the two below
  std::string trouble;
  std::uint64_t commits = 0;
  std::thread thread;
};

void HistoryWriter::Shared::take(Job job) {
  Result<void> done;
  if (const auto* snapshot = std::get_if<std::shared_ptr<const Snapshot>>(&job)) {
    done = store->append(**snapshot);
  } else if (const auto* event = std::get_if<HistoryEvent>(&job)) {
    done = store->add(*event);
  }
  settle(done);
}

/// Most samples go to memory alone: that it took one says nothing about the disk.
void HistoryWriter::Shared::settle(const Result<void>& done) {
  const bool has_written = store->commits() != std::exchange(commits, store->commits());
  if (!done) {
    trouble = done.error().message();
  } else if (has_written) {
    trouble.clear();
  }
}

void HistoryWriter::Shared::tell() {
  std::vector<std::string> fresh = store->take_notes();
  const std::uint64_t lost = store->lost_samples();
  const Bytes used = store->disk_used();
  const Reading<Bytes> free = store->disk_free();
  const std::lock_guard lock(mutex);
  status.lost = lost;
  status.disk_used = used;
  status.disk_free = free;
  status.trouble = trouble;
  for (std::string& note : fresh) notes.push_back(std::move(note));
}

bool HistoryWriter::Shared::open() {
  auto opened = HistoryStore::open(path, options, clock);
  if (opened) store.emplace(*std::move(opened));
  if (store && past) settle(store->fill_past(past, longest_past));
  if (store) tell();
  const std::lock_guard lock(mutex);
  status.stage = store ? HistoryStage::open : HistoryStage::failed;
  if (!store) status.trouble = opened.error().message();
  changed.notify_all();
  return store.has_value();
}

void HistoryWriter::Shared::write_until_end() {
  for (bool was_ending = false; !was_ending;) {
    std::deque<Job> jobs;
    bool is_checking = false;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, patience, [&] { return is_ending || wants_check || !queue.empty(); });
      jobs.swap(queue);
      was_ending = is_ending;
      is_checking = std::exchange(wants_check, false) && !is_ending;
      for (const Job& job : jobs) {
        if (std::holds_alternative<std::shared_ptr<const Snapshot>>(job)) ++status.taken;
      }
    }
    const bool is_idle = jobs.empty();
    for (Job& job : jobs) take(std::move(job));
    if (is_checking) settle(store->verify());
    if (is_idle || was_ending) settle(store->flush());
    tell();
  }
}

void HistoryWriter::Shared::run() {
  // A throw is a bug of a library; the history ends, the server goes on.
  try {
    if (open()) write_until_end();
    // Closing writes as well.
    store.reset();
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex);
    status.stage = HistoryStage::failed;
    status.trouble = std::string("the history has stopped: ") + error.what();
    notes.push_back(status.trouble);
  }
  const std::lock_guard lock(mutex);
  is_ending = has_ended = true;
  changed.notify_all();
}

HistoryWriter::HistoryWriter(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
HistoryWriter::~HistoryWriter() {
  end();
  if (shared_->thread.joinable()) shared_->thread.join();
}

std::unique_ptr<HistoryWriter> HistoryWriter::start(const std::string& path,
                                                    const HistoryOptions& options, Clock& clock,
                                                    std::size_t queue_length,
                                                    HistoryStore::Past past) {
  auto shared = std::make_unique<Shared>(path, options, clock, queue_length, std::move(past));
  Shared* const running = shared.get();
  shared->thread = std::thread([running] { running->run(); });
  return std::unique_ptr<HistoryWriter>(new HistoryWriter(std::move(shared)));
}

bool HistoryWriter::Shared::offer(Job job) {
  const std::lock_guard lock(mutex);
  if (is_ending || queue.size() >= queue_length) {
    ++status.dropped;
    return false;
  }
  queue.push_back(std::move(job));
  changed.notify_all();
  return true;
}
bool HistoryWriter::offer(std::shared_ptr<const Snapshot> snapshot) {
  return shared_->offer(std::move(snapshot));
}
bool HistoryWriter::offer(HistoryEvent event) { return shared_->offer(std::move(event)); }

void HistoryWriter::verify() {
  const std::lock_guard lock(shared_->mutex);
  shared_->wants_check = true;
  shared_->changed.notify_all();
}

HistoryStatus HistoryWriter::status() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->status;
}

std::vector<std::string> HistoryWriter::take_notes() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->notes, {});
}

void HistoryWriter::wait_until_open(Duration patience) const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, patience,
                            [this] { return shared_->status.stage != HistoryStage::opening; });
}

void HistoryWriter::end() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_ending = true;
  shared_->changed.notify_all();
}

bool HistoryWriter::stop(Duration patience) {
  end();
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, patience, [this] { return shared_->has_ended; });
}

}  // namespace berth
