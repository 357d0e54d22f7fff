// The members of a job besides its request, and what is made of all of them.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/ids.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "place/key_text.h"

namespace berth {

std::unexpected<Error> refused(const Sentence& message, std::string_view text) {
  return fail(ErrorCode::invalid, with_typographic_hint(message, text));
}

Result<void> parse_switch(std::string_view text, bool& member) {
  if (text != "true" && text != "false") {
    return refused(sentence("\"{}\" is neither true nor false", printable(text)), text);
  }
  member = text == "true";
  return {};
}

std::string typed_switch(bool on) { return on ? "true" : ""; }

std::string typed_duration(std::chrono::milliseconds duration) {
  constexpr std::array<std::pair<std::int64_t, char>, 3> units = {
      {{3'600'000, 'h'}, {60'000, 'm'}, {1000, 's'}}};
  const std::int64_t ms = duration.count();
  for (const auto& [unit, letter] : units) {
    if (ms >= unit && ms % unit == 0) return std::to_string(ms / unit) + letter;
  }
  return std::to_string(ms) + "ms";
}

std::string typed_duration(std::chrono::milliseconds duration,
                           std::chrono::milliseconds by_itself) {
  return duration == by_itself ? std::string() : typed_duration(duration);
}

namespace {

using std::chrono::milliseconds;

// --- when none is free --------------------------------------------------------------------

constexpr std::string_view forever = "forever";
constexpr std::string_view at_once = "0s";

Result<void> parse_wait(std::string_view text, JobSpec& job) {
  if (text == forever) {
    job.wait.reset();
    return {};
  }
  return keep(parse_duration(text), job.wait);
}

std::string typed_wait(const JobSpec& job) {
  if (!job.wait) return std::string(forever);
  return typed_duration(*job.wait, milliseconds(0));
}

Result<void> parse_time_limit(std::string_view text, JobSpec& job) {
  auto limit = parse_duration_with_unit(text);
  if (limit && limit->count() == 0) {
    return fail(ErrorCode::invalid,
                "\"{}\" would end the job as it begins; write for example 2h, or leave it out",
                printable(text));
  }
  return keep(std::move(limit), job.time_limit);
}

Result<void> parse_or_cpu(std::string_view text, JobSpec& job) {
  job.where = RunWhere::gpu_or_cpu;
  return keep(parse_duration(text), job.cpu_after);
}

std::string typed_or_cpu(const JobSpec& job) {
  if (job.where != RunWhere::gpu_or_cpu) return {};
  return job.cpu_after.count() > 0 ? typed_duration(job.cpu_after) : std::string(at_once);
}

Result<void> parse_cpu(std::string_view text, JobSpec& job) {
  bool without_devices = false;
  if (auto parsed = parse_switch(text, without_devices); !parsed) return parsed;
  if (without_devices) job.where = RunWhere::cpu;
  return {};
}

// --- the job's life -----------------------------------------------------------------------

constexpr std::array<std::pair<std::string_view, int>, 6> signal_names = {{{"TERM", SIGTERM},
                                                                           {"INT", SIGINT},
                                                                           {"HUP", SIGHUP},
                                                                           {"USR1", SIGUSR1},
                                                                           {"USR2", SIGUSR2},
                                                                           {"QUIT", SIGQUIT}}};

Result<void> parse_signal(std::string_view text, int& member) {
  std::string_view name = text;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const auto& [known, number] : signal_names) {
    if (!equals_ignoring_case(known, name)) continue;
    member = number;
    return {};
  }
  return fail(ErrorCode::invalid, "there is no signal \"{}\"; write TERM, INT, HUP, USR1 or USR2",
              printable(text));
}

std::string typed_signal(int signal, int by_itself) {
  for (const auto& [name, number] : signal_names) {
    if (number == signal && signal != by_itself) return std::string(name);
  }
  return {};
}

constexpr std::string_view strongest = "strongest";

Result<void> parse_cap(std::string_view text, JobSpec& job) {
  job.cap = cap_tier_in(text);
  if (job.cap || text == strongest) return {};
  return refused(
      sentence("\"{}\" is not kernel, mps, shim, watchdog, none or strongest", printable(text)),
      text);
}

Result<void> parse_cap_action(std::string_view text, JobSpec& job) {
  if (text != "warn" && text != "stop") {
    return refused(sentence("\"{}\" is not warn or stop", printable(text)), text);
  }
  job.cap_action = text == "stop" ? CapAction::stop : CapAction::warn;
  return {};
}

Result<void> parse_fault(std::string_view text, JobSpec& job) {
  constexpr std::string_view with_name = "signal=";
  if (text == "warn" || text == "stop") {
    job.on_gpu_fault = text == "warn" ? OnGpuFault::warn : OnGpuFault::stop;
    return {};
  }
  if (text == "signal" || text.starts_with(with_name)) {
    job.on_gpu_fault = OnGpuFault::signal;
    job.fault_signal = SIGUSR1;
    if (text == "signal") return {};
    return parse_signal(text.substr(with_name.size()), job.fault_signal);
  }
  return fail(ErrorCode::invalid, "\"{}\" is not warn, signal, signal=NAME or stop",
              printable(text));
}

std::string typed_fault(const JobSpec& job) {
  if (job.on_gpu_fault == OnGpuFault::warn) return {};
  if (job.on_gpu_fault == OnGpuFault::stop) return "stop";
  const std::string name = typed_signal(job.fault_signal, SIGUSR1);
  return name.empty() ? "signal" : "signal=" + name;
}

Result<void> parse_retry(std::string_view text, JobSpec& job) {
  if (text != "gpu-lost" && text != "gpu-fault") {
    return fail(ErrorCode::invalid, "\"{}\" is not gpu-lost or gpu-fault", printable(text));
  }
  job.retry_on = text == "gpu-lost" ? RetryOn::gpu_lost : RetryOn::gpu_fault;
  return {};
}

std::string typed_retry(const JobSpec& job) {
  if (job.retry_on == RetryOn::never) return {};
  return job.retry_on == RetryOn::gpu_lost ? "gpu-lost" : "gpu-fault";
}

Result<void> parse_ranks_by(std::string_view text, JobSpec& job) {
  if (text != "berth" && text != "torchrun") {
    return fail(ErrorCode::invalid, "\"{}\" is not berth or torchrun", printable(text));
  }
  job.ranks_by = text == "berth" ? RanksBy::berth : RanksBy::torchrun;
  return {};
}

std::string typed_ranks_by(const JobSpec& job) {
  if (job.ranks_by == RanksBy::nobody) return {};
  return job.ranks_by == RanksBy::berth ? "berth" : "torchrun";
}

Result<void> parse_times(std::string_view text, int& member) {
  const auto times = parse_unsigned(text);
  if (!times || *times < 1 || *times > 100) {
    return fail(ErrorCode::invalid, "\"{}\" is not a number from 1 to 100", printable(text));
  }
  member = static_cast<int>(*times);
  return {};
}

// --- what it is called --------------------------------------------------------------------

/// invalid: nothing, too long, or what a terminal would obey.
Result<void> parse_label(std::string_view text, std::string& member) {
  constexpr std::size_t longest = 64;
  if (trimmed(text).empty() || text.size() > longest || printable(text) != text) {
    return fail(ErrorCode::invalid, "\"{}\" is not a name of 1 to 64 bytes on one line",
                printable(text));
  }
  member = trimmed(text);
  return {};
}

// --- what a cluster is told ---------------------------------------------------------------

Result<void> parse_cpus(std::string_view text, JobSpec& job) {
  const auto cpus = parse_unsigned(text);
  if (!cpus || *cpus < 1 || *cpus > 65536) {
    return refused(sentence("\"{}\" is not a number of CPUs from 1 to 65536", printable(text)),
                   text);
  }
  job.cpus = static_cast<int>(*cpus);
  return {};
}

Result<void> parse_nodes(std::string_view text, JobSpec& job) {
  const auto nodes = parse_unsigned(text);
  if (!nodes || *nodes < 1 || *nodes > 1024) {
    return refused(sentence("\"{}\" is not a number of nodes from 1 to 1024", printable(text)),
                   text);
  }
  job.nodes = static_cast<int>(*nodes);
  return {};
}

Result<void> parse_priority(std::string_view text, JobSpec& job) {
  const auto priority = priority_in(trimmed(text));
  if (!priority)
    return refused(sentence("\"{}\" is not low, normal or high", printable(text)), text);
  job.priority = *priority;
  return {};
}

Result<void> parse_after(std::string_view text, JobSpec& job) {
  std::vector<std::string> runs;
  for (const std::string_view run : split(text, ',')) {
    if (!is_plain_id(run)) {
      return refused(
          sentence("\"{}\" is not a list of runs with commas between them: see `berth runs`",
                   printable(text)),
          text);
    }
    runs.emplace_back(run);
  }
  job.after = std::move(runs);
  return {};
}

std::string typed_after(const JobSpec& job) { return fmt::format("{}", fmt::join(job.after, ",")); }

/// A member that is added does not compile until it is named here: it wants a row below.
[[maybe_unused]] void each_member_has_its_row(const JobSpec& job) {
  [[maybe_unused]] const auto& [command, name, project, request, priority, after, cpus, host_memory,
                                where, ranks_by, nodes, wait, cpu_after, time_limit, warning_signal,
                                warning_ahead, linger, hold, bind, isolate, cap, cap_action,
                                on_gpu_fault, fault_signal, retry_on, retries, retry_oom] = job;
}

// --- the table ----------------------------------------------------------------------------

using Text = std::string_view;
constexpr Text needs_value;

constexpr JobKey other_keys[] = {
    {JobPart::patience, "wait", "--wait", "[TIME]",
     as_key("wait in the queue, at most so long: --wait=30m"), forever, true, parse_wait,
     typed_wait, nullptr},
    {JobPart::patience, "or_cpu", "--or-cpu", "[TIME]",
     as_key("run on the CPU instead, at once or after so long: --or-cpu=10m, or --wait=10m "
            "--or-cpu"),
     at_once, false, parse_or_cpu, typed_or_cpu, nullptr},
    {JobPart::patience, "priority", "--priority", "WHICH",
     as_key("low, normal or high in the queue; the policy says how high at most"), needs_value,
     true, parse_priority,
     [](const JobSpec& job) {
       return job.priority == Priority::normal ? std::string() : std::string(word_of(job.priority));
     },
     nullptr},
    {JobPart::patience, "after", "--after", "RUNS",
     as_key("wait first until these runs have ended well"), needs_value, true, parse_after,
     typed_after, nullptr},
    {JobPart::patience, "cpu", "--cpu", "",
     as_key("use no device, on purpose. Where no variable such as OMP_NUM_THREADS chooses a number "
            "of threads, those of libraries are set"),
     "true", false, parse_cpu,
     [](const JobSpec& job) { return typed_switch(job.where == RunWhere::cpu); }, nullptr},
    {JobPart::life, "time", "--time", "TIME",
     as_key("end it after so long: a warning signal, then stop"), needs_value, true,
     parse_time_limit,
     [](const JobSpec& job) {
       return job.time_limit ? typed_duration(*job.time_limit) : std::string();
     },
     nullptr},
    {JobPart::life, "warn_signal", "--warn-signal", "SIGNAL",
     as_key("the warning: TERM, INT, HUP, USR1, USR2 or QUIT"), needs_value, true,
     [](Text text, JobSpec& job) { return parse_signal(text, job.warning_signal); },
     [](const JobSpec& job) { return typed_signal(job.warning_signal, SIGTERM); }, nullptr},
    {JobPart::life, "warn_ahead", "--warn-ahead", "TIME",
     as_key("how long before the limit to warn (60s)"), needs_value, true,
     [](Text text, JobSpec& job) { return keep(parse_duration(text), job.warning_ahead); },
     [](const JobSpec& job) { return typed_duration(job.warning_ahead, JobSpec().warning_ahead); },
     nullptr},
    {JobPart::life, "hold", "--hold", "",
     as_key("keep the device while any process of the job lives"), "true", true,
     [](Text text, JobSpec& job) { return parse_switch(text, job.hold); },
     [](const JobSpec& job) { return typed_switch(job.hold); }, nullptr},
    {JobPart::life, "isolate", "--isolate", "",
     as_key("let it open no device file of a card that is not its own"), "true", true,
     [](Text text, JobSpec& job) { return parse_switch(text, job.isolate); },
     [](const JobSpec& job) { return typed_switch(job.isolate); }, nullptr},
    {JobPart::life, "bind", "--bind", "",
     as_key("keep it on the CPUs and in the memory of its devices' NUMA node"), "true", true,
     [](Text text, JobSpec& job) { return parse_switch(text, job.bind); },
     [](const JobSpec& job) { return typed_switch(job.bind); }, nullptr},
    {JobPart::life, "ddp", "--ddp", "[HOW]",
     as_key("start it once for each device, as the ranks of one job; --ddp=torchrun: by torchrun"),
     "berth", false, parse_ranks_by, typed_ranks_by, nullptr},
    {JobPart::life, "linger", "--linger", "TIME",
     as_key("keep the device this long after the job's last process has let go of it (60s)"),
     needs_value, true,
     [](Text text, JobSpec& job) { return keep(parse_duration(text), job.linger); },
     [](const JobSpec& job) { return typed_duration(job.linger, JobSpec().linger); }, nullptr},
    {JobPart::life, "cap", "--cap", "TIER",
     as_key("what limits it to --memory: kernel, mps, shim, watchdog or none; by itself the "
            "strongest there is"),
     needs_value, true, parse_cap,
     [](const JobSpec& job) { return std::string(job.cap ? word_of(*job.cap) : Text()); }, nullptr},
    {JobPart::life, "cap_action", "--cap-action", "WHAT",
     as_key("when the watchdog finds it above --memory: warn, or stop the job"), needs_value, true,
     parse_cap_action,
     [](const JobSpec& job) {
       return std::string(job.cap_action == CapAction::stop ? "stop" : "");
     },
     nullptr},
    {JobPart::life, "on_gpu_fault", "--on-gpu-fault", "WHAT",
     as_key("when its device fails, what the job feels: warn (nothing), signal (USR1), "
            "signal=TERM, stop"),
     needs_value, true, parse_fault, typed_fault, nullptr},
    {JobPart::life, "retry_on", "--retry-on", "WHAT",
     as_key("start it again on another device where it ended badly after gpu-lost or any "
            "gpu-fault"),
     needs_value, true, parse_retry, typed_retry, nullptr},
    {JobPart::life, "retries", "--retries", "N", as_key("how often at most, with --retry-on (1)"),
     needs_value, true, [](Text text, JobSpec& job) { return parse_times(text, job.retries); },
     [](const JobSpec& job) {
       return job.retries > 1 ? std::to_string(job.retries) : std::string();
     },
     nullptr},
    {JobPart::life, "retry_oom", "--retry-oom", "N",
     as_key("start it again with more memory where it died of want of the GPU's, so often at most"),
     needs_value, true, [](Text text, JobSpec& job) { return parse_times(text, job.retry_oom); },
     [](const JobSpec& job) {
       return job.retry_oom > 0 ? std::to_string(job.retry_oom) : std::string();
     },
     nullptr},
    {JobPart::label, "name", "--name", "NAME",
     as_key("what to call the run, in its record and in lists"), needs_value, true,
     [](Text text, JobSpec& job) { return parse_label(text, job.name); },
     [](const JobSpec& job) { return job.name; }, nullptr},
    {JobPart::label, "project", "--project", "NAME",
     as_key("what the run counts for, in its record"), needs_value, true,
     [](Text text, JobSpec& job) { return parse_label(text, job.project); },
     [](const JobSpec& job) { return job.project; }, nullptr},
    {JobPart::cluster, "cpus", "--cpus", "N", as_key("CPUs that it needs"), needs_value, true,
     parse_cpus,
     [](const JobSpec& job) { return job.cpus ? std::to_string(*job.cpus) : std::string(); },
     nullptr},
    {JobPart::cluster, "nodes", "--nodes", "N",
     as_key("with --ddp, in Slurm: start ranks on this many machines, -n on each"), needs_value,
     false, parse_nodes,
     [](const JobSpec& job) { return job.nodes > 1 ? std::to_string(job.nodes) : std::string(); },
     nullptr},
    {JobPart::cluster, "host_memory", "--host-memory", "SIZE",
     as_key("main memory that it needs: 64G"), needs_value, true,
     [](Text text, JobSpec& job) { return keep(parse_size(text), job.host_memory); },
     [](const JobSpec& job) {
       return job.host_memory ? typed_size(*job.host_memory) : std::string();
     },
     nullptr},
};

std::vector<JobKey> all_keys() {
  const auto of_request = request_keys();
  std::vector<JobKey> keys(of_request.begin(), of_request.end());
  keys.insert(keys.end(), std::begin(other_keys), std::end(other_keys));
  return keys;
}

/// " --memory 10G"; nothing where it is as it is by itself.
std::string typed_member(const JobKey& key, const JobSpec& job) {
  const std::string value = key.typed(job);
  if (value.empty()) return {};
  const std::string flag = " " + std::string(shown_flag(key));
  if (value == key.alone) return flag;
  const bool may_stand_alone = !key.alone.empty();
  return flag + (may_stand_alone ? "=" : " ") + shell_quoted(value);
}

}  // namespace

std::span<const JobKey> job_keys() {
  static const std::vector<JobKey> keys = all_keys();
  return keys;
}

const JobKey* find_job_key(std::string_view name) {
  const auto keys = job_keys();
  const auto found = std::ranges::find(keys, name, &JobKey::name);
  return found == keys.end() ? nullptr : &*found;
}

std::string_view shown_flag(const JobKey& key) {
  const std::string_view flag = key.flag;
  return flag.substr(0, flag.find(','));
}

Result<void> settle(JobSpec& job) {
  if (job.retry_on != RetryOn::never) {
    job.retries = std::max(job.retries, 1);
  } else if (job.retries > 0) {
    return fail(ErrorCode::invalid,
                "--retries is for --retry-on: add --retry-on gpu-lost or --retry-on gpu-fault");
  }
  return {};
}

std::string as_typed(const Request& request) {
  const JobSpec job{.request = request};
  std::string line;
  for (const JobKey& key : request_keys()) line += typed_member(key, job);
  return line.substr(1);
}

std::string as_typed(const JobSpec& job) {
  if (job.where == RunWhere::cpu) return "--cpu";
  return as_typed(job.request) + typed_member(*find_job_key("or_cpu"), job);
}

std::vector<std::pair<std::string, std::string>> typed_members(const JobSpec& job) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const JobKey& key : job_keys()) {
    if (std::string value = key.typed(job); !value.empty()) {
      members.emplace_back(key.name, std::move(value));
    }
  }
  return members;
}

std::string run_line(const JobSpec& job) {
  std::string line = "berth run";
  for (const JobKey& key : job_keys()) line += typed_member(key, job);
  return line + " -- " + (job.command.empty() ? "COMMAND" : shell_joined(job.command));
}

}  // namespace berth
