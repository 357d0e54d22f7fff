#include "app/run_options.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/context.h"
#include "app/past_runs.h"
#include "app/verb.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "record/run_record.h"
#include "run/inside.h"
#include "run/memory_auto.h"
#include "run/ranks/rank_words.h"
#include "run/slurm/allocation.h"
#include "run/turn.h"
#include "snapshot/device_kind.h"

namespace berth {

void RunFlags::declare(Options& options) {
  request_.declare(options, MayWait::yes);
  options.flag("--json", json_, "with --dry-run: the reasoning as JSON");
  options.flag("--uuids", uuids_, "give the job UUIDs instead of indices");
  options.flag("-q,--quiet", quiet_, "say nothing but what went wrong");
  options.flag("-v,--verbose", verbose_, "say also which variables are set for the job");
  request_.declare_part(options, JobPart::label);
  options.begin_group("The job's life");
  options.flag("-d,--detach", detach_, "leave it running, or waiting, also after logout");
  options.filled_value("--log", log_, "where a detached job's output goes", "FILE");
  request_.declare_part(options, JobPart::life);
  options.flag("--no-bind", no_bind_, "as without --bind");
  options.begin_group("For a cluster: recorded, and berth itself holds no job to it");
  request_.declare_part(options, JobPart::cluster);
}

std::vector<std::string> RunFlags::words() const {
  std::vector<std::string> words = request_.words();
  if (no_bind_) words.emplace_back("--no-bind");
  if (uuids_) words.emplace_back("--uuids");
  return words;
}

namespace {

/// `--memory auto`. Without a run that tells the job has its devices whole, and the next one knows.
void learn_memory(const Context& context, bool is_quiet, RunOptions& options) {
  const auto list = list_runs(options.state_directory);
  const JobSpec& job = options.job;
  const LearntMemory learnt =
      list ? memory_learnt(list->runs, masked_command(job.command), job.request.devices,
                           context.sources().simulated.has_value())
           : LearntMemory{};
  options.job.request.memory.reset();
  if (learnt.share) options.job.request.memory = *learnt.share;
  if (is_quiet) return;
  if (learnt.run.empty()) {
    complain(
        tr("--memory auto: no run of this command has ended well and told its memory. This one "
           "gets its devices whole, and the next one knows"));
  } else if (learnt.share) {
    complain(trf("--memory auto: {}, as run {} of this command took {} at most",
                 short_size(*learnt.share), learnt.run, short_size(learnt.peak)));
  } else {
    complain(trf("--memory auto: whole devices, as run {} of this command took {} at most",
                 learnt.run, short_size(learnt.peak)));
  }
}

/// A limit that nobody typed ends a job unforeseen.
void tell_time_of_policy(const Context& context, const JobSpec& job) {
  const auto policy = context.policy();
  if (!job.time_limit || !policy || !*policy) return;
  const Config config = context.config_of_job(::geteuid());
  const ConfigValue* const time = config.find("request.time");
  if (time == nullptr || time->origin != (*policy)->path) return;
  complain(trf("the policy ends this job after {} ({}); --time of your own counts instead",
               short_duration(*job.time_limit), printable(time->origin)));
}

/// The rule is there, and nobody counts.
void tell_hours_not_held(const Context& context) {
  const auto policy = context.policy();
  if (!policy || !*policy || (*policy)->hours_used) return;
  const auto& most = (*policy)->of(::geteuid()).hours_at_most;
  if (!most) return;
  complain(
      trf("the {} GPU-hours that the policy allows cannot be enforced: root's `berth serve` is not "
          "there to count them",
          *most));
}

}  // namespace

Result<RunOptions> RunFlags::options(const Context& context,
                                     const std::vector<std::string>& command) const {
  RunOptions options;
  auto job = request_.job(context);
  if (!job) return std::unexpected(std::move(job).error());
  options.job = std::move(*job);
  if (!quiet_ && !request_.has("time")) tell_time_of_policy(context, options.job);
  if (!quiet_ && request_.has("cap") && options.job.cap != CapTier::none &&
      !options.job.request.memory && !request_.wants_memory_auto()) {
    complain(tr("--cap holds a job to its --memory: without one there is nothing to hold it to"));
  }
  if (!quiet_) tell_hours_not_held(context);
  if (no_bind_) options.job.bind = false;
  options.job.command = command;
  if (options.job.ranks_by != RanksBy::nobody) {
    const std::string path = context.search_path();
    const bool several_nodes =
        options.job.nodes > 1 || rank_node_of(context.environment()).has_value();
    auto made = command_with_ranks(options.job, several_nodes, [&](const std::string& name) {
      return find_executable(name, path).has_value();
    });
    if (!made) return std::unexpected(std::move(made).error());
    options.job.command = *std::move(made);
    options.job.bind = !no_bind_;
  }
  options.visible_format = uuids_ ? VisibleFormat::uuids : VisibleFormat::indices;
  options.environment = context.environment();
  options.working_directory = read_link("/proc/self/cwd").value_or("");
  options.state_directory = place_of_runs(context).value_or("");
  if (request_.wants_memory_auto()) learn_memory(context, quiet_, options);
  options.detach = detach_;
  if (!log_.empty() && !detach_) {
    return fail(ErrorCode::invalid,
                "--log is for --detach: here the output is the job's own; add -d, or write > FILE");
  }
  if (!log_.empty()) {
    options.log = log_.starts_with('/') ? log_ : options.working_directory + "/" + log_;
  }
  return options;
}

std::string& RequestOptions::typed(std::string_view name) {
  const JobKey* key = find_job_key(name);
  BERTH_CHECK(key != nullptr, "each flag of a job is in the table");
  return typed_[static_cast<std::size_t>(key - job_keys().data())];
}

const std::string& RequestOptions::typed(std::string_view name) const {
  return const_cast<RequestOptions*>(this)->typed(name);
}

void RequestOptions::declare_one(Options& options, std::string_view name) {
  const JobKey& key = *find_job_key(name);
  const std::string_view form = key.form;
  if (form.empty()) {
    options.flag(key.flag, typed(name), key.help);
  } else {
    options.filled_value(key.flag, typed(name), key.help, key.form);
  }
}

void RequestOptions::declare_part(Options& options, JobPart part) {
  for (const JobKey& key : job_keys()) {
    if (key.part == part) declare_one(options, key.name);
  }
}

void RequestOptions::declare(Options& options, MayWait may_wait) {
  has_command_ = may_wait == MayWait::yes;
  options.begin_group("Which device");
  declare_part(options, JobPart::devices);
  options.begin_group("When none is free");
  if (may_wait == MayWait::yes) {
    declare_part(options, JobPart::patience);
    options.flag("--no-wait", no_wait_, "answer at once, as without --wait");
  } else {
    options.hidden_value("--wait", typed("wait"));
    options.flag("--no-wait", no_wait_, "answer at once, as pick always does");
    options.value("--or-cpu", typed("or_cpu"), "answer the CPU instead", "");
    declare_one(options, "cpu");
  }
  options.begin_group("Options");
  options.flag("--dry-run", dry_run_, "show the whole reasoning, take nothing");
}

Result<void> RequestOptions::add(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") continue;
    const std::size_t equals = words[i].find('=');
    const std::string flag = words[i].substr(0, equals);
    const auto known = std::ranges::find_if(job_keys(), [&](const JobKey& key) {
      const auto flags = split(key.flag, ',');
      return std::ranges::find(flags, flag) != flags.end();
    });
    if (known == job_keys().end()) {
      return fail(ErrorCode::invalid, "\"{}\" is no part of a request", printable(words[i]));
    }
    std::string& text = typed(known->name);
    if (equals != std::string::npos) {
      text = words[i].substr(equals + 1);
    } else if (!known->alone.empty()) {
      text = known->alone;
    } else if (++i < words.size()) {
      text = words[i];
    } else {
      return fail(ErrorCode::invalid, "{} needs a value behind it", flag);
    }
  }
  return {};
}

