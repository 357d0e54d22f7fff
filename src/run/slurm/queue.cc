#include "run/slurm/queue.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/variables.h"
#include "host_environment/environment.h"
#include "record/record_writer.h"

namespace berth {

namespace {

/// A controller that is gone lets squeue wait for 9 s.
constexpr Duration slurm_patience = std::chrono::seconds(20);

struct Reason {
  std::string_view begins;  // as Slurm writes it
  std::string_view means;
};
constexpr std::array<Reason, 22> reasons = {{
    {"Resources", as_key("it is next: what it asks for is not free yet")},
    {"Priority", as_key("jobs of a higher priority come first")},
    {"DependencyNeverSatisfied",
     as_key("a job that it depends on has failed: it will never begin, end it")},
    {"Dependency", as_key("a job that it depends on has not ended")},
    {"BeginTime", as_key("it may not begin before a certain time")},
    {"JobArrayTaskLimit", as_key("as many of the array's tasks run as may at once")},
    {"JobHeldUser", as_key("its owner holds it back: scontrol release")},
    {"JobHeldAdmin", as_key("an administrator holds it back")},
    {"JobHoldMaxRequeue", as_key("it failed to start too often, and is held: scontrol release")},
    {"launch failed requeued held", as_key("its start failed, and it is held: scontrol release")},
    {"ReqNodeNotAvail", as_key("a node that it needs is down, drained or reserved")},
    {"Nodes required for job are DOWN",
     as_key("a node that it needs is down, drained or reserved")},
    {"PartitionNodeLimit", as_key("it asks for more nodes than its partition allows")},
    {"PartitionTimeLimit", as_key("it asks for more time than its partition allows")},
    {"PartitionDown", as_key("its partition is switched off")},
    {"PartitionInactive", as_key("its partition is switched off")},
    {"QOS", as_key("a limit of its quality of service (QOS) is reached")},
    {"Assoc", as_key("a limit of its account is reached")},
    {"InvalidAccount", as_key("its account is not valid")},
    {"InvalidQOS", as_key("its quality of service (QOS) is not valid")},
    {"Licenses", as_key("a licence that it needs is taken")},
    {"Reservation", as_key("it waits for its reservation to begin")},
}};

constexpr std::array<std::string_view, 10> last_states = {
    "BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",  "REVOKED"};

struct Said {
  int code = 0;
  std::string out, err;
};

Result<Said> said_by(std::vector<std::string> words, const RunSlurm& slurm,
                     const SlurmClient& client) {
  if (!slurm.cluster.empty()) words.insert(words.begin() + 1, "--clusters=" + slurm.cluster);
  const std::string path = search_path_in(client.environment);
  const auto answer = answer_of(words, client.environment, path, client.clock, slurm_patience);
  if (!answer) return std::unexpected(answer.error());
  if (!answer->exit) {
    return fail(ErrorCode::timeout, "Slurm does not answer: {} took longer than {}", words.front(),
                "20s");
  }
  return Said{shell_exit_code(*answer->exit), answer->out, std::string(trimmed(answer->err))};
}

std::unexpected<Error> unanswered(const Said& said) {
  return fail(ErrorCode::io, "Slurm does not answer: {}", printable(said.err));
}

bool is_unknown_job(const Said& said) {
  return said.err.find("Invalid job id") != std::string::npos;
}

/// All lines about the job, or about several with commas between; none: Slurm has forgotten it.
Result<std::vector<SlurmJob>> squeue(const RunSlurm& slurm, const SlurmClient& client) {
  const auto said = said_by(
      {"squeue", "-h", "-t", "all", "-a", "-j", slurm.job, "-o", std::string(squeue_columns)},
      slurm, client);
  if (!said) return std::unexpected(said.error());
  if (said->code == 0) return parse_squeue(said->out);
  if (is_unknown_job(*said)) return std::vector<SlurmJob>();
  return unanswered(*said);
}

/// How Slurm saw it end; nothing: it has forgotten it.
Result<std::optional<Exit>> exit_by_slurm(const RunSlurm& slurm, const SlurmClient& client) {
  const auto said = said_by({"scontrol", "show", "job", "-o", slurm.job}, slurm, client);
  if (!said) return std::unexpected(said.error());
  if (said->code == 0) return exit_in_scontrol(said->out);
  if (is_unknown_job(*said)) return std::optional<Exit>();
  return unanswered(*said);
}

/// For an array: its tasks' own records say how each ended. The first that went wrong counts.
std::optional<Exit> exit_of_tasks(const RunRecord& run) {
  std::optional<Exit> first;
  const std::string runs = run.directory.substr(0, run.directory.rfind('/'));
  const std::string beginning = run.manifest.id + ".";
  for (const std::string& id : entries_in(runs)) {
    if (!id.starts_with(beginning)) continue;
    const auto task = read_run(runs + "/" + id, run.owner);
    if (!task || !task->end || !task->end->known) continue;
    if (!first || *first == Exit{}) first = task->end->exit;
  }
  return first;
}

void write_end_of(const RunRecord& run, const RunSlurm& slurm, const std::string& state,
                  const SlurmClient& client) {
  const auto exit = exit_by_slurm(slurm, client);
  if (!exit) return;  // another time
  const auto of_tasks = slurm.array.empty() ? std::nullopt : exit_of_tasks(run);
  const bool began = !run.manifest.waiting;
  const WallTime now = client.clock.wall_now();
  RunEnd end{.at = now, .released = now};
  if (of_tasks) {
    Manifest manifest = run.manifest;
    manifest.waiting = false;  // its tasks were jobs
    (void)write_file_atomically(run.directory + "/" + std::string(record_file::manifest),
                                manifest_to_json(manifest), 0600);
    end.exit = *of_tasks;
  } else if (state == "CANCELLED" && !began) {
    end.exit = {.signal = SIGTERM};
    end.because = end_cause::left_queue;
    end.stopped_by = stop_request_in(run.directory).value_or(StopRequest{}).by;
  } else if (!began) {
    end.exit = exit->value_or(Exit{.code = 125});
    end.because = end_cause::not_started;
  } else {
    end.known = exit->has_value();
    end.exit = exit->value_or(Exit{});
    end.because = sentence("Slurm: {}", state.empty() ? "the job is forgotten" : state).english();
  }
  (void)write_end_into(run.directory, end);
}

}  // namespace

std::vector<SlurmJob> parse_squeue(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (const std::string_view line : split(text, '\n')) {
    std::array<std::string, 5> fields;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < fields.size(); ++at) {
      const bool is_last = at + 1 == fields.size();  // a reason may have any character in it
      const std::size_t end = is_last ? line.size() : line.find('|', begin);
      if (end == std::string_view::npos) break;
      fields[at] = trimmed(line.substr(begin, end - begin));
      begin = end + 1;
      if (begin > line.size() && !is_last) break;
    }
    if (fields[0].empty() || fields[1].empty()) continue;
    const auto known = [](std::string& field) {
      return field == "N/A" || field == "None" || field == "(null)" ? std::string()
                                                                    : std::move(field);
    };
    jobs.push_back({.id = fields[0],
                    .state = fields[1],
                    .reason = known(fields[4]),
                    .start = known(fields[2]),
                    .nodes = known(fields[3])});
  }
  return jobs;
}

