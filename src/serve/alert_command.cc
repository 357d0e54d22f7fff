#include "serve/alert_command.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"
#include "run/tree.h"

namespace berth::serve {

namespace {

constexpr std::string_view went_well = "+";
/// How long the process above the command may take over ending it.
constexpr std::chrono::seconds grace_at_the_end{5};

/// A file of nobody's with this in it, at its beginning.
Result<Fd> file_with(const std::string& text) {
  Fd file(::memfd_create("alert", MFD_CLOEXEC));
  if (!file.is_open()) return fail_system(errno, "make a file in memory");
  if (auto written = write_all(file.get(), text); !written) {
    return std::unexpected(std::move(written).error());
  }
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return fail_system(errno, "rewind a file in memory");
  return file;
}

/// The command's own process, until it becomes the command. Only returns where that fails.
int become_command(const AlertCommand& command, int input) {
  if (!start_session() || ::dup2(input, 0) < 0) return exit_code::cannot_execute;
  reset_signals();
  const Error error = execute(command.command, command.environment, command.search_path);
  return error.code() == ErrorCode::not_found ? exit_code::not_found : exit_code::cannot_execute;
}

void end_all_descendants() {
  constexpr int most_rounds = 50;
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<ProcessId> left = run_processes(own_process_id().pid, "/proc");
    signal_all(left, SIGKILL);
    while (next_child_change()) {
    }
    if (left.empty()) return;
    SystemClock clock;
    clock.wait_until(clock.now() + std::chrono::milliseconds(20));
  }
}

std::string outcome_of(const AlertCommand& command, const Exit& ended) {
  if (ended.signal != 0) return fmt::format("it was ended by signal {}", ended.signal);
  const std::string& name = command.command.front();
  if (ended.code == 0) return std::string(went_well);
  if (ended.code == exit_code::not_found)
    return fmt::format("{} cannot be found, or exited with 127", name);
  if (ended.code == exit_code::cannot_execute)
    return fmt::format("{} cannot be run, or exited with 126", name);
  return fmt::format("{} exited with {}", name, ended.code);
}

/// Runs the command and waits for it; what came of that, in a word.
std::string supervise(const AlertCommand& command, int input) {
  SystemClock clock;
  if (!adopt_orphans()) return "the command could not be watched over";
  const auto child = fork_process([&] { return become_command(command, input); });
  if (!child) return child.error().message();
  const auto handle = open_pidfd(*child);
  const Instant deadline = clock.now() + command.patience;
  while (clock.now() < deadline) {
    const auto ended = reap_if_ended(*child);
    if (!ended) return ended.error().message();
    // What it left running in the background is its own business.
    if (*ended) return outcome_of(command, **ended);
    const Instant next =
        handle ? deadline : std::min(deadline, clock.now() + std::chrono::milliseconds(50));
    if (handle) {
      static_cast<void>(clock.wait_readable(handle->get(), next));
    } else {
      clock.wait_until(next);
    }
  }
  end_all_descendants();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(command.patience).count();
  return fmt::format("{} took longer than {} s and was ended", command.command.front(),
                     static_cast<double>(ms) / 1000);
}

/// The process above a command, as the loop knows it.
struct Watch {
  Watch(Loop& the_loop, Clock& the_clock, std::function<void(Result<void>)> to_tell)
      : loop(the_loop), clock(the_clock), done(std::move(to_tell)) {}
  Loop& loop;
  Clock& clock;
  std::function<void(Result<void>)> done;
  Fd news;
  pid_t above = 0;
  Instant end{};
};

/// A child that was killed, or that has said its last word, is gone in a moment. The loop need not
/// wait for it.
void bury(Loop& loop, pid_t child) {
  const auto ended = reap_if_ended(child);
  if (ended && !*ended)
    loop.after(std::chrono::milliseconds(50), [&loop, child] { bury(loop, child); });
}

void hear(const std::shared_ptr<Watch>& watch);

void await_word(const std::shared_ptr<Watch>& watch) {
  const Duration left = std::max(watch->end - watch->clock.now(), Duration{0});
  watch->loop.when_readable(watch->news.get(), left, [watch] { hear(watch); });
}

void hear(const std::shared_ptr<Watch>& watch) {
  // Ready or not: nothing may block here.
  std::string word;
  const bool has_news = wait_readable({watch->news.get()}, Duration(0)).front();
  if (has_news) {
    char piece[1024];
    const ssize_t got = ::read(watch->news.get(), piece, sizeof piece);
    if (got > 0) word.assign(piece, static_cast<std::size_t>(got));
  } else if (watch->clock.now() < watch->end) {
    return await_word(watch);
  } else {
    static_cast<void>(signal_child(watch->above, SIGKILL));
  }
  bury(watch->loop, watch->above);
  if (word == went_well) return watch->done({});
  if (word.empty()) word = "the process that ran it ended without a word";
  watch->done(fail(ErrorCode::io, Sentence(word)));
}

}  // namespace

Result<void> run_and_wait(const AlertCommand& command) {
  const auto input = file_with(command.input);
  if (!input) return std::unexpected(input.error());
  const std::string word = supervise(command, input->get());
  if (word == went_well) return {};
  return fail(ErrorCode::io, Sentence(word));
}

void run_alert_command(Loop& loop, Clock& clock, AlertCommand command,
                       std::function<void(Result<void>)> done) {
  const auto refuse = [&](const Error& error) {
    loop.post([done, error] { done(std::unexpected(error)); });
  };
  const auto input = file_with(command.input);
  if (!input) return refuse(input.error());
  auto pipe = make_pipe();
  if (!pipe) return refuse(pipe.error());
  const auto above = fork_process([&] {
    // What the server listens on and whom it talks to is nobody's but its own. Where it ends before
    // the command does, the command has its time all the same.
    close_descriptors({input->get(), pipe->write.get()});
    if (!close_standard_streams()) return 1;
    const std::string word = supervise(command, input->get());
    return write_all(pipe->write.get(), word.substr(0, 1000)) ? 0 : 1;
  });
  if (!above) return refuse(above.error());
  auto watch = std::make_shared<Watch>(loop, clock, std::move(done));
  watch->above = *above;
  watch->news = std::move(pipe->read);
  watch->end = clock.now() + command.patience + grace_at_the_end;
  await_word(watch);
}

}  // namespace berth::serve
