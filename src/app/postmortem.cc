#include "app/postmortem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "app/records.h"
#include "base/encoding.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/driver_log.h"
#include "probe/procfs/procfs_probe.h"

namespace berth {

namespace {

/// What stands in a file before the part that is read.
struct LogHead {
  std::string beginning;       // its first bytes, which tell the encoding
  std::uint64_t left_out = 0;  // how much of it was skipped
};

/// Everything that comes, of which the last part is kept: a pipe cannot be read from its end.
Result<LogTail> read_to_end(int fd, const std::string& name, LogHead head = {}) {
  LogTail tail;
  std::array<char, 16384> piece{};
  const auto keep_the_end = [&] {
    if (head.left_out == 0) head.beginning = tail.bytes.substr(0, byte_order_mark_length);
    if (tail.bytes.size() <= longest_log) return;
    head.left_out += tail.bytes.size() - longest_log;
    tail.bytes.erase(0, tail.bytes.size() - longest_log);
  };
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system("read " + name, errno);
    if (got == 0) break;
    tail.bytes.append(piece.data(), static_cast<std::size_t>(got));
    if (tail.bytes.size() > 2 * longest_log) keep_the_end();
  }
  keep_the_end();
  tail.cut = head.left_out > 0;
  tail.bytes = as_utf8(std::move(tail.bytes), head.beginning, head.left_out);
  return tail;
}

Result<LogTail> read_end_of(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_system("read " + path, errno);
  const auto most = static_cast<off_t>(longest_log);
  if (!S_ISREG(status.st_mode) || status.st_size <= most) return read_to_end(fd, path);
  std::array<char, byte_order_mark_length> first{};
  const ssize_t got = ::pread(fd, first.data(), first.size(), 0);
  const off_t from = ::lseek(fd, -most, SEEK_END);
  if (got < 0 || from < 0) return fail_system("read " + path, errno);
  return read_to_end(fd, path,
                     {.beginning = {first.data(), static_cast<std::size_t>(got)},
                      .left_out = static_cast<std::uint64_t>(from)});
}

Result<LogTail> read_output(const RunRecord& run) {
  const auto fd = open_log(run);
  if (!fd) return std::unexpected(fd.error());
  return read_end_of(fd->get(), *run.manifest.log);
}

void add_samples(const RunRecord& run, PostmortemEvidence& evidence) {
  constexpr std::size_t most = 100'000;
  std::set<pid_t> pids;
  NeighbourWatch neighbours;
  (void)for_each_sample(run, [&](const Sample& sample) {
    neighbours.add(sample);
    for (const ProcessSample& one : sample.processes) {
      if (pids.size() < most) pids.insert(one.pid);
    }
  });
  evidence.processes.assign(pids.begin(), pids.end());
  evidence.neighbours = neighbours.growths();
}

/// All records are read only where there can be a sibling among them.
void add_siblings(const Context& context, PostmortemEvidence& evidence) {
  if (!rank_place_of(evidence.run.manifest)) return;
  const auto state = records_directory(context);
  const auto list = state ? list_runs(*state) : Result<RunList>(std::unexpected(state.error()));
  if (list) evidence.siblings = siblings_of(evidence.run, list->runs);
}

/// The kernel's log speaks of this machine alone, and of a simulated one's devices not at all.
void add_kernel_log(const Context& context, WallTime now, PostmortemEvidence& evidence) {
  if (evidence.run.state == RunState::elsewhere) return;
  const ProcfsProbe kernel({.kernel_log = context.sources().kernel_log});
  evidence.oom_kills = kernel.oom_kills(now);
  if (!context.sources().simulated && !evidence.run.manifest.given.simulated) {
    evidence.xids =
        DriverLog(context.sources().kernel_log, context.sources().proc).read(now).errors;
    evidence.driver_loads = kernel.driver_loads(now);
  }
}

}  // namespace

Result<LogTail> read_log_tail(const std::string& path) {
  if (path == "-") return read_to_end(STDIN_FILENO, "stdin");
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fail_system("open " + path, errno);
  // A device has no end, and the kernel's log looks like a file. A pipe has one: `<(command)`.
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    return fail(ErrorCode::invalid, trf("{} is no file that a log could be in", printable(path)));
  }
  const int waits = S_ISFIFO(status.st_mode) ? 0 : O_NONBLOCK;
  const auto fd = open_fd(path, O_RDONLY | O_NOCTTY | waits);
  if (!fd) return std::unexpected(fd.error());
  return read_end_of(fd->get(), path);
}

GatheredPostmortem gather_postmortem(const Context& context, const RunRecord& run, Gather how,
                                     WallTime now) {
  GatheredPostmortem gathered{.log = nullptr,
                              .why_no_log = {},
                              .evidence = {.run = run,
                                           .events = events_of(run),
                                           .processes = {},
                                           .neighbours = {},
                                           .siblings = {},
                                           .log = nullptr,
                                           .xids = {},
                                           .oom_kills = {},
                                           .driver_loads = {}}};
  add_samples(run, gathered.evidence);
  add_kernel_log(context, now, gathered.evidence);
  if (how == Gather::without_log) return gathered;
  add_siblings(context, gathered.evidence);
  if (!run.manifest.log) {
    gathered.why_no_log =
        tr("Its output went to where it was started and was not kept. With `berth run --detach` it "
           "is kept; or give it to `berth explain --log FILE`.");
    return gathered;
  }
  auto tail = read_output(run);
  if (!tail) {
    gathered.why_no_log = tr_composed(tail.error().message());
    return gathered;
  }
  gathered.log = std::make_unique<LogText>(tail->bytes, tail->cut);
  gathered.evidence.log = gathered.log.get();
  return gathered;
}

}  // namespace berth
