#pragma once
// The keeper's side of its sampler: starts it, hears what it tells, asks it for a last sample, ends
// it.

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/line_buffer.h"
#include "run/sampler.h"

namespace berth {

class SamplerChild {
 public:
  /// `on_line`: what it tells (run/sampler.h), but "ready" and "sampled".
  SamplerChild(Clock& clock, std::function<void(const std::string&)> on_line)
      : clock_(clock), on_line_(std::move(on_line)) {}

  /// `let_go` is called in the new process: what the keeper holds and the sampler is not to.
  [[nodiscard]] Result<void> start(const SamplerTask& task, const std::function<void()>& let_go);

  /// 0: there is none.
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int descriptor() const { return from_.get(); }
  void hear();
  void has_ended();

  /// What to do with a sampler that has not said anything yet.
  enum class Starting { is_left_alone, is_waited_for };
  /// Asks for a sample and hears it out for a while.
  void ask(Duration patience, Starting starting);

  /// Lets it finish what it gathers, for a while.
  void finish();

 private:
  Clock& clock_;
  std::function<void(const std::string&)> on_line_;
  pid_t pid_ = 0;
  Fd to_;
  Fd from_;
  LineBuffer lines_;
  bool is_ready_ = false;  // its first sample is in the file
  bool has_sampled_ = false;
};

}  // namespace berth
