#include "serve/workers.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace berth::serve {

struct Workers::Shared {
  static constexpr std::size_t most_waiting = 64;

  std::mutex mutex;  // guards all below
  std::condition_variable news;
  std::deque<std::function<void()>> waiting;
  bool ends = false;
  int busy = 0;

  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      news.wait(lock, [this] { return ends || !waiting.empty(); });
      if (ends) return;
      const std::function<void()> next = std::move(waiting.front());
      waiting.pop_front();
      ++busy;
      lock.unlock();
      try {
        next();
      } catch (const std::exception&) {
        // Its giver answers for what it throws; this thread serves the others as well.
      }
      lock.lock();
      --busy;
      news.notify_all();
    }
  }
};

Workers::Workers(int threads) : shared_(std::make_shared<Shared>()) {
  for (int i = 0; i < threads; ++i) {
    std::thread([shared = shared_] { shared->work(); }).detach();
  }
}

Workers::~Workers() {
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->waiting.clear();
  shared_->news.notify_all();
  constexpr std::chrono::milliseconds patience{500};
  shared_->news.wait_for(lock, patience, [this] { return shared_->busy == 0; });
}

bool Workers::give(std::function<void()> work) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting.size() >= Shared::most_waiting) return false;
  shared_->waiting.push_back(std::move(work));
  shared_->news.notify_one();
  return true;
}

}  // namespace berth::serve