bool RequestOptions::wants_memory_auto() const { return has_command_ && typed("memory") == "auto"; }

std::vector<std::string> RequestOptions::words() const {
  std::vector<std::string> words;
  const auto keys = job_keys();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (typed_[i].empty()) continue;
    const std::string flag(keys[i].flag);
    const std::string full = flag.substr(flag.find("--"));
    words.push_back(*keys[i].form == '\0' ? full : full + "=" + typed_[i]);
  }
  if (no_wait_) words.emplace_back("--no-wait");
  return words;
}

std::vector<OptionalValue> RequestOptions::optional_values() {
  std::vector<OptionalValue> values;
  for (const JobKey& key : job_keys()) {
    if (*key.form == '[') values.push_back({key.flag, key.alone});
  }
  return values;
}

Result<JobSpec> RequestOptions::job(const Context& context, std::optional<uid_t> user) const {
  const Config config = context.config_of_job(user.value_or(::geteuid()));
  if (!config.mistakes.empty()) return std::unexpected(config.mistakes.front());
  for (const Sentence& one : config.unknown) complain(one.shown());
  std::vector<std::string> said = typed_;
  // What a file says of memory does not count then, either.
  const auto memory = static_cast<std::size_t>(find_job_key("memory") - job_keys().data());
  if (wants_memory_auto()) said[memory] = "default";
  auto job = job_of(said, config);
  if (!job) return job;
  if (auto settled = settle_patience(*job); !settled) return std::unexpected(settled.error());
  return job;
}