bool is_over(std::string_view slurm_state) {
  return std::ranges::find(last_states, slurm_state) != last_states.end();
}

std::optional<Exit> exit_in_scontrol(std::string_view text) {
  constexpr std::string_view name = " ExitCode=";
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view value = text.substr(at + name.size());
  const std::string_view pair = value.substr(0, value.find_first_of(" \n"));
  const std::size_t colon = pair.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto code = parse_unsigned(pair.substr(0, colon));
  const auto signal = parse_unsigned(pair.substr(colon + 1));
  if (!code || !signal || *code > 255 || *signal > 64) return std::nullopt;
  if (*signal != 0) return Exit{.signal = static_cast<int>(*signal)};
  return Exit{.code = static_cast<int>(*code)};
}

Sentence why_it_waits(const SlurmJob& job) {
  const auto known = std::ranges::find_if(
      reasons, [&](const Reason& one) { return job.reason.starts_with(one.begins); });
  const Sentence why = known != std::end(reasons) ? Sentence(known->means)
                       : job.reason.empty()       ? sentence("Slurm gives no reason yet")
                                                  : Sentence::as_is(printable(job.reason));
  if (job.start.empty()) return why;
  return sentence("{}; expected to begin at {}", why, printable(job.start));
}

namespace {
Sentence told_of(const RunRecord& run, const RunSlurm& slurm, const std::vector<SlurmJob>& jobs,
                 const SlurmClient& client) {
  const auto open =
      std::ranges::find_if(jobs, [](const SlurmJob& job) { return !is_over(job.state); });
  if (open == jobs.end()) {
    // Its keeper may be about to write how it ended. Nothing is written for somebody else.
    const bool is_ours = run.owner.uid == FileOwner::ourselves().uid;
    if (run.state != RunState::running && is_ours) {
      write_end_of(run, slurm, jobs.empty() ? std::string() : jobs.front().state, client);
    }
    return sentence("Slurm job {} is over", slurm.job);
  }
  if (open->state == "PENDING") {
    return sentence("Slurm job {} waits: {}", slurm.job, why_it_waits(*open));
  }
  return sentence("Slurm job {} is {} on {}", slurm.job, open->state, printable(open->nodes));
}

/// "12_3" and "12_[4-9]" are of job 12.
bool is_of_job(const SlurmJob& line, const std::string& job) {
  return line.id == job || line.id.starts_with(job + "_");
}
}  // namespace

Result<Sentence> ask_slurm(const RunRecord& run, const RunSlurm& slurm, const SlurmClient& client) {
  const auto jobs = squeue(slurm, client);
  if (!jobs) return std::unexpected(jobs.error());
  return told_of(run, slurm, *jobs, client);
}

