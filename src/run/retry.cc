#include "run/retry.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/variables.h"
#include "record/record_writer.h"
#include "record/run_record.h"

namespace berth {

namespace {

bool counts(FaultKind kind, RetryOn retry_on) {
  switch (retry_on) {
    case RetryOn::never:
      return false;
    case RetryOn::gpu_lost:
      return kind == FaultKind::lost;
    case RetryOn::gpu_fault:
      return kind != FaultKind::job_error;
  }
  return false;
}

}  // namespace

bool may_be_started_again(const RunOptions& options) {
  const bool again = options.job.retry_on != RetryOn::never && options.job.retries > 0;
  return (again || options.job.retry_oom > 0) && options.job.where != RunWhere::cpu;
}

std::vector<DeviceId> devices_to_leave(const RunOptions& options, const std::vector<Device>& given,
                                       const LauncherReport& report) {
  if (options.job.retries <= 0 || !report.exit || report.keeper_lost || report.end_wanted)
    return {};
  const bool stopped_for_it = report.because == end_cause::gpu_fault;
  const bool badly = report.exit->signal != 0 || report.exit->code != 0;
  if (!stopped_for_it && !(badly && report.because.empty())) return {};
  std::vector<DeviceId> leave;
  for (const FaultNews& news : report.faults) {
    if (!counts(news.kind, options.job.retry_on) || news.device >= given.size()) continue;
    const DeviceId& device = given[news.device].id;
    if (std::ranges::find(leave, device) == leave.end()) leave.push_back(device);
  }
  return leave;
}

std::optional<NextMemory> memory_of_next_start(const RunOptions& options, const RunRecord& run,
                                               const LauncherReport& report) {
  if (options.job.retry_oom <= 0 || !report.exit || report.keeper_lost || report.end_wanted ||
      !run.end || run.end->died_of != out_of_gpu_memory) {
    return std::nullopt;
  }
  NextMemory next;
  for (std::size_t i = 0; i < run.manifest.promised.size(); ++i) {
    const auto& promised = run.manifest.promised[i];
    if (!promised) return NextMemory{};
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    const Bytes more((promised->count() / mib + 1) * 3 / 2 * mib);
    const auto& total = run.manifest.given.devices.at(i).memory_total.get();
    if (total && more.count() > total->count()) return NextMemory{};
    next.share = std::max(next.share.value_or(more), more);
  }
  return next;
}

RunOptions next_start(const RunOptions& options, const RunOutcome& ended) {
  RunOptions next = options;
  next.retry_of = ended.id;
  if (ended.next_memory) {
    --next.job.retry_oom;
    next.job.request.memory.reset();
    if (ended.next_memory->share) next.job.request.memory = *ended.next_memory->share;
    // This replaces what was preferred before: what is needed now is room.
    next.job.request.prefer = Preference::most_free;
    next.job.request.preferred.clear();
    const std::vector<Variable> told = {{"BERTH_RETRY_OOM", std::to_string(++next.oom_deaths)}};
    next.environment = with_variables(std::move(next.environment), told);
    return next;
  }
  --next.job.retries;
  for (const DeviceId& device : ended.failed) next.job.request.except.push_back({device.text()});
  return next;
}

bool is_stopped_between(const RunOptions& next) {
  constexpr int most_starts = 1000;  // a record that names itself
  std::string id = next.retry_of;
  for (int start = 0; !id.empty() && start < most_starts; ++start) {
    const std::string directory = runs_directory(next.state_directory) + "/" + id;
    if (stop_request_in(directory)) return true;
    const auto earlier = read_run(directory);
    id = earlier ? earlier->manifest.retry_of : std::string();
  }
  return false;
}

Input::Input() {
  struct stat facts{};
  if (::fstat(STDIN_FILENO, &facts) != 0) return;
  flows_by_ = S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode);
  if (!S_ISREG(facts.st_mode)) return;
  const off_t place = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (place >= 0) place_ = place;
}

bool Input::rewind() const {
  if (place_) return ::lseek(STDIN_FILENO, *place_, SEEK_SET) == *place_;
  return !flows_by_;
}

Result<RunOutcome> start_again_while_wanted(
    RunOptions options, const RunCallbacks& callbacks, RunOutcome ended, const Input& input,
    const std::function<Result<RunOutcome>(const RunOptions&)>& start) {
  while (!ended.failed.empty() || ended.next_memory) {
    const auto memory = ended.next_memory;
    options = next_start(options, ended);
    if (is_stopped_between(options)) return ended;
    const bool is_input_whole = options.detach || input.rewind();
    if (callbacks.on_news) {
      callbacks.on_news(
          StartingAgain{.ended = ended.id,
                        .starts_left = memory ? options.job.retry_oom : options.job.retries,
                        .memory = memory,
                        .is_input_whole = is_input_whole});
    }
    auto next = start(options);
    if (!next) return next;
    if (next->how == RunOutcome::How::interrupted && is_stopped_between(options)) return ended;
    if (next->how == RunOutcome::How::refused) {
      // The job ended as it did: that is what its waiting user is told.
      ended.refusal = std::move(next->refusal);
      return ended;
    }
    ended = *std::move(next);
  }
  return ended;
}

}  // namespace berth