Result<void> RequestOptions::settle_patience(JobSpec& job) const {
  const bool waits = !typed("wait").empty();
  if (no_wait_ && waits) {
    return fail(ErrorCode::invalid, "--wait and --no-wait exclude each other");
  }
  if (no_wait_) job.wait = std::chrono::milliseconds(0);
  if (typed("or_cpu").empty()) return {};
  const bool has_time = job.cpu_after.count() > 0;
  if (has_time && (no_wait_ || waits)) {
    return fail(ErrorCode::invalid,
                "--or-cpu={} says how long to wait: leave out --wait and --no-wait",
                printable(typed("or_cpu")));
  }
  if (has_time || !waits) return {};
  if (!job.wait) {
    return fail(ErrorCode::invalid,
                "--wait without a time waits for ever, and --or-cpu would never be used: write "
                "--or-cpu=10m");
  }
  job.cpu_after = *job.wait;
  return {};
}

std::optional<Error> RequestOptions::mistake_in_patience() const {
  if (!typed("wait").empty()) {
    return Error(ErrorCode::invalid,
                 "pick: --wait is for `berth run`: pick claims nothing, and so has no place in the "
                 "queue to wait in");
  }
  JobSpec job;
  const std::string& or_cpu = typed("or_cpu");
  // A value that cannot be read at all is told by job().
  if (!find_job_key("or_cpu")->parse(or_cpu, job) || job.cpu_after.count() == 0) {
    return std::nullopt;
  }
  return Error(ErrorCode::invalid,
               "pick: --or-cpu={} is for `berth run`: pick never waits, --or-cpu alone answers the "
               "CPU at once",
               printable(or_cpu));
}

namespace {
/// Nothing: no Slurm job, or one without cards. A lease inside it has some of them; a variable that
/// tells of a lease may be an older one's.
std::optional<std::string> cards_of_slurm(const Context& context) {
  const auto allocation =
      slurm_allocation([&](const char* name) { return context.variable(name); });
  return allocation ? allocation->cards : std::nullopt;
}
}  // namespace

