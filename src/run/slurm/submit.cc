#include "run/slurm/submit.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/variables.h"
#include "host_environment/environment.h"
#include "run/ranks/rank_words.h"
#include "run/run_manifest.h"

namespace berth {

namespace {

constexpr Duration sbatch_patience = std::chrono::seconds(60);

/// The option that asks for something Slurm chooses by rules of its own.
std::optional<std::string> slurms_own(const JobSpec& job) {
  const Request& request = job.request;
  if (!request.only.empty()) return "--only";
  if (!request.except.empty()) return "--except";
  if (!request.kind.empty()) return "--kind";
  if (request.memory) return "--memory";
  if (request.prefer != Preference::best_fit) return "--prefer";
  if (request.idle_for) return "--idle-for";
  if (request.max_utilization) return "--max-utilization";
  if (job.where == RunWhere::gpu_or_cpu) return "--or-cpu";
  if (!job.after.empty()) return "--after";
  return std::nullopt;
}

Sentence instead_of(std::string_view option) {
  if (option == "--only" || option == "--kind") {
    return sentence("write --gpu-type, as sinfo -o %G names them");
  }
  if (option == "--memory") {
    return sentence("write --slurm-opt=--gres=shard:N where the site has shards");
  }
  if (option == "--after") return sentence("write --slurm-opt=--dependency=afterok:JOB");
  return sentence("leave it out");
}

void add(std::vector<std::string>& words, const char* option, const std::string& value) {
  if (!value.empty()) words.push_back(option + value);
}

std::string own_output(const std::string& directory) {
  return directory + "/" + std::string(record_file::output);
}

/// The task of the same job. The array's own number is shared by all tasks.
std::string task_of(const RunOptions& options) {
  return value_of(options.environment, "SLURM_ARRAY_TASK_ID").value_or("");
}

bool is_plain_name(std::string_view id) {
  return !id.empty() && id.find('/') == std::string_view::npos && !id.starts_with('.');
}

}  // namespace

Result<std::vector<std::string>> sbatch_options(const JobSpec& job,
                                                const SbatchSettings& settings) {
  if (const auto option = slurms_own(job)) {
    return fail(ErrorCode::invalid, "{} is not for Slurm, which chooses the cards itself: {}",
                *option, instead_of(*option));
  }
  if (auto nodes = check_nodes(job, job.nodes); !nodes) return std::unexpected(nodes.error());
  std::vector<std::string> words;
  if (job.where == RunWhere::gpu) {
    const std::string type = settings.gpu_type.empty() ? "" : ":" + settings.gpu_type;
    words.push_back(fmt::format("--gres=gpu{}:{}", type, job.request.devices));
  }
  if (job.nodes > 1) {  // each has one process of berth's, which starts that node's ranks
    words.insert(words.end(), {fmt::format("--nodes={}", job.nodes), "--ntasks-per-node=1"});
  }
  if (job.cpus) words.push_back(fmt::format("--cpus-per-task={}", *job.cpus));
  if (job.host_memory) {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    words.push_back(fmt::format("--mem={}M", (job.host_memory->count() + mib - 1) / mib));
  }
  if (job.time_limit) {
    // berth warns and ends it to the second; Slurm counts in minutes, and stands behind it.
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(*job.time_limit).count();
    words.push_back(fmt::format("--time={}", minutes + 1));
  }
  add(words, "--partition=", settings.partition);
  add(words, "--account=", settings.account);
  add(words, "--qos=", settings.qos);
  add(words, "--constraint=", settings.constraint);
  add(words, "--array=", settings.array);
  if (job.retry_on == RetryOn::never) {
    words.emplace_back("--no-requeue");
  } else {
    words.insert(words.end(), {"--requeue", "--open-mode=append"});
  }
  words.insert(words.end(), settings.options.begin(), settings.options.end());
  return words;
}

std::string batch_script(const std::string& program, const std::vector<std::string>& words,
                         const std::string& id) {
  const std::string quoted = shell_quoted(program);
  return fmt::format(
      "#!/bin/sh\n"
      "[ -x {0} ] || {{ echo \"berth: there is no\" {0} \"on $(hostname)\" >&2; exit 127; }}\n"
      "unset BERTH_RUN BERTH_LEASE BERTH_MARKS\n"
      "{1}={2} exec {0} {3}\n",
      quoted, submitted_run_variable, shell_quoted(id), shell_joined(words));
}

namespace {

/// The number that sbatch --parsable prints: "12" or "12;cluster".
Result<RunSlurm> ask_sbatch(const Submission& submission, const std::vector<std::string>& words,
                            Clock& clock) {
  const auto& environment = submission.options.environment;
  const std::string path = search_path_in(environment);
  if (const auto found = find_executable("sbatch", path); !found) {
    return fail(ErrorCode::not_found,
                "there is no sbatch in PATH: this machine is none of Slurm's, or its programs are "
                "elsewhere");
  }
  const auto answer = answer_of(words, environment, path, clock, sbatch_patience);
  if (!answer) return std::unexpected(answer.error());
  const std::string said(trimmed(answer->err));
  if (!answer->exit) {
    return fail(ErrorCode::timeout, "Slurm does not answer: {} took longer than {}", "sbatch",
                "60s");
  }
  if (*answer->exit != Exit{}) {
    const bool is_never = said.find("node configuration is not available") != std::string::npos ||
                          said.find("specification can not be satisfied") != std::string::npos;
    return fail(is_never ? ErrorCode::unsupported : ErrorCode::io, "Slurm refuses the job: {}",
                printable(said));
  }
  const std::string printed(trimmed(answer->out));
  const std::size_t semicolon = printed.find(';');
  RunSlurm slurm{.job = printed.substr(0, semicolon), .asked = words};
  if (semicolon != std::string::npos) slurm.cluster = printed.substr(semicolon + 1);
  if (parse_unsigned(slurm.job)) return slurm;
  return fail(ErrorCode::io, "sbatch printed \"{}\" where its job's number was expected",
              printable(printed));
}

}  // namespace

Result<Submitted> submit_to_slurm(const Submission& submission, const RunServices& services) {
  auto words = sbatch_options(submission.options.job, submission.settings);
  if (!words) return std::unexpected(std::move(words).error());
  Manifest manifest = begin_manifest(submission.options, services);
  manifest.waiting = true;
  manifest.started_steady_ms = steady_ms(services.clock.moment().steady);
  const std::string directory =
      runs_directory(submission.options.state_directory) + "/" + manifest.id;
  manifest.log = submission.options.log.value_or(own_output(directory));
  const auto record = RecordWriter::create(submission.options.state_directory, manifest);
  if (!record) return std::unexpected(record.error());
  const auto nothing_left = [&](Error error) {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return std::unexpected(std::move(error));
  };
  const std::string script = record->path_of("batch");
  const auto written = write_file_atomically(
      script, batch_script(submission.program, submission.words, manifest.id), 0700);
  if (!written) return nothing_left(written.error());
  // `berth logs -f` may follow the log before there is anything in it.
  if (const auto log = open_fd(*manifest.log, O_WRONLY | O_CREAT | O_APPEND, 0600); !log) {
    return nothing_left(log.error());
  }
  const std::string name = submission.options.job.name;
  std::vector<std::string> all = {
      "sbatch", "--parsable", "--job-name=" + (name.empty() ? std::string("berth") : name),
      "--comment=berth:" + manifest.id, "--chdir=" + submission.options.working_directory};
  const bool is_array = !submission.settings.array.empty();
  // In a name of sbatch's a percent sign begins a pattern.
  std::string output;
  for (const char c : *manifest.log) output += c == '%' ? std::string("%%") : std::string(1, c);
  all.push_back("--output=" + output + (is_array ? ".%a" : ""));
  all.insert(all.end(), words->begin(), words->end());
  all.push_back(script);
  auto slurm = ask_sbatch(submission, all, services.clock);
  if (!slurm) return nothing_left(std::move(slurm).error());
  slurm->submitted = manifest.started;
  slurm->array = submission.settings.array;
  const auto noted =
      write_file_atomically(record->path_of(record_file::slurm), run_slurm_to_json(*slurm), 0600);
  if (!noted) return std::unexpected(noted.error());
  return Submitted{.id = manifest.id, .directory = directory, .slurm = *std::move(slurm)};
}

namespace {

/// A record of its own for a task of an array, or for a job that Slurm starts again.
Result<void> record_again(const RunOptions& options, Manifest& manifest, RunSlurm slurm,
                          std::optional<RecordWriter>& record) {
  auto made = RecordWriter::create(options.state_directory, manifest,
                                   static_cast<std::size_t>(options.job.request.devices));
  if (!made) return std::unexpected(std::move(made).error());
  slurm.array.clear();
  record.emplace(*std::move(made));
  return write_file_atomically(record->path_of(record_file::slurm), run_slurm_to_json(slurm), 0600);
}

/// Where the job's output goes: the record's own says it, and of an array's task a part of it.
std::string log_of(const std::string& directory, const std::string& task) {
  const auto run = read_run(directory);
  const std::string log = run && run->manifest.log ? *run->manifest.log : own_output(directory);
  return task.empty() ? log : log + "." + task;
}

/// sbatch may be slower to tell its number than Slurm to start the job.
constexpr Duration submitter_patience = std::chrono::seconds(10);

std::optional<RunSlurm> slurm_in(const std::string& directory, Clock& clock, Instant deadline) {
  auto slurm = run_slurm_in(directory);
  while (!slurm && clock.now() < deadline && is_there(directory)) {
    clock.wait_until(clock.now() + std::chrono::milliseconds(50));
    slurm = run_slurm_in(directory);
  }
  return slurm;
}

Result<RecordWriter> adopted(const std::string& directory, Clock& clock, Instant deadline) {
  auto record = RecordWriter::adopt(directory);
  while (!record && record.error().code() == ErrorCode::busy && clock.now() < deadline) {
    clock.wait_until(clock.now() + std::chrono::milliseconds(50));
    record = RecordWriter::adopt(directory);
  }
  return record;
}

}  // namespace

Result<void> take_over_submitted(const RunOptions& options, Manifest& manifest,
                                 std::optional<RecordWriter>& record, Clock& clock) {
  const std::string id = value_of(options.environment, submitted_run_variable).value_or("");
  if (!is_plain_name(id)) return {};
  const std::string runs = runs_directory(options.state_directory) + "/";
  const Instant deadline = clock.now() + submitter_patience;
  auto slurm = slurm_in(runs + id, clock, deadline);
  if (!slurm) return {};
  const std::string task = slurm->array.empty() ? std::string() : task_of(options);
  const std::string own = task.empty() ? id : id + "." + task;
  if (!task.empty()) slurm->job += "_" + task;
  if (!is_plain_name(own)) return {};
  manifest.log = log_of(runs + id, task);
  if (!is_there(runs + own)) {
    manifest.id = own;
    return record_again(options, manifest, *std::move(slurm), record);
  }
  const auto run = read_run(runs + own);
  if (!run) return std::unexpected(run.error());
  if (run->state != RunState::waiting) {
    // A run inside the job, or berth tries again itself. Else Slurm starts the job again; the first
    // start's keeper may still be ending.
    const bool is_inside =
        value_of(options.environment, "BERTH_RUN").has_value() || !options.retry_of.empty();
    const bool is_again = value_of(options.environment, "SLURM_RESTART_COUNT").has_value();
    if (is_inside || !is_again) {
      manifest.log.reset();
      return {};
    }
    manifest.retry_of = own;
    return record_again(options, manifest, *std::move(slurm), record);
  }
  auto adopted_record = adopted(runs + own, clock, deadline);
  if (!adopted_record) return std::unexpected(std::move(adopted_record).error());
  manifest.id = own;
  record.emplace(*std::move(adopted_record));
  return {};
}

}  // namespace berth
