#include "run/container/left.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/owned_file.h"
#include "base/process.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "host_environment/environment.h"
#include "record/record_writer.h"
#include "run/container/engine.h"

namespace berth {

namespace {

constexpr Duration left_patience = std::chrono::seconds(20);

std::vector<std::string> environment_of(const RunContainer& container) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : container.environment) environment.push_back(name + "=" + value);
  return environment;
}

std::string search_path(const RunContainer& container) {
  return search_path_in(environment_of(container));
}

Result<ChildAnswer> answer_to(const RunContainer& container, std::vector<std::string> words,
                              Clock& clock, Duration patience) {
  auto answer = answer_of(engine_command(container, std::move(words)), environment_of(container),
                          search_path(container), clock, patience);
  if (!answer || answer->exit) return answer;
  return fail(ErrorCode::timeout, "{} does not answer", container.engine);
}

Error refused(const RunContainer& container, const ChildAnswer& answer) {
  return Error(ErrorCode::io, "{} does not end container {}: {}", container.engine,
               short_container_id(container.id), printable(trimmed(answer.err)));
}

/// As the engine has it now; nothing: it knows none of that id.
Result<std::optional<InspectedContainer>> inspect(const RunContainer& container, Clock& clock) {
  const auto answer =
      answer_to(container, {"container", "inspect", container.id}, clock, left_patience);
  if (!answer) return std::unexpected(answer.error());
  if (*answer->exit != Exit{}) {
    if (says_no_such_container(answer->err)) return std::optional<InspectedContainer>();
    return std::unexpected(refused(container, *answer));
  }
  auto list = parse_inspected(answer->out);
  if (!list) return std::unexpected(list.error());
  if (list->size() != 1) return std::optional<InspectedContainer>();
  return std::optional(list->front());
}

void note_its_end(const RunRecord& run, RunContainer container,
                  const std::optional<InspectedContainer>& seen, Clock& clock) {
  container.ended = clock.wall_now();
  container.exit_code = seen ? seen->exit_code : Reading<int>(Absent::unsupported);
  container.oom_killed = seen ? seen->oom_killed : Reading<bool>(Absent::unsupported);
  (void)write_file_atomically(run.directory + "/" + std::string(record_file::container),
                              run_container_to_json(container), 0600);
}

}  // namespace

Error ask_engine(const RunContainer& container, std::vector<std::string> words) {
  return execute(engine_command(container, std::move(words)), environment_of(container),
                 search_path(container));
}

Result<StopResult> end_left_container(const RunRecord& run, const RunContainer& container,
                                      std::chrono::milliseconds grace, Clock& clock) {
  // The command to execute stands in a file that the run's owner may write.
  if (run.owner.uid != ::geteuid()) {
    return fail(ErrorCode::no_permission,
                "the container of run {} is left without a keeper. Only {} can end it, with `berth "
                "stop {}` (or ask {} itself)",
                run.manifest.id, run.manifest.user, run.manifest.id, container.engine);
  }
  const auto seen = inspect(container, clock);
  if (!seen) return std::unexpected(seen.error());
  if (!*seen || !(*seen)->is_running) {
    note_its_end(run, container, *seen, clock);
    return StopResult::had_ended;
  }
  if ((*seen)->run != run.manifest.id || (*seen)->id != container.id) {
    return fail(ErrorCode::invalid,
                "container {} is not that of run {}: its label says \"{}\"; nothing was done to it",
                short_container_id(container.id), run.manifest.id, printable((*seen)->run));
  }
  const auto whole = std::chrono::ceil<std::chrono::seconds>(grace).count();
  const auto stopped = answer_to(container, {"stop", "-t", std::to_string(whole), container.id},
                                 clock, grace + left_patience);
  if (!stopped) return std::unexpected(stopped.error());
  if (*stopped->exit != Exit{}) return std::unexpected(refused(container, *stopped));
  const auto after = inspect(container, clock);
  note_its_end(run, container, after ? *after : std::nullopt, clock);
  const bool killed = after && *after && (*after)->exit_code.get() &&
                      *(*after)->exit_code.get() == shell_exit_code({.signal = 9});
  return killed ? StopResult::ended_by_kill : StopResult::ended_by_term;
}

namespace {
/// Its first process lives, in a control group of its name.
bool still_runs(const RunContainer& container, const std::string& proc) {
  if (container.ended || !container.process || !lives(*container.process, proc)) return false;
  const auto groups = read_proc_file(fmt::format("{}/{}/cgroup", proc, container.process->pid));
  return groups && groups->find(container.id) != std::string::npos;
}
}  // namespace

std::vector<LeftContainer> left_containers(const std::string& state_directory,
                                           const std::string& proc) {
  std::vector<LeftContainer> left;
  const std::string runs = runs_directory(state_directory);
  for (const std::string& id : entries_in(runs)) {
    auto container = run_container_in(runs + "/" + id);
    if (!container || !still_runs(*container, proc)) continue;
    auto run = read_run(runs + "/" + id);
    if (!run || (run->state != RunState::ended && run->state != RunState::end_unknown)) continue;
    left.push_back({*std::move(run), *std::move(container)});
  }
  return left;
}

/// Its keepers were killed. So was the container, where it was below the job (podman's); then how
/// it ended only its engine can tell, and its record has yet to be told.
static bool has_container_without_end(const RunRecord& record) {
  if (record.state != RunState::end_unknown) return false;
  const auto container = run_container_in(record.directory);
  return container && !container->id.empty() && !container->ended;
}

std::vector<RunRecord> runs_of_slurm_job(std::string_view job, const std::vector<RunRecord>& runs,
                                         std::vector<LeftContainer> left) {
  std::vector<RunRecord> found;
  for (const RunRecord& record : runs) {
    if (record.state == RunState::running || has_container_without_end(record)) {
      found.push_back(record);
    }
  }
  for (LeftContainer& one : left) {
    if (!has_container_without_end(one.run)) found.push_back(std::move(one.run));
  }
  std::erase_if(found, [&](const RunRecord& record) {
    const auto& variables = record.manifest.variables;
    const auto at = std::ranges::find(variables, "SLURM_JOB_ID", &Variable::first);
    return at == variables.end() || at->second != job;
  });
  return found;
}

}  // namespace berth
