#include "run/sampler_child.h"

#include <csignal>

#include "base/process.h"
#include "base/signals.h"

namespace berth {

namespace {
constexpr Duration finish_patience = std::chrono::seconds(3);
}  // namespace

Result<void> SamplerChild::start(const SamplerTask& task, const std::function<void()>& let_go) {
  auto down = make_pipe();
  if (!down) return std::unexpected(std::move(down).error());
  auto up = make_pipe();
  if (!up) return std::unexpected(std::move(up).error());
  const auto child = fork_process([&] {
    let_go();
    down->write.close();
    up->read.close();
    to_.close();
    from_.close();
    return sample_run(task, std::move(down->read), std::move(up->write));
  });
  if (!child) return std::unexpected(child.error());
  pid_ = *child;
  to_ = std::move(down->write);
  from_ = std::move(up->read);
  lines_.clear();
  is_ready_ = false;
  return {};
}

void SamplerChild::hear() {
  if (!lines_.add_from(from_.get())) {
    from_.close();
    return;
  }
  while (const auto line = lines_.next()) {
    if (line == "ready") {
      is_ready_ = true;
    } else if (line == "sampled") {
      has_sampled_ = true;
    } else {
      on_line_(*line);
    }
  }
}

void SamplerChild::has_ended() {
  pid_ = 0;
  to_.close();
}

void SamplerChild::ask(Duration patience, Starting starting) {
  if (pid_ == 0 || !to_.is_open()) return;
  has_sampled_ = false;
  if (!write_all(to_.get(), std::string(1, sample_now))) return;
  if (wait_readable({from_.get()}, Duration(0)).front()) hear();
  if (!is_ready_ && starting == Starting::is_left_alone) return;
  const Instant deadline = clock_.now() + patience;
  while (!has_sampled_ && from_.is_open() && clock_.now() < deadline) {
    if (wait_readable({from_.get()}, deadline - clock_.now()).front()) hear();
  }
}

void SamplerChild::finish() {
  if (pid_ == 0) return;
  // It may still be gathering what the manifest is to say.
  const auto ended = open_pidfd(pid_);
  (void)write_all(to_.get(), std::string(1, finish_up));
  if (ended && wait_readable({ended->get()}, finish_patience).front()) return;
  (void)signal_child(pid_, SIGKILL);
}

}  // namespace berth
