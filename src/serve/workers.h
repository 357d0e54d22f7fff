#pragma once
// A few threads for slow acts: reading files of a slow disk, waiting for processes to end. Work
// that does not fit into their queue is refused at once.

#include <functional>
#include <memory>

namespace berth::serve {

class Workers {
 public:
  explicit Workers(int threads);
  /// Waits half a second for what is being done; a thread that hangs in the kernel is left behind.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False: the queue is full.
  [[nodiscard]] bool give(std::function<void()> work);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace berth::serve
