// Children that are asked something: what they say is read, and they are ended when it is enough.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"

namespace berth {

Result<std::string> output_of(const std::vector<std::string>& command,
                              const std::vector<std::string>& environment,
                              const std::string& search_path, Clock& clock, Duration patience) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(std::move(pipe).error());
  const Instant deadline = clock.now() + patience;
  const auto child = fork_process([&] {
    const auto closed = close_standard_streams();
    if (!closed || ::dup2(pipe->write.get(), 1) < 0) return 127;
    (void)execute(command, environment, search_path);
    return 127;
  });
  if (!child) return std::unexpected(child.error());
  pipe->write.close();
  std::string output;
  for (bool open = true; open;) {
    const Duration left = deadline - clock.now();
    if (left <= Duration(0)) {
      ::kill(*child, SIGKILL);  // our child, not reaped yet: the pid is still its own
      (void)reap(*child);
      return fail(ErrorCode::timeout, "{} took too long and was ended", command.at(0));
    }
    if (!wait_readable({pipe->read.get()}, left).front()) continue;
    char piece[4096];
    const ssize_t got = ::read(pipe->read.get(), piece, sizeof piece);
    if (got > 0) output.append(piece, static_cast<std::size_t>(got));
    open = got > 0;
  }
  const auto ended = reap(*child);
  if (!ended) return std::unexpected(ended.error());
  if (shell_exit_code(*ended) != 0) {
    return fail(ErrorCode::io, "{} ended with exit code {}", command.at(0),
                shell_exit_code(*ended));
  }
  return output;
}

namespace {
/// Appends what is there to read, and says where that was more than there is room for; false: its
/// end.
bool read_piece(int fd, std::string& into, std::size_t limit, bool& is_cut) {
  char piece[4096];
  const ssize_t got = ::read(fd, piece, sizeof piece);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  const std::size_t room = limit - std::min(limit, into.size());
  into.append(piece, std::min(static_cast<std::size_t>(got), room));
  is_cut = is_cut || static_cast<std::size_t>(got) > room;
  return got > 0;
}

/// Kills the child's session; waits a moment for its end, not for one that is stuck.
void end_session_of(pid_t child, Clock& clock) {
  ::kill(-child, SIGKILL);  // its group, which start_session() named after it
  ::kill(child, SIGKILL);   // it may not have come that far
  for (int i = 0; i < 50; ++i) {
    const auto ended = reap_if_ended(child);
    if (!ended || *ended) return;
    clock.wait_until(clock.now() + std::chrono::milliseconds(10));
  }
}

/// What an ended child left in a pipe that others may hold open, and write to, still.
void read_rest(int fd, std::string& into, std::size_t limit, bool& is_cut) {
  constexpr int pieces_of_a_pipe = 17;  // it holds 64 KiB
  for (int i = 0; i < pieces_of_a_pipe && wait_readable({fd}, Duration(0)).front(); ++i) {
    if (!read_piece(fd, into, limit, is_cut)) return;
  }
}

/// What the child does before its body.
bool become_watched(pid_t parent, int out, int err) {
  return start_session() && die_with_parent(parent) && close_standard_streams() &&
         ::dup2(out, 1) == 1 && ::dup2(err, 2) == 2;
}
}  // namespace

Result<ChildAnswer> ask_child(const std::function<int()>& body, Clock& clock, Duration patience,
                              std::size_t most_out) {
  return hear_child(body, clock, patience, {}, most_out);
}

Result<ChildAnswer> hear_child(const std::function<int()>& body, Clock& clock, Duration patience,
                               const WhileAsked& meanwhile, std::size_t most_out) {
  auto out = make_pipe();
  auto err = make_pipe();
  if (!out) return std::unexpected(std::move(out).error());
  if (!err) return std::unexpected(std::move(err).error());
  const Instant deadline = clock.now() + patience;
  const pid_t parent = ::getpid();
  const auto child = fork_process(
      [&] { return become_watched(parent, out->write.get(), err->write.get()) ? body() : 127; });
  if (!child) return std::unexpected(child.error());
  out->write.close();
  err->write.close();
  ChildAnswer answer;
  // Its end is the child's own, not that of the pipes: what it started may hold them for ever.
  const auto end = open_pidfd(*child);  // none before Linux 5.3: there the pipes' end it is
  bool out_open = true;
  bool err_open = true;
  std::size_t told = 0;
  const auto tell = [&] {
    if (meanwhile.on_err && answer.err.size() > told) meanwhile.on_err(answer.err.substr(told));
    told = answer.err.size();
  };
  const auto is_time_over = [&] {
    return clock.now() >= deadline || (meanwhile.is_enough && meanwhile.is_enough());
  };
  while (out_open || err_open) {
    tell();
    const Duration left = deadline - clock.now();
    if (is_time_over()) break;
    // Not all of it at once: the clock may be one that shows how long it takes.
    const auto ready = wait_readable(
        {out_open ? out->read.get() : -1, err_open ? err->read.get() : -1, end ? end->get() : -1},
        std::min<Duration>(left, std::chrono::milliseconds(100)));
    if (ready[2]) {
      if (out_open) read_rest(out->read.get(), answer.out, most_out, answer.is_cut);
      if (err_open) read_rest(err->read.get(), answer.err, 1 << 16, answer.is_cut);
      ::kill(-*child, SIGKILL);  // its group may hold the pipes; not reaped: still its number
      break;
    }
    if (ready[0]) out_open = read_piece(out->read.get(), answer.out, most_out, answer.is_cut);
    if (ready[1]) err_open = read_piece(err->read.get(), answer.err, 1 << 16, answer.is_cut);
  }
  tell();
  // Both ends closed and still running is a child that closed them: it has its time, too. One that
  // has ended has answered, also where that was noticed in the last moment.
  while (true) {
    auto ended = reap_if_ended(*child);
    if (!ended) return std::unexpected(std::move(ended).error());
    if (*ended) {
      answer.exit = **ended;
      return answer;
    }
    if (is_time_over()) break;
    clock.wait_until(clock.now() + std::chrono::milliseconds(2));
  }
  end_session_of(*child, clock);
  return answer;
}

Result<ChildAnswer> answer_of(const std::vector<std::string>& command,
                              const std::vector<std::string>& environment,
                              const std::string& search_path, Clock& clock, Duration patience,
                              std::size_t most_out) {
  return ask_child(
      [&] {
        const Error error = execute(command, environment, search_path);
        (void)write_all(2, error.message());
        return 127;
      },
      clock, patience, most_out);
}

}  // namespace berth
