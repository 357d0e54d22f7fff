#pragma once
// Memory that a probe process shares with its watcher: what it learned so far, and what it is
// doing. Nothing of it is lost when the process is stuck or dies. A look of a hundred steps costs
// no system call, and wakes nobody before its end.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace berth {

class Channel {
 public:
  [[nodiscard]] static Result<Channel> open();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  // --- the probe process ---
  /// False: it is full, and the message is lost.
  bool write(std::string_view bytes);
  void note_step();

  // --- the watching side ---
  /// While no probe process writes.
  void clear();
  /// All that was written since clear(), a part of a message at its end included.
  [[nodiscard]] std::string_view bytes() const;
  /// Changes with every step begun: while it stands still, the process is at one step.
  [[nodiscard]] std::uint64_t steps() const;
  [[nodiscard]] bool is_full() const;

 private:
  struct Shared {
    std::atomic<std::uint64_t> length;
    std::atomic<std::uint64_t> steps;
    std::atomic<bool> full;
  };
  static constexpr std::size_t size = std::size_t{64} << 20;  // of addresses; pages come with use
  static constexpr std::size_t header = 64;

  explicit Channel(void* memory) : memory_(memory) {}
  [[nodiscard]] Shared& shared() const { return *static_cast<Shared*>(memory_); }
  [[nodiscard]] char* data() const { return static_cast<char*>(memory_) + header; }

  void* memory_ = nullptr;
};

}  // namespace berth