std::vector<Result<Sentence>> ask_slurm_of(const std::vector<RunOnSlurm>& runs,
                                           const SlurmClient& client) {
  std::map<std::string, RunSlurm> asked;  // of each cluster, all its jobs
  for (const RunOnSlurm& one : runs) {
    auto [all, is_first] = asked.try_emplace(one.slurm.cluster, one.slurm);
    if (!is_first) all->second.job += "," + one.slurm.job;
  }
  std::map<std::string, std::vector<SlurmJob>> lines;
  std::vector<Result<Sentence>> said;
  for (const auto& [cluster, all] : asked) {
    auto jobs = squeue(all, client);
    if (!jobs) return said.emplace_back(std::unexpected(jobs.error())), said;
    lines[cluster] = *std::move(jobs);
  }
  for (const RunOnSlurm& one : runs) {
    std::vector<SlurmJob> own = lines[one.slurm.cluster];
    std::erase_if(own, [&](const SlurmJob& line) { return !is_of_job(line, one.slurm.job); });
    said.push_back(own.empty() ? ask_slurm(one.run, one.slurm, client)
                               : told_of(one.run, one.slurm, own, client));
    if (!said.back()) break;  // it would not answer for the next either
  }
  return said;
}

namespace {

bool has_ended_by(const RunRecord& run, Instant deadline, Clock& clock) {
  for (;;) {
    const auto now = read_run(run.directory, run.owner);
    if (now && (now->state == RunState::ended || now->state == RunState::end_unknown)) return true;
    if (clock.now() >= deadline) return false;
    clock.wait_until(clock.now() + std::chrono::milliseconds(100));
  }
}

Result<void> scancel(std::vector<std::string> words, const RunSlurm& slurm,
                     const SlurmClient& client) {
  words.push_back(slurm.job);
  const auto said = said_by(std::move(words), slurm, client);
  if (!said) return std::unexpected(said.error());
  if (said->code == 0 || is_unknown_job(*said)) return {};
  return fail(ErrorCode::io, "scancel does not end Slurm job {}: {}", slurm.job,
              printable(said->err));
}

}  // namespace

Result<StopResult> stop_slurm_run(const RunRecord& run, const RunSlurm& slurm,
                                  std::chrono::milliseconds grace, const SlurmClient& client) {
  // If its keeper is on this machine, the keeper ends it as any run, container and all.
  if (run.end || run.state == RunState::running) return stop_run(run, grace, client.clock);
  if (run.owner.uid != FileOwner::ourselves().uid) {
    return fail(ErrorCode::no_permission, "run {} is {}'s: only they can stop it", run.manifest.id,
                printable(run.manifest.user));
  }
  const auto noted = note_stop_request(run.directory, grace, StopFrom::another_machine);
  if (!noted) return std::unexpected(noted.error());
  Clock& clock = client.clock;
  const bool began = run.state != RunState::waiting;
  if (began) {
    // With --full it reaches also what the job has started, as `berth stop` does. An srun that has
    // ranks on other nodes has them killed then: their launchers hand the signal on themselves.
    const auto& spec = run.manifest.spec;
    const bool has_other_nodes =
        std::ranges::find(spec, "nodes", &std::pair<std::string, std::string>::first) != spec.end();
    const auto told = scancel({"scancel", has_other_nodes ? "--batch" : "--full", "--signal=TERM"},
                              slurm, client);
    if (!told) return std::unexpected(told.error());
    if (has_ended_by(run, clock.now() + grace, clock)) return StopResult::ended_by_term;
  }
  if (const auto ended = scancel({"scancel"}, slurm, client); !ended) {
    return std::unexpected(ended.error());
  }
  constexpr Duration kill_wait = std::chrono::seconds(60);  // Slurm's KillWait is 30 s by itself
  const Instant deadline = clock.now() + kill_wait;
  for (;;) {
    if (has_ended_by(run, clock.now() + std::chrono::milliseconds(200), clock)) break;
    const auto now = read_run(run.directory, run.owner);
    if (now) (void)ask_slurm(*now, slurm, client);
    if (clock.now() < deadline) continue;
    return fail(ErrorCode::timeout,
                "Slurm job {} of run {} was cancelled and has not ended: squeue -j {} shows what "
                "it waits for",
                slurm.job, run.manifest.id, slurm.job);
  }
  return began ? StopResult::ended_by_kill : StopResult::ended_by_term;
}

SlurmPolling::SlurmPolling(const RunRecord& run, SlurmClient client,
                           std::function<void(const Sentence&)> tell)
    : directory_(run.directory),
      slurm_(run_slurm_in(run.directory)),
      client_(std::move(client)),
      tell_(std::move(tell)),
      pause_(std::chrono::seconds(5)) {
  next_ = client_.clock.now() + pause_;
}

void SlurmPolling::poll() {
  if (!slurm_ || client_.clock.now() < next_) return;
  const auto run = read_run(directory_);
  if (run && !run->end) {
    const auto said = ask_slurm(*run, *slurm_, client_);
    const Sentence words = said ? *said : said.error().said();
    if (tell_ && words != told_) tell_(words);
    told_ = words;
  }
  pause_ = std::min<Duration>(pause_ * 2, std::chrono::seconds(60));
  next_ = client_.clock.now() + pause_;
}

}  // namespace berth