VisibleSettings visible_settings(const Context& context) {
  VisibleSettings settings =
      visible_settings_in([&](const char* name) { return context.variable(name); });
  if (const auto cards = cards_of_slurm(context)) {
    // In the job itself that variable counts what the job can see; Slurm numbers by PCI address.
    settings.try_emplace("CUDA_VISIBLE_DEVICES", *cards);
    settings.try_emplace("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  }
  return settings;
}

Wanted wanted_for(const JobSpec& job) {
  Wanted wanted(Depth::placement);
  if (job.request.devices > 1) {
    wanted.add(Extra::nvlinks).add<&Device::numa_node>();
  }
  // This is not asked for every job. Where the kernel's device tree is read, a card that could not
  // be read counts as a good one.
  if (job.request.together == Together::pcie) wanted.add(Detail::pci_path);
  if (job.bind) wanted.add(Detail::cpu_affinity).add<&Device::numa_node>();
  return wanted;
}

Result<PlaceLimits> inherited_limits(const Context& context, const Snapshot& snapshot) {
  const auto cards = cards_of_slurm(context);
  const bool is_inside = context.variable("BERTH_LEASE").has_value();
  auto visible =
      devices_of_job(visible_settings_in([&](const char* name) { return context.variable(name); }),
                     cards, is_inside, snapshot, local_user_name(::geteuid()));
  if (!visible) return std::unexpected(std::move(visible).error());
  PlaceLimits limits;
  if (!*visible) return limits;
  for (const Sentence& remark : (*visible)->remarks) complain(remark.shown());
  limits.visible = std::move((*visible)->devices);
  limits.hidden_by = std::move((*visible)->hidden_by);
  if (is_inside || cards) limits.visible_by = VisibleBy::lease;
  return limits;
}

std::vector<DeviceId> devices_last_had(const std::string& state_directory) {
  std::vector<DeviceId> devices;
  const auto last = load_run(state_directory, "last");
  if (!last || last->manifest.waiting) return devices;
  for (const Device& device : last->manifest.given.devices) devices.push_back(device.id);
  return devices;
}

Result<Considered> considered(Context& context, const JobSpec& job, Snapshot looked) {
  const Request& request = job.request;
  auto limits = inherited_limits(context, looked);
  if (!limits) return std::unexpected(std::move(limits).error());
  const auto policy = context.policy();
  if (!policy) return std::unexpected(policy.error());
  if (!context.replay()) limits->policy = policy->get();
  limits->uid = ::geteuid();
  limits->time_limit = job.time_limit;
  if (!context.replay()) {
    limits->last_had = devices_last_had(context.state_directory().value_or(""));
  }
  AcquireOptions options{.request = request, .limits = std::move(*limits)};
  Considered made{.snapshot = std::move(looked)};
  // A recording has its own leases, and we are in none of them.
  if (!context.replay()) {
    LedgerView view = context.read_ledger();
    std::optional<Ledger> ledger;
    TakeSnapshot look = [&made]() -> Result<Snapshot> { return made.snapshot; };
    const auto lease = context.variable("BERTH_LEASE");
    if (lease && !view.claims.empty()) {
      auto opened = context.open_ledger();
      if (!opened) return std::unexpected(std::move(opened).error());
      ledger.emplace(std::move(*opened));
      auto inside = enter_outer_lease(*ledger, lease, context.clock(), options, look);
      if (!inside) return std::unexpected(std::move(inside).error());
      auto inner = *inside ? (*inside)->ledger.read() : Result<LedgerView>(std::move(view));
      if (!inner) return std::unexpected(std::move(inner).error());
      view = std::move(*inner);
      made.snapshot = std::move(*look());
    }
    HolderNames names;
    add_ledger(made.snapshot, std::move(view), context.clock().now(), names, policy);
  }
  made.placement = place_newcomer(made.snapshot, options.request, options.limits);
  made.request = std::move(options.request);
  return made;
}

}  // namespace berth
