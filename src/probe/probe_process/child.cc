#include "probe/probe_process/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/signals.h"

namespace berth {

namespace {

/// Moves the pipes to their numbers and closes everything else.
void keep_only(int answers, int requests) {
  constexpr long close_range_number = 436;  // x86-64 and arm64
  constexpr int out_of_the_way = 10;
  const int high_answers = ::fcntl(answers, F_DUPFD, out_of_the_way);
  const int high_requests = requests < 0 ? -1 : ::fcntl(requests, F_DUPFD, out_of_the_way);
  ::dup2(high_answers, probe_answers);
  if (requests >= 0) ::dup2(high_requests, probe_requests);
  const int first_closed = requests < 0 ? probe_requests : probe_requests + 1;
  if (::syscall(close_range_number, first_closed, ~0U, 0) != 0) {  // before Linux 5.9
    for (int fd = first_closed; fd < ::sysconf(_SC_OPEN_MAX); ++fd) ::close(fd);
  }
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2 && null >= 0; ++fd) ::dup2(null, fd);
  if (null >= first_closed) ::close(null);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace

Result<ProbeChild> start_probe_child(const std::function<void()>& body, Requests requests) {
  // With fewer it could not even load the driver's library, and would find no device.
  constexpr rlim_t fewest_files = 32;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < fewest_files) {
    return fail(ErrorCode::io,
                "starting the probe process: {} files may be open at once, and it needs {}",
                files.rlim_cur, fewest_files);
  }
  auto answers = make_pipe();
  if (!answers) return std::unexpected(std::move(answers).error());
  Pipe asked;
  if (requests == Requests::some) {
    auto made = make_pipe();
    if (!made) return std::unexpected(std::move(made).error());
    asked = std::move(*made);
  }
  const auto pid = fork_process([&] {
    keep_only(answers->write.get(), asked.read.get());
    body();
    return 0;
  });
  if (!pid) return std::unexpected(pid.error());
  return ProbeChild{
      .pid = *pid, .answers = std::move(answers->read), .requests = std::move(asked.write)};
}

EndingChild::~EndingChild() {
  if (pid_ == 0) return;
  constexpr auto patience = std::chrono::milliseconds(100);
  const auto ended = reap_if_ended(pid_);
  if (!ended || *ended) return;
  if (const auto end = open_pidfd(pid_)) (void)wait_readable({end->get()}, patience);
  (void)reap_if_ended(pid_);
}

Sentence how_it_ended(const Result<std::optional<Exit>>& ended) {
  if (ended && *ended && (*ended)->signal != 0) return sentence("signal {}", (*ended)->signal);
  if (ended && *ended) return sentence("exit code {}", (*ended)->code);
  return sentence("an unknown cause");
}

}  // namespace berth
