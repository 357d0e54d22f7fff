#include "record/history/writer.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

namespace berth {

namespace {
using Job = std::variant<std::shared_ptr<const Snapshot>, HistoryEvent>;
/// Without anything new for so long, what is in memory is written.
constexpr std::chrono::seconds patience{2};
}  // namespace

struct HistoryWriter::Shared {
  Shared(HistoryStore opened, std::size_t most) : queue_length(most), store(std::move(opened)) {}

  void run();
  void take(Job job);
  void tell();

  const std::size_t queue_length;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> queue;  // guarded by mutex, as the three below
  bool is_ending = false;
  HistoryStatus status;
  std::vector<std::string> notes;
  HistoryStore store;  // the thread's alone once it runs
  std::string trouble;
  std::thread thread;
};

void HistoryWriter::Shared::take(Job job) {
  Result<void> done;
  if (const auto* snapshot = std::get_if<std::shared_ptr<const Snapshot>>(&job)) {
    done = store.append(**snapshot);
  } else if (const auto* event = std::get_if<HistoryEvent>(&job)) {
    done = store.add(*event);
  }
  trouble = done ? std::string() : done.error().message();
}

void HistoryWriter::Shared::tell() {
  std::vector<std::string> fresh = store.take_notes();
  const std::uint64_t lost = store.lost_samples();
  const Bytes used = store.disk_used();
  const Reading<Bytes> free = store.disk_free();
  const std::lock_guard lock(mutex);
  status.lost = lost;
  status.disk_used = used;
  status.disk_free = free;
  status.trouble = trouble;
  for (std::string& note : fresh) notes.push_back(std::move(note));
}

void HistoryWriter::Shared::run() {
  for (;;) {
    std::deque<Job> jobs;
    bool was_ending = false;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, patience, [&] { return is_ending || !queue.empty(); });
      jobs.swap(queue);
      was_ending = is_ending;
      for (const Job& job : jobs) {
        if (std::holds_alternative<std::shared_ptr<const Snapshot>>(job)) ++status.taken;
      }
    }
    // A throw is a bug of a library; the history ends, the server goes on.
    try {
      const bool is_idle = jobs.empty();
      for (Job& job : jobs) take(std::move(job));
      if (is_idle || was_ending) {
        const auto done = store.flush();
        trouble = done ? std::string() : done.error().message();
      }
      tell();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      is_ending = was_ending = true;
      status.trouble = std::string("the history has stopped: ") + error.what();
      notes.push_back(status.trouble);
    }
    if (was_ending) return;
  }
}

HistoryWriter::HistoryWriter(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
HistoryWriter::~HistoryWriter() { stop(); }

Result<std::unique_ptr<HistoryWriter>> HistoryWriter::start(const std::string& path,
                                                            const HistoryOptions& options,
                                                            Clock& clock,
                                                            std::size_t queue_length) {
  auto store = HistoryStore::open(path, options, clock);
  if (!store) return std::unexpected(std::move(store).error());
  auto shared = std::make_unique<Shared>(*std::move(store), queue_length);
  shared->tell();
  Shared* const running = shared.get();
  shared->thread = std::thread([running] { running->run(); });
  return std::unique_ptr<HistoryWriter>(new HistoryWriter(std::move(shared)));
}

bool HistoryWriter::offer(std::shared_ptr<const Snapshot> snapshot) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_ending || shared_->queue.size() >= shared_->queue_length) {
    ++shared_->status.dropped;
    return false;
  }
  shared_->queue.emplace_back(std::move(snapshot));
  shared_->changed.notify_one();
  return true;
}

bool HistoryWriter::offer(HistoryEvent event) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->is_ending || shared_->queue.size() >= shared_->queue_length) {
    ++shared_->status.dropped;
    return false;
  }
  shared_->queue.emplace_back(std::move(event));
  shared_->changed.notify_one();
  return true;
}

HistoryStatus HistoryWriter::status() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->status;
}

std::vector<std::string> HistoryWriter::take_notes() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->notes, {});
}

void HistoryWriter::stop() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_ending = true;
    shared_->changed.notify_one();
  }
  if (shared_->thread.joinable()) shared_->thread.join();
}

}  // namespace berth
