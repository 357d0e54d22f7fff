#include "run/become_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/environment.h"
#include "run/binding.h"
#include "run/device_scope.h"
#include "run/handover.h"
#include "run/ranks/rank_words.h"

namespace berth {

namespace {
/// The job's own; of one with ranks, the process that starts these.
std::vector<std::string> command_to_execute(const KeeperTask& task) {
  const JobSpec& job = task.options->job;
  auto of = rank_node_of(task.environment);
  const bool by_torchrun = job.ranks_by == RanksBy::torchrun;
  if (job.ranks_by == RanksBy::nobody) return job.command;
  if (by_torchrun && job.nodes == 1 && !of) return job.command;
  const std::size_t devices = task.manifest.given.devices.size();
  RankPlan plan{.ranks = devices > 0 ? static_cast<int>(devices) : job.request.devices,
                .record = task.record != nullptr ? task.record->directory() : "",
                .grace = task.options->stop_grace,
                .warning_signal = job.time_limit ? job.warning_signal : 0,
                .nodes = job.nodes,
                .by_torchrun = by_torchrun};
  if (of) {
    plan.node = of->node;
    plan.nodes = of->nodes;
    plan.record = std::move(of->record);
  }
  for (const Device& device : task.manifest.given.devices) {
    if (task.binding == nullptr) break;
    if (const auto own = plan_binding({device.id}, task.manifest.given)) {
      plan.bindings.push_back(*own);
    }
  }
  // By its name where it still has one: that is what lists of processes show.
  const std::string program = read_link(link_to_program).value_or("");
  return rank_launcher_words(is_there(program) ? program : link_to_program, plan, job.command);
}
}  // namespace

Error own_failure(const Error& error) { return {ErrorCode::io, error.said()}; }

Error become_job(const KeeperTask& task) {
  const RunOptions& options = *task.options;
  if (options.detach) {
    auto session = start_session();
    if (!session) return own_failure(session.error());
    const std::string log = options.log.value_or("/dev/null");
    const auto in = open_fd("/dev/null", O_RDONLY);
    // Without waiting: a FIFO that nobody reads would never open.
    const auto out = open_fd(log, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, 0600);
    if (!in) return own_failure(in.error());
    if (!out) return own_failure(out.error());
    // The job is to wait for a slow reader, as it would if started by hand.
    if (::fcntl(out->get(), F_SETFL, O_APPEND) != 0) {
      return own_failure(system_error(errno, "prepare the log {}", log));
    }
    if (::dup2(in->get(), 0) < 0 || ::dup2(out->get(), 1) < 0 || ::dup2(out->get(), 2) < 0) {
      return own_failure(system_error(errno, "connect the job to its log"));
    }
  }
  if (task.lease != nullptr) {
    auto kept = keep_on_exec(task.lease->descriptor());
    if (!kept) return own_failure(kept.error());
  }
  std::vector<std::string> command = command_to_execute(task);
  if (task.isolation != nullptr && !task.isolation->systemd_run.empty()) {
    command =
        in_device_scope(task.isolation->systemd_run, device_files_in(*task.isolation), command);
  } else if (task.isolation != nullptr) {
    auto restricted = restrict_to(*task.isolation);
    if (!restricted) return own_failure(restricted.error());
  }
  if (task.binding != nullptr) bind_to(*task.binding);
  task.signals->restore_original();
  std::vector<std::string> environment = task.environment;
  std::erase_if(environment,
                [](const std::string& one) { return one.starts_with(rank_node_variable); });
  const Error failed = execute(command, environment, search_path_in(task.environment));
  if (failed.code() == ErrorCode::not_found) return failed;
  return {ErrorCode::no_permission, failed.said()};
}

Result<StartedJob> start_job(const KeeperTask& task,
                             const std::function<void(const std::string&)>& tell_heir) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(own_failure(pipe.error()));
  const auto job = fork_process([&] {
    tell_heir(job_line(::getpid()));
    const Error error = become_job(task);
    tell_heir(failed_line(error));
    (void)write_without_signal(pipe->write.get(), failed_line(error));
    return exit_code_of_no_start(error);
  });
  if (!job) return std::unexpected(own_failure(job.error()));
  return StartedJob{.pid = *job, .exec_result = std::move(pipe->read)};
}

/// The pipe closes without a word when the command runs.
std::optional<Error> failure_of(const StartedJob& job) {
  const auto said = read_all(job.exec_result.get(), 1 << 16);
  if (!said || said->empty()) return std::nullopt;
  const auto failure = failure_in(std::string_view(*said).substr(0, said->find('\n')));
  return failure.value_or(Error(ErrorCode::io, Sentence(*said)));
}

void detach_from_caller(const RunOptions& options) {
  if (!options.detach) (void)start_session();
  (void)close_standard_streams();
  close_inherited_descriptors();
  std::error_code ignored;  // so that no mount is kept busy
  std::filesystem::current_path("/", ignored);
}

}  // namespace berth
