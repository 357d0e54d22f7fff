#include "app/slurm_options.h"

#include <utility>

#include "app/output.h"
#include "app/records.h"
#include "app/terminal.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/runs_text.h"

namespace berth {

void SlurmFlags::declare(Options& options) {
  options.begin_group("On Slurm");
  options.filled_value("--gpu-type", settings_.gpu_type, "the type of card, as Slurm names it",
                       "TYPE");
  options.filled_value("--partition", settings_.partition, "the partition", "NAME");
  options.filled_value("--account", settings_.account, "whose account it counts for", "NAME");
  options.filled_value("--qos", settings_.qos, "the quality of service", "NAME");
  options.filled_value("--constraint", settings_.constraint, "features that its node has to have",
                       "LIST");
  options.filled_value("--array", settings_.array, "a job for each of these numbers: 0-9%2",
                       "LIST");
  options.repeated("--slurm-opt", settings_.options, "an option of sbatch, as it is: --exclusive",
                   "OPTION");
}

std::string SlurmFlags::given() const {
  if (!settings_.gpu_type.empty()) return "--gpu-type";
  if (!settings_.partition.empty()) return "--partition";
  if (!settings_.account.empty()) return "--account";
  if (!settings_.qos.empty()) return "--qos";
  if (!settings_.constraint.empty()) return "--constraint";
  if (!settings_.array.empty()) return "--array";
  return settings_.options.empty() ? std::string() : "--slurm-opt";
}

SlurmClient slurm_client(Context& context) {
  return {.clock = context.clock(), .environment = context.environment()};
}

std::vector<SaidOfRun> said_by_slurm(Context& context, const std::vector<RunRecord>& runs) {
  // Slurm is asked once for all; each that it has forgotten costs a question more, of 30 ms.
  constexpr std::size_t at_most = 100;
  std::vector<RunOnSlurm> asked;
  for (const RunRecord& run : runs) {
    if (run.state != RunState::waiting && run.state != RunState::elsewhere) continue;
    auto slurm = run_slurm_in(run.directory);
    if (slurm && asked.size() < at_most) asked.push_back({run, *std::move(slurm)});
  }
  std::vector<SaidOfRun> lines;
  for (const auto& said : ask_slurm_of(asked, slurm_client(context))) {
    const std::string& id = asked[lines.size()].run.manifest.id;
    lines.push_back({id, trf("run {}: {}", id, (said ? *said : said.error().said()).shown())});
  }
  return lines;
}

namespace {

/// What the batch step is to run.
std::vector<std::string> batch_words(const RunFlags& flags, const RunOptions& options) {
  std::vector<std::string> words = {"run"};
  for (const std::string& word : flags.words()) {
    if (!word.starts_with("--wait") && word != "--no-wait") words.push_back(word);
  }
  words.emplace_back("--");
  words.insert(words.end(), options.job.command.begin(), options.job.command.end());
  return words;
}

int code_of(const Error& error) {
  return error.code() == ErrorCode::unsupported ? exit_code::no_device : exit_code::berth_failed;
}

/// In front of it until it ends.
class Attendance {
 public:
  Attendance(Context& context, RunRecord run, const RunSlurm& slurm,
             std::optional<std::chrono::milliseconds> wait)
      : context_(context),
        run_(std::move(run)),
        slurm_(slurm),
        polling_(run_, slurm_client(context),
                 [](const Sentence& said) { complain(said.shown()); }) {
    if (wait) deadline_ = context.clock().now() + *wait;
  }

  int attend() {
    const InterruptNote interrupt;
    const auto read = read_log(
        run_, Follow::yes, context_.clock(),
        [](std::string_view text) {
          print(text);
          std::fflush(stdout);
        },
        [this] { return is_enough(); });
    if (!read) complain(read.error().shown());
    if (InterruptNote::signal() != 0 || is_late_) {
      const auto stopped =
          stop_slurm_run(as_it_is(), slurm_, std::chrono::seconds(10), slurm_client(context_));
      if (!stopped) complain(stopped.error().shown());
      if (!is_late_) return 128 + InterruptNote::signal();
      complain(trf("Slurm job {} did not begin in time, and is taken back", slurm_.job));
      return exit_code::no_device;
    }
    const auto end = wait_for_run(run_, context_.clock(), [this] {
      polling_.poll();
      return InterruptNote::signal() != 0;
    });
    if (!end) return report(end.error(), exit_code::berth_failed);
    const RunRecord run = as_it_is();
    if (was_never_started(run)) complain(trf("run {} {}", run.manifest.id, state_text(run)));
    return shell_exit_code(*end);
  }

 private:
  bool is_enough() {
    polling_.poll();
    is_late_ =
        deadline_ && context_.clock().now() >= *deadline_ && as_it_is().state == RunState::waiting;
    return InterruptNote::signal() != 0 || is_late_;
  }

  [[nodiscard]] RunRecord as_it_is() const {
    auto now = read_run(run_.directory);
    return now ? *std::move(now) : run_;
  }

  Context& context_;
  RunRecord run_;
  const RunSlurm& slurm_;
  SlurmPolling polling_;
  std::optional<Instant> deadline_;
  bool is_late_ = false;
};

}  // namespace

int submit_job(Context& context, const RunFlags& flags, const RunOptions& options,
               const SbatchSettings& settings, UntilItEnds until) {
  const std::string program = own_program().value_or("berth");
  const std::vector<std::string> words = batch_words(flags, options);
  if (flags.dry_run()) {
    const auto asked = sbatch_options(options.job, settings);
    if (!asked) return report(asked.error(), exit_code::berth_failed);
    print("sbatch " + shell_joined(*asked) + "\n" + batch_script(program, words, "RUN"));
    return exit_code::ok;
  }
  if (options.state_directory.empty()) {
    return report(records_directory(context).error(), exit_code::berth_failed);
  }
  const RunServices services{.clock = context.clock(), .simulated = context.sources().simulated};
  const auto submitted = submit_to_slurm(
      {.options = options, .settings = settings, .program = program, .words = words}, services);
  if (!submitted) return report(submitted.error(), code_of(submitted.error()));
  if (flags.talk() != Talk::quiet) {
    complain(trf("run {} is Slurm job {}", submitted->id, submitted->slurm.job));
  }
  if (until == UntilItEnds::no) {
    print(submitted->id + "\n");
    return exit_code::ok;
  }
  auto run = read_run(submitted->directory);
  if (!run) return report(run.error(), exit_code::berth_failed);
  const auto wait = flags.has("wait") ? options.job.wait : std::nullopt;
  return Attendance(context, *std::move(run), submitted->slurm, wait).attend();
}

}  // namespace berth
